"""A file of one validator: SQLite, of one hotkey and one network, in one process at a time.

The journal of rows and the intake of records are such files. What was committed is on the disk;
what is damaged, of another owner, or in use is refused. After an error the disk alone tells what
the file has.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, ClassVar, Self

from tallystick.errors import InputError, StoreError
from tallystick.io.paths import PathLike, path_of

if TYPE_CHECKING:
    from tallystick_chain.network import Network

_IN_USE = ("SQLITE_BUSY", "SQLITE_LOCKED")
_OUTSIDE = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")
"""Names of the errors of which the disk and the rights of the folder are the cause."""


class OwnedFile:
    """A file that is open; use it as a context. Any thread may call it, one at a time.

    Attributes:
        NAME: of its kind, for messages.
        APPLICATION: SQLite's application id of its kind.
        VERSION: of its tables.
        TABLES: the statements that make them.
        LOST: what to do where the file is damaged.
        path: the file.
    """

    NAME: ClassVar[str]
    APPLICATION: ClassVar[int]
    VERSION: ClassVar[int]
    TABLES: ClassVar[tuple[str, ...]]
    LOST: ClassVar[str]

    def __init__(self, path: PathLike, network: Network, hotkey: str) -> None:
        """Open the file, or begin it, readable by its owner alone.

        Args:
            path: the file.
            network: the network file whose it is.
            hotkey: of the validator whose it is.

        Raises:
            InputError: it is another database, of another validator or network file, or in use by
                another process.
            StoreError: it cannot be used, is damaged, or of another version.
        """
        self.path = path_of(path, f"the file of the {self.NAME}")
        self._lock, self._is_closed, self._is_loaded = threading.Lock(), False, False
        try:
            # nobody else reads what a validator has seen, or will send, before it is published
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            self._db = sqlite3.connect(self.path, 0, isolation_level=None, check_same_thread=False)
        except (OSError, ValueError, sqlite3.Error) as error:
            raise self._unusable(error) from error
        try:
            with self._errors():
                self._begin({"validator": hotkey, "network file": network.digest})
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        """Close the file, once what is under way is done, and let another process have it."""
        with self._lock:
            self._is_closed = True
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _load(self, database: sqlite3.Connection) -> None:
        """Read what is known in memory of the content: at first, and again behind an error."""

    def _begin(self, owner: Mapping[str, str]) -> None:
        """Make the tables of a new file; refuse one of somebody else, and a damaged one."""
        # before anything of another database is changed
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        version, application, is_new = self._db.execute(
            "SELECT user_version, application_id, NOT EXISTS (SELECT * FROM sqlite_master) "
            "FROM pragma_user_version, pragma_application_id"
        ).fetchone()
        if not is_new and application != self.APPLICATION:
            raise InputError(f"{self.path}: found another database, expected the {self.NAME}")
        if not is_new and version != self.VERSION:
            raise StoreError(
                f"{self.path}: found version {version} of the {self.NAME}, expected "
                f"{self.VERSION}: use the tallystick that wrote it"
            )
        # a transaction is on the disk once it is committed
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("BEGIN IMMEDIATE")
        for statement in self._new_tables() if is_new else ():
            self._db.execute(statement)
        self._db.executemany("INSERT OR IGNORE INTO owner VALUES (?, ?)", owner.items())
        self._db.execute("COMMIT")
        (problem,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if problem != "ok":
            raise self._damaged(problem)
        for name, value in self._db.execute("SELECT name, value FROM owner"):
            # with another network file, epochs would be closed at once that nobody else closes
            if owner.get(name) != value:
                raise InputError(
                    f"{self.path}: found the {self.NAME} of the {name} {json.dumps(value)}, "
                    f"expected that of {json.dumps(owner.get(name))}: put back the {name}, or give "
                    "each validator a folder of its own"
                )
        self._load(self._db)
        self._is_loaded = True

    def _new_tables(self) -> Iterator[str]:
        yield "CREATE TABLE owner (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
        yield from self.TABLES
        yield f"PRAGMA application_id = {self.APPLICATION}"
        yield f"PRAGMA user_version = {self.VERSION}"

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Give the database to one thread, whose changes are kept whole, or not at all."""
        with self._lock, self._errors():
            if self._is_closed:
                raise StoreError(f"{self.path}: found it closed, expected the open {self.NAME}")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                if not self._is_loaded:
                    self._load(self._db)
                self._is_loaded = True
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                self._is_loaded = False
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            name = getattr(error, "sqlite_errorname", "")
            if name.startswith(_IN_USE):
                raise InputError(
                    f"{self.path}: found that another process has the {self.NAME} ({error}), "
                    "expected one validator of a hotkey: stop the other"
                ) from error
            if name.startswith(_OUTSIDE):
                raise self._unusable(error) from error
            raise self._damaged(str(error)) from error

    def _unusable(self, error: Exception) -> StoreError:
        return StoreError(
            f"{self.path}: the {self.NAME} cannot be used ({error}): make room on the disk, and "
            "look at the rights of the folder"
        )

    def _damaged(self, reason: str) -> StoreError:
        return StoreError(
            f"{self.path}: found that the {self.NAME} is damaged ({reason}), expected it as it was "
            f"written: {self.LOST}"
        )
