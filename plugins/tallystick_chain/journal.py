"""The journal of submissions: an SQLite table with a row for each attempt.

Beside each attempt stands its SHA-256: SQLite sees damage of its pages, and not a digit that a disk
has changed. One process has a journal at a time, as SQLite's own lock is held until it is closed.
An attempt is on the disk when `Journal.write` returns.
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
from tallystick_chain.submission import Attempt

FORMAT = 3
"""Version of the tables."""

_TABLES = (
    "CREATE TABLE subject (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE attempt (epoch INT, number INT, data BLOB, sha256 BLOB, UNIQUE (epoch, number))",
)
_DECODER = msgspec.json.Decoder(Attempt)
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
        self._attempts: dict[tuple[int, int], Attempt] | None = None

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
    def attempts(self) -> tuple[Attempt, ...]:
        """The attempts, by epoch and number."""
        return tuple(self._loaded().values())

    def write(self, attempt: Attempt) -> None:
        """Write an attempt, a new one or the newest of an epoch with what came of it.

        Raises:
            OutputError: it cannot be written, as on a full disk; try again later.
        """
        attempts, key = self._loaded(), (attempt.epoch, attempt.number)
        data = msgspec.json.encode(attempt)
        # after an error the disk alone tells whether it has the attempt
        self._attempts = None
        with self._errors():
            row = (*key, data, hashlib.sha256(data).digest())
            self._db.execute("INSERT OR REPLACE INTO attempt VALUES (?, ?, ?, ?)", row)
        self._attempts = {**attempts, key: attempt}

    def _loaded(self) -> dict[tuple[int, int], Attempt]:
        """Return the attempts by epoch and number, read from the disk behind an error."""
        if self._attempts is None:
            with self._errors():
                self._attempts = self._read()
        return self._attempts

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
        self._attempts = self._read()

    def _read(self) -> dict[tuple[int, int], Attempt]:
        attempts = dict[tuple[int, int], Attempt]()
        rows = self._db.execute("SELECT * FROM attempt ORDER BY epoch, number")
        try:
            for epoch, number, data, sha256 in rows:
                attempt = _DECODER.decode(data)
                is_it = (attempt.epoch, attempt.number) == (epoch, number)
                if not is_it or hashlib.sha256(data).digest() != sha256:
                    problem = f"found the attempt {number} of epoch {epoch} with other content"
                    raise self._damaged(problem)
                if number > 1 and (epoch, number - 1) not in attempts:
                    raise self._damaged(f"found no attempt {number - 1} of epoch {epoch}")
                attempts[epoch, number] = attempt
        except (ValueError, TypeError, msgspec.MsgspecError) as error:
            raise self._damaged(str(error)) from error
        return attempts

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
