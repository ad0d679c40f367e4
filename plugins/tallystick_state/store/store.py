"""The store of a state.

Invariants:

- a store is whole or not there: the schema and the first entries come in one transaction;
- one transaction writes at a time, and what it does is seen whole or not at all;
- a transaction that raises, or whose process dies, leaves the store as it was;
- a file or a database that holds something else is never changed;
- nothing is written over damage: whatever a change rests on is checked where it is read (see
  `transaction`), and the pages of a small file before its first change.
"""

# ruff: noqa: S608  # names of our own tables alone

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import attrs

from tallystick.errors import DamagedError, NoStoreError, StoreError
from tallystick_state.store.connection import Access, Connect, Connection, connecting, explained_for
from tallystick_state.store.tables import FORMAT, PREFIX, TABLES, VERSION_TABLE
from tallystick_state.store.transaction import Transaction, create

PLACE = "the place of a store, a path or a URL"
"""Expected kind of a store's place, for errors."""
LIMIT = 4_000_000
"""Maximum size in bytes of a file whose pages are checked before the first change: 65 ms."""


@attrs.define(eq=False, repr=False)
class Store:
    """An open store. It holds no connection between transactions.

    Attributes:
        shown: the place as it may be shown: without a password.
        path: the file of SQLite; None for PostgreSQL.
        connect: makes a connection of the driver, one for each transaction.
    """

    shown: str
    path: Path | None
    connect: Connect
    _has_checked: bool = attrs.field(default=False, init=False)

    def __repr__(self) -> str:
        return f"<Store {self.shown!r}>"

    def holds(self, path: Path) -> bool:
        """Return whether a path leads to a file of the store, or to one that stands beside it."""
        if self.path is None:
            return False
        real = os.path.realpath(self.path)
        return os.path.realpath(path) in {f"{real}{end}" for end in ("", "-wal", "-shm", "-log")}

    @classmethod
    @contextmanager
    def create(cls, where: str, *, shown: str | None = None) -> Iterator[tuple[Self, Transaction]]:
        """Make a store; give it with the transaction that takes its first entries.

        The store is there once the block is left; when the block raises, there is none. An empty
        database file may then remain, which the next attempt takes.

        Args:
            where: a path, ``sqlite:///PATH``, or ``postgresql://…``.
            shown: what errors name in place of a file that is temporary.

        Raises:
            StoreError: a store is there, a file holds something else, or the place cannot be used.
        """
        own, path, connect = connecting(where, create=True)
        store = cls(shown or own, path, connect)
        with store.connection("read") as connection:
            _refuse_store(store, connection)
        with store.connection("write") as connection:
            # another process may have been faster
            _refuse_store(store, connection)
            create_schema(connection)
            yield store, Transaction(connection)

    @classmethod
    def open(cls, where: str, *, shown: str | None = None) -> Self:
        """Return the store at a place.

        Args:
            where: a path, ``sqlite:///PATH``, or ``postgresql://…``.
            shown: what errors name in place of a file that is temporary.

        Raises:
            StoreError: there is none, it is not ours, of another version, or cannot be used.
        """
        own, path, connect = connecting(where, create=False)
        store = cls(shown or own, path, connect)
        with store.connection("read") as connection:
            _check_version(store, connection)
        return store

    @contextmanager
    def writing(self, *, pages: bool = True) -> Iterator[Transaction]:
        """Yield a transaction that alone writes, from its start; committed when the block is left.

        Args:
            pages: whether the pages of a small file are checked before the first change.

        Raises:
            DamagedError: the store is damaged; nothing has changed.
            StoreError: the store is locked for too long, cannot be written, or is full; nothing has
                changed.
        """
        with self.connection("write") as connection, self._named():
            if pages and not self._has_checked and connection.size() <= LIMIT:
                connection.check_pages()
            self._has_checked |= pages
            yield Transaction(connection)

    def compact(self) -> None:
        """Give the room of rows that were deleted back, as far as the database does.

        Whoever is killed meanwhile leaves the store as it was.

        Raises:
            StoreError: the store is locked for too long, or there is no room for the copy that
                SQLite makes.
        """
        with self._connected("write") as connection:
            if connection.is_sqlite:
                connection.execute("VACUUM")
                # else the file shrinks when the next writer closes it
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                return
            connection.alone()
            for table in TABLES:
                connection.execute(f"VACUUM (FULL) {table}")

    @contextmanager
    def locked(self) -> Iterator[Callable[[], object] | None]:
        """Hold the lock of a store on a server while the block runs; others write meanwhile.

        Yields:
            A check that it is held still, which raises a `StoreError` once the connection is lost,
            as the lock ends with it; None where another process holds it.

        Raises:
            StoreError: the server cannot be asked.
        """
        with self._connected("read") as connection:
            yield (lambda: connection.rows("SELECT 1")) if connection.try_lock() else None

    @contextmanager
    def together(self) -> Iterator[Store]:
        """Yield a store whose transactions, reading and writing, are all one of this store.

        It is committed when the block is left. A write that raises spoils it, whoever catches that,
        as what it wrote before may be half of something.

        Raises:
            DamagedError: the store is damaged; nothing has changed.
            StoreError: as `writing`, or a write in the block raised; nothing has changed.
        """
        with self.writing() as transaction:
            joined = _JoinedStore(self, transaction)
            yield joined
            if joined.is_spoilt:
                raise StoreError(
                    f"{self.shown}: found that a change failed which is one with others, expected "
                    "all of them to succeed: nothing has changed"
                )

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Yield a transaction that sees the store as it is now, whatever others write meanwhile.

        Raises:
            StoreError: the store cannot be read, or the block tries to write.
        """
        with self.connection("read") as connection, self._named():
            yield Transaction(connection)

    @contextmanager
    def connection(self, access: Access) -> Iterator[Connection]:
        """Yield one transaction, committed at the end of the block, undone when the block raises.

        Writing locks the store from the start; reading sees the store as it was at the start.

        Raises:
            StoreError: whatever the database raises, with what to do.
        """
        with self._connected(access) as connection:
            connection.begin(access)
            yield connection
            connection.commit()

    @contextmanager
    def _connected(self, access: Access) -> Iterator[Connection]:
        with explained_for(self.shown):
            driver = self.connect(access)
        try:
            yield Connection(driver, "%s" if self.path is None else "?", self.shown)
        finally:
            # what is not committed is undone
            driver.close()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Tell damage that the block finds with the name of the store, unless it has one."""
        try:
            yield
        except DamagedError as error:
            error.name(self.shown)
            raise


