"""Verification: replaying a log from its first entry and comparing everything that is stored."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path

import attrs

from tallystick.errors import StoreError
from tallystick.state.chain import check
from tallystick.state.journal import Journal
from tallystick.state.ledger import Ledger
from tallystick.state.replay import replay
from tallystick.state.store.store import Store
from tallystick.state.store.transaction import Transaction


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
        StoreError: the chain is broken, or something that is stored does not follow from it.
    """
    with tempfile.TemporaryDirectory() as folder, ledger.store.reading() as stored:
        with Store.create(str(Path(folder) / "replayed")) as (store, transaction):
            journal = Journal(transaction, ledger.law)
            replay(journal, check(stored.entries()))
            journal.finish()
            snapshots = _compare(stored, transaction)
        store.close()
    return Verified(journal.entries, snapshots)


def _compare(stored: Transaction, replayed: Transaction) -> int:
    """Compare what is beside the log; gives the number of snapshots."""
    snapshots = 0
    for found, wanted in zip_longest(stored.snapshots(), replayed.snapshots()):
        if found != wanted:
            raise _difference(f"the snapshot {snapshots}", found, wanted)
        snapshots += 1
    _same("the live state", stored.head(), replayed.head())
    _same("the rounds", stored.rounds(), replayed.rounds())
    _same_rows("the index of signals", stored.index(), replayed.index())
    return snapshots


def _same(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise _difference(what, found, wanted)


def _same_rows(what: str, found: Iterable[object], wanted: Iterable[object]) -> None:
    for one, other in zip_longest(found, wanted):
        _same(what, one, other)


def _difference(what: str, found: object, wanted: object) -> StoreError:
    return StoreError(
        f"{what}: found {found!s:.200}, expected {wanted!s:.200}, to which the log leads: "
        "the store was changed, restore a copy"
    )
