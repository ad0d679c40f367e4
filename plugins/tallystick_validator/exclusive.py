"""Exclusive use: one daemon for a folder and for a state, by locks that end with the process."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tallystick.errors import InputError

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_LONGEST = 20


def made(folder: Path) -> None:
    """Make a folder of the daemon, for its owner alone, where it is not there.

    Raises:
        InputError: it cannot be made.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        found = f"{folder}: cannot be made ({error.strerror})"
        raise InputError(f"{found}: name another folder") from error


@contextmanager
def exclusive(path: Path, what: str) -> Iterator[None]:
    """Hold a lock while the block runs; the file stays, with the number of the last process.

    Args:
        path: the file of the lock.
        what: what it stands for, for the error.

    Raises:
        InputError: another process holds it, or the file cannot be made.
    """
    try:
        number = os.open(path, _FLAGS, 0o600)
    except OSError as error:
        raise InputError(f"{path}: the lock of {what} cannot be made ({error.strerror})") from error
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            process = os.pread(number, _LONGEST, 0).decode("ascii", "replace").strip()
            raise InputError(
                f"{path}: found that the process {process or 'of another'} has {what}, expected "
                "nobody: one daemon runs for each, so stop the other one first"
            ) from None
        os.ftruncate(number, 0)
        os.pwrite(number, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(number)
