"""The store of a state.

Invariants:

- a store is whole or not there: the schema and the first entries come in one transaction;
- one transaction writes at a time, and what it does is seen whole or not at all;
- a transaction that raises, or whose process dies, leaves the store as it was;
- a file or a database that holds something else is never changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from tallystick.errors import StoreError
from tallystick.state.store.connection import TIMEOUT, Connection, Place, place_of
from tallystick.state.store.migration import foreign_table, found_version, is_older, migrate
from tallystick.state.store.schema import create_schema
from tallystick.state.store.transaction import Transaction

_INIT = "run tallystick state init"


class Store:
    """An open store. It holds no connection between transactions."""

    def __init__(self, place: Place) -> None:
        """Take a place that was found to hold a store of this version; see `open`."""
        self._place = place

    def __repr__(self) -> str:
        return f"<Store {self.shown!r}>"

    @property
    def shown(self) -> str:
        """The place as it may be shown: without a password."""
        return self._place.shown

    def holds(self, path: Path) -> bool:
        """Whether a path leads to a file of the store, or to one that stands beside it."""
        own = self._place.path
        if own is None:
            return False
        real = os.path.realpath(own)
        return os.path.realpath(path) in {f"{real}{end}" for end in ("", "-wal", "-shm", "-log")}

    @classmethod
    @contextmanager
    def create(cls, where: str, *, timeout: float = TIMEOUT) -> Iterator[tuple[Self, Transaction]]:
        """The store that is made, and a transaction that makes a store and takes its first entries.

        The store is there once the block is left; when the block raises, there is none. An empty
        database file may then remain, which the next attempt takes.

        Args:
            where: a path, ``sqlite:///PATH``, or ``postgresql://…``.
            timeout: for how many seconds a lock is waited for.

        Raises:
            StoreError: a store is there, a file holds something else, or the place cannot be used.
        """
        place = place_of(where, timeout, create=True)
        with place.transaction("read") as connection:
            _refuse_what_is_there(place, connection)
        place.use_wal()
        with place.transaction("write") as connection:
            # another process may have been faster
            _refuse_what_is_there(place, connection)
            create_schema(connection)
            yield cls(place), Transaction(connection)

    @classmethod
    def open(cls, where: str, *, timeout: float = TIMEOUT) -> Self:
        """The store at a place, migrated to this version when it is of an older one.

        Args:
            where: a path, ``sqlite:///PATH``, or ``postgresql://…``.
            timeout: for how many seconds a lock is waited for.

        Raises:
            StoreError: there is none, it is not ours, of a newer version, or cannot be used.
        """
        place = place_of(where, timeout, create=False)
        with place.transaction("read") as connection:
            older = _is_older(place, connection)
        if older:
            with place.transaction("write") as connection:
                # another process may have been faster
                if _is_older(place, connection):
                    migrate(connection)
        return cls(place)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction that alone writes, from its start; committed when the block is left.

        Raises:
            StoreError: the store is locked for too long, cannot be written, or is full; nothing has
                changed.
        """
        with self._place.transaction("write") as connection:
            yield Transaction(connection)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A transaction that sees the store as it is now, whatever others write meanwhile.

        Raises:
            StoreError: the store cannot be read, or the block tries to write.
        """
        with self._place.transaction("read") as connection:
            yield Transaction(connection)


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
    raise StoreError(f"{place.shown}: found no store, expected the store of a state: {_INIT}")
