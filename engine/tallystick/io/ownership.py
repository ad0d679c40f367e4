"""Ownership: a file that is looked up by its name counts only where nobody else can write it.

Who can write to a folder can put a file of any name into it. So a file that the user did not name
is read only where the user or root owns it and its folder, and neither group nor others can write
to them. Both are asked on open descriptors, so that nothing changes between the question and the
reading. A link counts where both its folder and the file that it leads to do, without another link
on the way.

Of access control lists only those of POSIX are seen: their mask stands in the bits of the group.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs

_ROOT = 0
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@attrs.frozen
class FoundFile:
    """A file that was looked up by its name.

    Attributes:
        path: the file, in the folder in which it was looked for.
        data: its first bytes; none of a file that does not count.
        objection: why the file does not count; None where it does.
    """

    path: Path
    data: bytes = attrs.field(repr=False)
    objection: str | None = None


def look_up(folder: Path, name: str, size: int) -> FoundFile | None:
    """Return the file of a name in a folder, or None where there is none.

    Args:
        folder: an absolute path without links.
        name: of the file.
        size: most bytes that are read of it.

    Raises:
        OSError: a file that would count cannot be read.
    """
    path = folder / name
    if not hasattr(os, "geteuid"):
        # nothing tells who can write to it
        reason = "who can write to it is not known on this system"
        return FoundFile(path, b"", reason) if path.is_file() else None
    for is_target in (False, True):
        with _opened_folder(folder) as directory:
            status = None if directory is None else _status(name, directory)
            if directory is None or status is None:
                return None
            is_link = stat.S_ISLNK(status.st_mode)
            if not is_link and not stat.S_ISREG(status.st_mode):
                return None
            objection = _of_place(os.fstat(directory), status)
            if objection is not None:
                return FoundFile(path, b"", objection)
            if not is_link:
                return _read(path, name, directory, size)
            target = os.path.normpath(folder / os.readlink(name, dir_fd=directory))
        # who can write where a second link stands would choose the file
        if is_target or os.path.realpath(target) != target:
            return FoundFile(path, b"", "it is a link that leads to another link")
        folder, name = Path(target).parent, Path(target).name
    return None


@contextmanager
def _opened_folder(folder: Path) -> Iterator[int | None]:
    """Yield a descriptor of a folder; None where it cannot be searched."""
    try:
        directory = os.open(folder, _FOLDER)
    except OSError:
        yield None
        return
    try:
        yield directory
    finally:
        os.close(directory)


def _status(name: str, directory: int) -> os.stat_result | None:
    # a name too long, or a folder that may not be searched, is no file either
    with suppress(OSError, ValueError):
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    return None


def _read(path: Path, name: str, directory: int, size: int) -> FoundFile | None:
    with os.fdopen(os.open(name, _FILE, dir_fd=directory), "rb") as file:
        status = os.fstat(file.fileno())
        # what was a file may be a pipe by now, or a file of another
        if not stat.S_ISREG(status.st_mode):
            return None
        objection = _of_place(os.fstat(directory), status)
        return FoundFile(path, b"" if objection else file.read(size), objection)


def _of_place(folder: os.stat_result, file: os.stat_result) -> str | None:
    """Return the reason for which a file in a folder does not count; empty where it does."""
    return _of(folder, "its folder") or _of(file, "it")


def _of(status: os.stat_result, name: str) -> str | None:
    if status.st_uid not in (os.geteuid(), _ROOT):
        return f"{name} belongs to the user {status.st_uid}"
    # the permissions of a link mean nothing
    if stat.S_ISLNK(status.st_mode):
        return None
    for bit, others in ((stat.S_IWOTH, "everyone"), (stat.S_IWGRP, "a group")):
        if status.st_mode & bit:
            return f"{others} can write to {name}"
    return None
