"""Staging: files that take their names together, whole or not at all.

Files are written under temporary names beside their places and renamed together when everything is
done and on the disk; what fails before leaves nothing, and what stood there as it was.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

import attrs

from tallystick.canonical import PREFIX
from tallystick.errors import OutputError


@attrs.frozen
class Staged:
    """A file that is written under a temporary name.

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
        with named(self.path):
            self.file.write(data)

    def digest(self) -> str:
        """``sha256:`` and the digest of what was written."""
        with named(self.path):
            self.file.flush()
            self.file.seek(0)
            return digest_of(self.file)

    def finish(self) -> None:
        """Bring everything to the disk."""
        with named(self.path):
            self.file.flush()
            os.fsync(self.file.fileno())
            self.file.close()
            Path(self.file.name).chmod(0o666 & ~_umask())

    def take_name(self) -> None:
        """Stand under the final name, in the place of a file that was there."""
        with named(self.path):
            Path(self.file.name).replace(self.place)

    def give_up_name(self) -> None:
        """Vanish from under the final name, if it was taken."""
        if not Path(self.file.name).exists():
            self.place.unlink(missing_ok=True)


@contextmanager
def staged(*paths: Path) -> Iterator[tuple[Staged, ...]]:
    """Files that take their final names together, when the block ends without an error.

    Raises:
        OutputError: a file cannot be written; nothing was left under any of the names.
    """
    with ExitStack() as stack:
        files = tuple(stack.enter_context(_temporary(path)) for path in paths)
        yield files
        for each in files:
            each.finish()
        _name(files)


def _name(files: Sequence[Staged]) -> None:
    try:
        for each in files:
            each.take_name()
    except BaseException:
        for each in files:
            with suppress(OSError):
                each.give_up_name()
        raise


@contextmanager
def _temporary(path: Path) -> Iterator[Staged]:
    place = place_of(path)
    with named(path):
        file = tempfile.NamedTemporaryFile(  # noqa: SIM115  # closed and removed below
            dir=place.parent, prefix=f".{place.name}.", suffix=".part", delete=False
        )
    try:
        yield Staged(path, place, file)
    finally:
        with suppress(OSError):
            file.close()
        with suppress(OSError):
            Path(file.name).unlink(missing_ok=True)


def place_of(path: Path) -> Path:
    """Where a file of that name is written: where it leads, when it is a link.

    Raises:
        OutputError: the name cannot be one of a file, or something else has it.
    """
    with named(path):
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
def named(path: Path) -> Iterator[None]:
    """Tells of an output that cannot be written, under the name that was given.

    Raises:
        OutputError: instead of an ``OSError`` of the block.
    """
    try:
        yield
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


def digest_of(file: IO[bytes]) -> str:
    """``sha256:`` and the digest of the rest of a file."""
    return PREFIX + hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # the stub asks for more
