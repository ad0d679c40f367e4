"""Exclusive use: one daemon for a folder and for a state, by locks that end with the process.

The lock of a SQLite store is a file beside it, that of a store on a server is the server's. A store
with two names could be locked by each of them, so it is refused.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.errors import InputError

if TYPE_CHECKING:
    from tallystick_state.store.store import Store

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


@contextmanager
def exclusive_state(store: Store) -> Iterator[Callable[[], object]]:
    """Hold the lock of a state while the block runs.

    Yields:
        A check that it is held still, which raises a `StoreError` where it was lost.

    Raises:
        InputError: another daemon holds it, or its file has another name too.
        StoreError: the server cannot be asked.
    """
    if store.path is None:
        with store.locked() as check:
            if check is None:
                raise InputError(
                    f"{store.shown}: found that another process has this state, expected nobody: "
                    "one daemon runs for each, so stop the other one first"
                )
            yield check
        return
    real = Path(os.path.realpath(store.path))
    names = real.stat().st_nlink
    if names != 1:
        raise InputError(
            f"{real}: found a state whose file has {names} names (hard links), expected one: "
            "remove the others, or move the state by tallystick state export and import"
        )
    with exclusive(real.with_name(f"{real.name}.daemon"), f"the state {store.shown}"):
        yield lambda: None
