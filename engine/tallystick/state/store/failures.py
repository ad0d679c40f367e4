"""What a database says when it fails, in words, with what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from tallystick.errors import StoreError

_BUSY = (
    "found the store locked by another process, expected it to be free within {timeout:g} s: wait "
    "until that process is done, then run the command again"
)
_READ_ONLY = (
    "found a store that can only be read, expected one that can be written: allow writing to it "
    "and to its folder, or use a copy"
)
_FULL = (
    "found no room to write, expected some on the disk and within the limit of file sizes: make "
    "room, then run the command again"
)
_BROKEN = "found a disk that fails ({reason}), expected one that works: check the disk"
CANNOT_OPEN = "found a file that cannot be opened, expected a store: check its permissions"
NOT_OURS = "found a file that is not a database, expected the store of a state: check the path"
_DAMAGED = "found a damaged store, expected a sound one: take it back from a copy"
_NO_RIGHT = (
    "found no right to do this in the database, expected the right to create, read and write "
    "tables: grant it, or connect as another user"
)
_LOST = (
    "found no connection to the database ({reason}), expected one: check the URL and that the "
    "server runs, then run the command again"
)
_OTHER = "found that the database refuses ({reason}), expected it to agree: nothing has changed"

# by the beginning of the name of SQLite's extended error code
_SQLITE = {
    "SQLITE_BUSY": _BUSY,
    "SQLITE_LOCKED": _BUSY,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_PERM": _READ_ONLY,
    "SQLITE_FULL": _FULL,
    # what a write, or a file beside the store, gives that the limit of file sizes or a quota stops
    "SQLITE_IOERR_WRITE": _FULL,
    "SQLITE_IOERR_SHM": _FULL,
    "SQLITE_IOERR": _BROKEN,
    "SQLITE_CANTOPEN": CANNOT_OPEN,
    "SQLITE_AUTH": CANNOT_OPEN,
    "SQLITE_NOTADB": NOT_OURS,
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_CONSTRAINT": _OTHER,
}

# by the beginning of PostgreSQL's five-letter code (its manual, appendix A)
_POSTGRESQL = {
    "55P03": _BUSY,
    "40P01": _BUSY,
    "25006": _READ_ONLY,
    "53100": _FULL,
    "42501": _NO_RIGHT,
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
    "08": _LOST,
    "28": _LOST,
    "3D": _LOST,
    "53": _LOST,
    "57P": _LOST,
}


@contextmanager
def explained(where: str, timeout: float) -> Iterator[None]:
    """Whatever the database raises inside, as a `StoreError` that names the store.

    Args:
        where: the store, as it may be shown.
        timeout: for how many seconds a lock is waited for.
    """
    try:
        yield
    except DBAPIError as error:
        reason = _first_line(error.orig)
        template = _template(error.orig)
        raise StoreError(f"{where}: {template.format(timeout=timeout, reason=reason)}") from error


def _template(error: BaseException | None) -> str:
    if isinstance(error, sqlite3.Error):
        name = getattr(error, "sqlite_errorname", "")
        return next((t for code, t in _SQLITE.items() if name.startswith(code)), _OTHER)
    # psycopg leaves it out when it never reached a server, or lost it
    state = getattr(error, "sqlstate", None)
    if state is None:
        return _LOST
    return next((t for code, t in _POSTGRESQL.items() if state.startswith(code)), _OTHER)


def _first_line(error: BaseException | None) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else "no reason given"
