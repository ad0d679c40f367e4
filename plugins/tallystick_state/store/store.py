"""The store of a state.

Invariants:

- a store is whole or not there: the schema and the first entries come in one transaction;
- one transaction writes at a time, and what it does is seen whole or not at all;
- a transaction that raises, or whose process dies, leaves the store as it was;
- a file or a database that holds something else is never changed;
- nothing is written over damage: before its first change, and once somebody else has changed the
  file, a store of up to `LIMIT` bytes is checked whole; a larger one at each closing of an epoch
  and after a process that was killed, and else where rows are read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Self

from tallystick.errors import DamagedError, NoStoreError, StoreError
from tallystick_state.store.checksums import put_totals
from tallystick_state.store.connection import TIMEOUT, Connection, Place, place_of
from tallystick_state.store.integrity import LIMIT, check_integrity, data_checksums, size
from tallystick_state.store.schema import (
    create_schema,
    foreign_table,
    found_version,
    is_older,
    migrate,
)
from tallystick_state.store.transaction import Transaction

PLACE = "the place of a store, a path or a URL"
"""Expected kind of a store's place, for errors."""
_OPEN = ContextVar[tuple[str, ...]]("_OPEN", default=())
"""Names of the stores that are open in the blocks around."""
_Seal = tuple[tuple[int, ...], str | None]
"""Stamp of the files and hash of the last entry, after a store's own last change."""