class _JoinedStore(Store):
    """A store within a transaction of another; see `Store.together`."""

    def __init__(self, store: Store, transaction: Transaction) -> None:
        super().__init__(store.shown, store.path, store.connect)
        self._transaction, self.is_spoilt = transaction, False

    @contextmanager
    def writing(self, *, pages: bool = True) -> Iterator[Transaction]:  # noqa: ARG002  # were checked
        try:
            yield self._transaction
        except BaseException:
            self.is_spoilt = True
            raise

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        yield self._transaction


def create_schema(connection: Connection) -> None:
    """Make the tables of a new store, in the transaction that the connection is in."""
    for table in TABLES:
        create(connection, table)
    connection.execute(f"CREATE TABLE {VERSION_TABLE} (version INTEGER PRIMARY KEY)")
    connection.execute(f"INSERT INTO {VERSION_TABLE} VALUES ({FORMAT})")


def _table_names(connection: Connection) -> list[str]:
    query = "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = current_schema()"
    if connection.is_sqlite:
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    names = sorted(row[0] for row in connection.rows(query))
    # SQLite keeps some of its own
    return [name for name in names if not (connection.is_sqlite and name.startswith("sqlite_"))]


def _has_store(store: Store, connection: Connection) -> bool:
    """Return whether a place has a store; a server may have other tables beside ours.

    Raises:
        StoreError: a file has something else.
    """
    names = _table_names(connection)
    if any(name.startswith(PREFIX) for name in names):
        return True
    if store.path is not None and names:
        raise StoreError(
            f"{store.shown}: found a database with the table {names[0]}, expected the store of a "
            "state, or no file where one is to begin: choose another place"
        )
    return False


def _refuse_store(store: Store, connection: Connection) -> None:
    if _has_store(store, connection):
        raise StoreError(
            f"{store.shown}: found a store, expected none: choose another place, or use this one"
        )


def _check_version(store: Store, connection: Connection) -> None:
    """Refuse a place without a store, or with one of another version."""
    if not _has_store(store, connection):
        raise NoStoreError(f"{store.shown}: found no store")
    # earlier ones, which were never released, have another table of the version
    has_version = VERSION_TABLE in _table_names(connection)
    query = f"SELECT version FROM {VERSION_TABLE}"
    versions = [row[0] for row in connection.rows(query)] if has_version else []
    if versions != [FORMAT]:
        raise StoreError(
            f"{store.shown}: found a store of the format {versions}, expected {FORMAT}: use the "
            "tallystick that made it, or begin anew with tallystick state init, and record its "
            "rounds again"
        )
