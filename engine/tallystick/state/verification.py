"""Verification: replaying a log from its first entry and comparing everything that is stored."""

from __future__ import annotations

import tempfile
from itertools import zip_longest
from pathlib import Path

import attrs
from sqlalchemy import Table

from tallystick.errors import DamagedError
from tallystick.state.chain import check
from tallystick.state.event_log import EventLog
from tallystick.state.ledger import Ledger
from tallystick.state.replay import replay
from tallystick.state.store.store import Store
from tallystick.state.store.tables import HEAD, LOG, ROUNDS, SIGNALS, SNAPSHOTS
from tallystick.state.store.transaction import Transaction

TABLES = (SNAPSHOTS, HEAD, ROUNDS, SIGNALS, LOG)
"""Everything that a store holds, the shortest to read first."""


@attrs.frozen
class Verified:
    """What was proved.

    Attributes:
        entries: so many entries of the log are chained and lead to what is stored.
        snapshots: so many snapshots are what the log leads to.
    """

    entries: int
    snapshots: int


def verify(ledger: Ledger) -> Verified:
    """Replay the log of a state into an empty store and compare the two.

    Raises:
        DamagedError: the chain is broken, or something that is stored does not follow from it.
    """
    with tempfile.TemporaryDirectory() as folder, ledger.store.reading() as stored:
        with Store.create(str(Path(folder) / "replayed")) as (store, transaction):
            journal = EventLog(transaction, ledger.law)
            replay(journal, check(stored.entries()))
            journal.finish()
            snapshots = _compare(stored, transaction)
        store.close()
    return Verified(journal.entries, snapshots)


def _compare(stored: Transaction, replayed: Transaction) -> int:
    """Compare every table, row by row; gives the number of snapshots."""
    rows = {table: _same_rows(table, stored, replayed) for table in TABLES}
    return rows[SNAPSHOTS]


def _same_rows(table: Table, stored: Transaction, replayed: Transaction) -> int:
    number = 0
    for number, (found, wanted) in enumerate(
        zip_longest(stored.rows(table), replayed.rows(table)), 1
    ):
        if found != wanted:
            raise _difference(f"row {number} of {table.name}", found, wanted)
    return number


def _difference(what: str, found: object, wanted: object) -> DamagedError:
    return DamagedError(
        f"{what}: found {found!s:.200}, expected {wanted!s:.200}, to which the log leads: "
        "the store was changed, restore a copy"
    )
