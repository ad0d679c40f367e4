"""Atomic output: files and folders that take their names whole, or not at all.

They are written under temporary names beside their places and renamed when everything is done and
on the disk; what fails before leaves nothing, and what stood there as it was. Killed at any
instant, no folder with a part of its files has the name.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

import attrs

from tallystick.canonical import PREFIX
from tallystick.errors import OutputError
from tallystick.io.streams import STANDARD


@attrs.frozen
class AtomicFile:
    """A file that is written under a temporary name until it is committed.

    Attributes:
        path: its final name, as it was given.
        place: where that leads, when it is a link.
        file: where its bytes go; they can be read back.
    """

    path: Path
    place: Path
    file: IO[bytes]

    def write(self, data: bytes) -> None:
        """Append some bytes."""
        with output_errors(self.path):
            self.file.write(data)

    def digest(self) -> str:
        """``sha256:`` and the digest of what was written."""
        with output_errors(self.path):
            self.file.flush()
            self.file.seek(0)
            return file_digest(self.file)

    def sync(self) -> None:
        """Bring everything to the disk."""
        with output_errors(self.path):
            self.file.flush()
            os.fsync(self.file.fileno())
            self.file.close()
            Path(self.file.name).chmod(0o666 & ~_umask())

    def commit(self) -> None:
        """Take the final name, in the place of a file that was there."""
        with output_errors(self.path):
            Path(self.file.name).replace(self.place)

    def rollback(self) -> None:
        """Vanish from under the final name, if it was taken."""
        if not Path(self.file.name).exists():
            self.place.unlink(missing_ok=True)


@contextmanager
def atomic_files(*paths: Path) -> Iterator[tuple[AtomicFile, ...]]:
    """Files that take their final names together, when the block ends without an error.

    Raises:
        OutputError: a file cannot be written; nothing was left under any of the names.
    """
    with ExitStack() as stack:
        files = tuple(stack.enter_context(_temporary(path)) for path in paths)
        yield files
        for each in files:
            each.sync()
        _commit(files)


def _commit(files: Sequence[AtomicFile]) -> None:
    try:
        for each in files:
            each.commit()
    except BaseException:
        for each in files:
            with suppress(OSError):
                each.rollback()
        raise


@contextmanager
def _temporary(path: Path) -> Iterator[AtomicFile]:
    place = output_place(path)
    with output_errors(path):
        file = tempfile.NamedTemporaryFile(  # noqa: SIM115  # closed and removed below
            dir=place.parent, prefix=f".{place.name}.", suffix=".part", delete=False
        )
    try:
        yield AtomicFile(path, place, file)
    finally:
        with suppress(OSError):
            file.close()
        with suppress(OSError):
            Path(file.name).unlink(missing_ok=True)


@contextmanager
def atomic_folder(folder: Path, files: Collection[str]) -> Iterator[Path]:
    """A new folder to fill, which takes its name when the block ends without an error.

    Args:
        folder: its final name.
        files: the files that it may hold. A folder of that name that holds nothing else is
            replaced; any other is refused.

    Raises:
        OutputError: the folder cannot be written, or something else has its name.
    """
    _check_replaceable(folder, files)
    place = Path(os.path.realpath(folder))
    with output_errors(folder):
        hidden = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}.", suffix=".part"))
    try:
        # made inside, so that it has the permissions of any new folder
        new = hidden / "new"
        with output_errors(folder):
            new.mkdir()
        yield new
        with output_errors(folder):
            _commit_folder(new, place, hidden / "old")
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def _check_replaceable(folder: Path, files: Collection[str]) -> None:
    """Refuse a name that is taken, before the work begins."""
    with output_errors(folder):
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


def _commit_folder(new: Path, place: Path, old: Path) -> None:
    """Two renames where something stands; if the second fails, the first is rolled back."""
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


def output_place(path: Path) -> Path:
    """Where a file of that name is written: where it leads, when it is a link.

    Raises:
        OutputError: the name cannot be one of a file, or something else has it.
    """
    if path == STANDARD:
        raise OutputError(f"{path}: found the standard output, expected the name of a file")
    with output_errors(path):
        try:
            kind = stat.S_IFMT(path.stat().st_mode)
        except FileNotFoundError:
            kind = stat.S_IFREG
        except ValueError as error:
            raise OutputError(
                f"{path}: found a name that no file can have ({error}), expected the name of a file"
            ) from error
        if kind != stat.S_IFREG:
            found = "a folder" if kind == stat.S_IFDIR else "a pipe or a device"
            raise OutputError(f"{path}: {found}, expected the name of a file to write")
        return Path(os.path.realpath(path))


@contextmanager
def output_errors(path: Path) -> Iterator[None]:
    """Names the output, as it was given, in every error of the block that writes it.

    Raises:
        OutputError: instead of an ``OSError`` of the block.
    """
    try:
        yield
    except BrokenPipeError:
        # whoever reads a stream has enough
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(
            f"{path}: the file cannot be written ({reason.lower()}): check the folder and the "
            "disk; nothing was left"
        ) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def file_digest(file: IO[bytes]) -> str:
    """``sha256:`` and the digest of the rest of a file."""
    return PREFIX + hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # the stub asks for more
