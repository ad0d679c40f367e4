"""The journal of submissions: an SQLite table to which entries are only ever appended.

Beside each entry stands its SHA-256: SQLite sees damage of its pages, and not a digit that a disk
has changed. One process has a journal at a time, as SQLite's own lock is held until it is closed.
An entry is on the disk when `Journal.append` returns.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import msgspec

from tallystick.errors import OutputError, TallystickError
from tallystick.io.paths import PathLike, path_of
from tallystick_chain.submission import Attempt, Entry, attempts_of

FORMAT = 2
"""Version of the tables."""

_TABLES = (
    "CREATE TABLE subject (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE entry (number INTEGER PRIMARY KEY, entry BLOB NOT NULL, sha256 BLOB NOT NULL)",
)
_DECODER = msgspec.json.Decoder(Entry)
_IN_USE = ("SQLITE_BUSY", "SQLITE_LOCKED")
_OUTSIDE = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")
"""Names of the errors of which the disk and the rights of the folder are the cause."""


class JournalError(TallystickError):
    """A journal that is damaged, is of another validator or network, or is in use.

    ``code`` is the stable name of the reason: ``damaged``, ``other-journal`` or ``in-use``.
    """

    def __init__(self, message: str, *, code: str) -> None:
        self.code = code
        super().__init__(message)


class Journal:
    """A journal that is open; use it as a context.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        """Take a connection, which `open` makes."""
        self.path, self._db = path, database
        self._content: tuple[list[Entry], tuple[Attempt, ...]] | None = None

    @classmethod
    def open(cls, path: PathLike, subject: Mapping[str, str]) -> Self:
        """Open a journal, or begin one.

        Args:
            path: the file.
            subject: what it is about: hotkey and network; one that was begun for another subject
                is refused.

        Raises:
            JournalError: it is damaged, about something else, or another process has it.
            OutputError: it cannot be read or written.
        """
        file = path_of(path, "a journal")
        try:
            # a row is nobody else's to read before it is revealed
            database = private_database(file, timeout_s=0)
        except (OSError, ValueError, sqlite3.Error) as error:
            raise OutputError(f"{file}: a journal cannot be opened ({error})") from error
        journal = cls(file, database)
        try:
            with journal._errors():
                journal._begin({"format": str(FORMAT), **subject})
        except BaseException:
            database.close()
            raise
        return journal

    def close(self) -> None:
        """Close the file, and let another process have it."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries, in their order."""
        return tuple(self._loaded()[0])

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The attempts that the entries are about."""
        return self._loaded()[1]

    def append(self, entry: Entry) -> None:
        """Write an entry; it is on the disk when this returns.

        Raises:
            JournalOrderError: it cannot follow the entries before it; nothing is written.
            OutputError: it cannot be written, as on a full disk; try again later.
        """
        entries = [*self.entries, entry]
        attempts = attempts_of(entries)
        data = msgspec.json.encode(entry)
        # after an error the disk alone tells whether it has the entry
        self._content = None
        with self._errors():
            row = (len(entries), data, hashlib.sha256(data).digest())
            self._db.execute("INSERT INTO entry VALUES (?, ?, ?)", row)
        self._content = entries, attempts

    def _loaded(self) -> tuple[list[Entry], tuple[Attempt, ...]]:
        """Return the entries and their attempts, read from the disk behind an error."""
        if self._content is None:
            with self._errors():
                self._content = self._read()
        return self._content

    def _begin(self, subject: Mapping[str, str]) -> None:
        """Take the lock, make the tables of a new file, and read those of another."""
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("BEGIN EXCLUSIVE")
        if not self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for table in _TABLES:
                self._db.execute(table)
            self._db.executemany("INSERT INTO subject VALUES (?, ?)", subject.items())
        self._db.execute("COMMIT")
        problem = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if problem != "ok":
            raise self._damaged(problem)
        known = dict(self._db.execute("SELECT name, value FROM subject"))
        for name, value in subject.items():
            if known.get(name) != value:
                raise self._other(name, str(known.get(name)), value)
        self._content = self._read()

    def _read(self) -> tuple[list[Entry], tuple[Attempt, ...]]:
        entries = list[Entry]()
        rows = self._db.execute("SELECT number, entry, sha256 FROM entry ORDER BY number")
        try:
            for number, data, sha256 in rows:
                entries.append(_DECODER.decode(data))
                if number != len(entries) or hashlib.sha256(data).digest() != sha256:
                    raise self._damaged(f"found the entry {number} with another number or SHA-256")
            return entries, attempts_of(entries)
        except (ValueError, TypeError, msgspec.MsgspecError) as error:
            raise self._damaged(str(error)) from error

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            name = getattr(error, "sqlite_errorname", "")
            if name.startswith(_IN_USE):
                raise JournalError(
                    f"{self.path}: found a journal that another process uses ({error}), expected "
                    "one validator of a hotkey: stop the other",
                    code="in-use",
                ) from error
            if name.startswith(_OUTSIDE):
                raise OutputError(
                    f"{self.path}: cannot be used ({error}): make room on the disk, and look at "
                    "the rights of the folder"
                ) from error
            raise self._damaged(str(error)) from error

    def _damaged(self, problem: str) -> JournalError:
        return JournalError(
            f"{self.path}: {problem}, expected a journal as it was written: restore a copy of the "
            "file; without one, wait until no call of it can land, and begin another",
            code="damaged",
        )

    def _other(self, name: str, value: str, expected: str) -> JournalError:
        remedy = "name another file"
        if name == "network":
            remedy = "put back the network file, or begin with another folder"
        message = (
            f"{self.path}: found a journal of {name} {value[:80]!r}, expected {expected[:80]!r}: "
            f"{remedy}"
        )
        return JournalError(message, code="other-journal")


def private_database(path: Path, timeout_s: float) -> sqlite3.Connection:
    """Return a connection to an SQLite file, which is made for its owner alone.

    Args:
        path: the file.
        timeout_s: longest wait for another process's transaction, in seconds.

    Raises:
        OSError: the file cannot be made.
        sqlite3.Error: it cannot be opened.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    return sqlite3.connect(path, timeout_s, isolation_level=None, check_same_thread=False)