class Store:
    """An open store. It holds no connection between transactions."""

    def __init__(self, place: Place, *, has_wal: bool = False) -> None:
        """Take a place that was found to hold a store of this version; see `open`.

        Args:
            place: where it is.
            has_wal: whether changes stood beside its file, which somebody has open, or left behind
                when it was killed.
        """
        self._place, self._has_wal = place, has_wal
        self._seal: _Seal | None = None

    def __repr__(self) -> str:
        return f"<Store {self.shown!r}>"

    @property
    def shown(self) -> str:
        """The place as it may be shown: without a password."""
        return self._place.shown

    @property
    def path(self) -> Path | None:
        """The file of SQLite; None for PostgreSQL."""
        return self._place.path

    def data_checksums(self) -> bool | None:
        """Return whether PostgreSQL has checksums of its pages; None of SQLite.

        Raises:
            StoreError: the store cannot be read.
        """
        if self.path is not None:
            return None
        with self.reading() as transaction:
            return data_checksums(transaction.connection)

    def holds(self, path: Path) -> bool:
        """Return whether a path leads to a file of the store, or to one that stands beside it."""
        own = self._place.path
        if own is None:
            return False
        real = os.path.realpath(own)
        return os.path.realpath(path) in {f"{real}{end}" for end in ("", "-wal", "-shm", "-log")}

    @classmethod
    @contextmanager
    def create(
        cls, where: str, *, timeout: float = TIMEOUT, shown: str | None = None
    ) -> Iterator[tuple[Self, Transaction]]:
        """Make a store; give it with the transaction that takes its first entries.

        The store is there once the block is left; when the block raises, there is none. An empty
        database file may then remain, which the next attempt takes.

        Args:
            where: a path, ``sqlite:///PATH``, or ``postgresql://…``.
            timeout: for how many seconds a lock is waited for.
            shown: what errors name in place of a file that is temporary.

        Raises:
            StoreError: a store is there, a file holds something else, or the place cannot be used.
        """
        place = place_of(where, timeout, create=True, shown=shown)
        with place.transaction("read") as connection:
            _refuse_what_is_there(place, connection)
        place.use_wal()
        with place.transaction("write") as connection:
            # another process may have been faster
            _refuse_what_is_there(place, connection)
            create_schema(connection)
            store, transaction = cls(place), Transaction(connection)
            yield store, transaction
            put_totals(connection)
            digest = transaction.log_hash()
        store._seal = place.stamp(), digest

    @classmethod
    def open(cls, where: str, *, timeout: float = TIMEOUT, shown: str | None = None) -> Self:
        """Return the store at a place, migrated to this version when it is of an older one.

        Args:
            where: a path, ``sqlite:///PATH``, or ``postgresql://…``.
            timeout: for how many seconds a lock is waited for.
            shown: what errors name in place of a file that is temporary.

        Raises:
            StoreError: there is none, it is not ours, of a newer version, or cannot be used.
        """
        place = place_of(where, timeout, create=False, shown=shown)
        has_wal = place.has_wal()
        with place.transaction("read") as connection:
            older = _is_older(place, connection)
        if older:
            with place.transaction("write") as connection:
                # another process may have been faster
                if _is_older(place, connection):
                    migrate(connection)
        return cls(place, has_wal=has_wal)

    @contextmanager
    def writing(self, *, whole: bool = False) -> Iterator[Transaction]:
        """Yield a transaction that alone writes, from its start; committed when the block is left.

        Args:
            whole: whether the store is checked whole, however large it is.

        Raises:
            DamagedError: the store is damaged; nothing has changed.
            StoreError: the store is locked for too long, cannot be written, or is full; nothing has
                changed.
        """
        with self._place.transaction("write") as connection, self._named():
            transaction = Transaction(connection)
            if whole or self._must_check(transaction):
                check_integrity(connection)
            yield transaction
            put_totals(connection)
            digest = transaction.log_hash()
        self._seal, self._has_wal = (self._place.stamp(), digest), False

    def compact(self) -> None:
        """Give the room of rows that were deleted back, as far as the database does.

        Whoever is killed meanwhile leaves the store as it was.

        Raises:
            StoreError: the store is locked for too long, or there is no room for the copy that
                SQLite makes.
        """
        self._place.vacuum()
        with self.reading() as transaction:
            digest = transaction.log_hash()
        self._seal = self._place.stamp(), digest

    @contextmanager
    def locked(self) -> Iterator[Callable[[], object] | None]:
        """Hold the lock of a store on a server while the block runs; others write meanwhile.

        Yields:
            A check that it is held still, which raises a `StoreError` once the connection is lost,
            as the lock ends with it; None where another process holds it.

        Raises:
            StoreError: the server cannot be asked.
        """
        with self._place.locked() as check:
            yield check

    @contextmanager
    def together(self) -> Iterator[Store]:
        """Yield a store whose transactions, reading and writing, are all one of this store.

        It is committed when the block is left. A write that raises spoils it, whoever catches that,
        as what it wrote before may be half of something.

        Raises:
            DamagedError: the store is damaged; nothing has changed.
            StoreError: as `writing`, or a write in the block raised; nothing has changed.
        """
        with self.writing(whole=True) as transaction:
            joined = _JoinedStore(self._place, transaction)
            yield joined
            if joined.is_spoilt:
                raise StoreError(
                    f"{self.shown}: found that a change failed which is one with others, expected "
                    "all of them to succeed: nothing has changed"
                )

    def check(self) -> None:
        """Refuse a store that is damaged: read all of it, and compare it with its checksums.

        Raises:
            DamagedError: it is damaged.
            StoreError: it cannot be read.
        """
        with self.reading() as transaction:
            check_integrity(transaction.connection)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Yield a transaction that sees the store as it is now, whatever others write meanwhile.

        Raises:
            StoreError: the store cannot be read, or the block tries to write.
        """
        with self._place.transaction("read") as connection, self._named():
            yield Transaction(connection)

    def _must_check(self, transaction: Transaction) -> bool:
        """Return whether the store is to be checked whole before it is changed."""
        if self._seal == (self._place.stamp(), transaction.log_hash()):
            return False
        return self._has_wal or size(transaction.connection) <= LIMIT

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Tell damage that the block finds with the name of the store.

        Where several stores are open nobody knows here whose it is: then it keeps the name that it
        got where it was found, if any.
        """
        before = _OPEN.get()
        _OPEN.set((*before, self.shown))
        try:
            yield
        except DamagedError as error:
            if {self.shown, *before} == {self.shown}:
                error.name(self.shown)
            else:
                error.store = error.store or ""
            raise
        finally:
            _OPEN.set(before)


class _JoinedStore(Store):
    """A store within a transaction of another; see `Store.together`."""

    def __init__(self, place: Place, transaction: Transaction) -> None:
        super().__init__(place)
        self._transaction, self.is_spoilt = transaction, False

    @contextmanager
    def writing(self, *, whole: bool = False) -> Iterator[Transaction]:  # noqa: ARG002  # was checked whole
        try:
            yield self._transaction
        except BaseException:
            self.is_spoilt = True
            raise

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        yield self._transaction


def _refuse_what_is_there(place: Place, connection: Connection) -> None:
    if found_version(connection) is not None:
        raise StoreError(
            f"{place.shown}: found a store, expected none: choose another place, or use this one"
        )
    table = foreign_table(connection)
    if place.path is not None and table is not None:
        raise StoreError(
            f"{place.shown}: found a database with the table {table}, expected no file or an empty "
            "one: choose another place"
        )


def _is_older(place: Place, connection: Connection) -> bool:
    try:
        version = found_version(connection)
        if version is not None:
            return is_older(version)
    except StoreError as error:
        raise StoreError(f"{place.shown}: {error}") from error
    table = foreign_table(connection)
    if place.path is not None and table is not None:
        raise StoreError(
            f"{place.shown}: found a database with the table {table}, expected the store of a "
            "state: check the path"
        )
    raise NoStoreError(f"{place.shown}: found no store")
