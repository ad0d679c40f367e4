"""A folder that takes its name whole, or not at all.

It is filled under a hidden name beside its place and renamed when everything is on the disk; what
fails before leaves nothing, and what stood there as it was. Killed at any instant, no folder with a
part of the files has the name.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from tallystick.errors import OutputError
from tallystick.scoring.staging import named


@contextmanager
def whole_folder(folder: Path, files: Collection[str]) -> Iterator[Path]:
    """A new folder to fill, which takes its name when the block ends without an error.

    Args:
        folder: its final name.
        files: the files that it may hold. A folder of that name that holds nothing else is
            replaced; any other is refused.

    Raises:
        OutputError: the folder cannot be written, or something else has its name.
    """
    check(folder, files)
    place = Path(os.path.realpath(folder))
    with named(folder):
        hidden = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}.", suffix=".part"))
    try:
        # made inside, so that it has the permissions of any new folder
        new = hidden / "new"
        with named(folder):
            new.mkdir()
        yield new
        with named(folder):
            _take_name(new, place, hidden / "old")
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def check(folder: Path, files: Collection[str]) -> None:
    """Refuse a name that is taken, before the work begins.

    Raises:
        OutputError: as `whole_folder`.
    """
    with named(folder):
        if not folder.exists():
            return
        if not folder.is_dir():
            raise OutputError(f"{folder}: found a file, expected the name of a folder to write")
        other = sorted(each.name for each in folder.iterdir() if each.name not in files)
    if other:
        raise OutputError(
            f"{folder}: found {other[0]!r} in the folder, expected a new folder or an earlier "
            "result: name another one"
        )


def _take_name(new: Path, place: Path, old: Path) -> None:
    """Two renames where something stands; if the second fails, the first is undone."""
    for path in [*sorted(new.iterdir()), new]:
        _sync(path)
    if place.exists():
        place.rename(old)
    try:
        new.rename(place)
    except BaseException:
        if old.exists():
            old.rename(place)
        raise
    _sync(place.parent)


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
