"""The base of a pruned state: its rows as of the point up to which records were pruned.

A replay begins with them instead of an empty store, and so does an import. They are the rows that
are kept of then; what waited at the point, and what was counted, has changed since and stands in
the point itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Any

from tallystick.errors import DamagedError
from tallystick_state.authority import Envelopes
from tallystick_state.entries import with_entries
from tallystick_state.event import StateEvent
from tallystick_state.model import Snapshot
from tallystick_state.pruned import PrunedPoint
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.store.tables import (
    CLAIM_COUNTS,
    ENVELOPES,
    EVENTS,
    LEAVES,
    LOG,
    PRUNED,
    PRUNED_CLAIMS,
    QUARANTINE,
    SNAPSHOTS,
    StoreTable,
)
from tallystick_state.store.transaction import LogHead, Transaction, document_row, insert

Row = tuple[Any, ...]
TABLES: Mapping[str, StoreTable] = {
    table.name: table
    for table in (
        *(PRUNED, PRUNED_CLAIMS, LOG, EVENTS, QUARANTINE, CLAIM_COUNTS),
        *(SNAPSHOTS, ENVELOPES, LEAVES),
    )
}
"""The tables of a base by name, in the order in which an export has their rows."""
_COUNTED_IN, _IS_RECORD = map(EVENTS.names.index, ("counted_in", "is_record"))
_BODY = LOG.names.index("body")


def base_rows(stored: Transaction, point: PrunedPoint) -> Iterator[tuple[StoreTable, Row]]:
    """Yield the rows of a pruned store as of the point, table after table.

    Raises:
        DamagedError: a row that the point needs is missing.
    """
    yield PRUNED, document_row(1, point.to_text())
    yield from ((PRUNED_CLAIMS, row) for row in stored.rows(PRUNED_CLAIMS))
    lines: dict[int, StateEvent] = {}
    waiting = {seq for seq, _, _ in point.quarantine}
    for row in takewhile(lambda row: row[0] <= point.seq, stored.rows(LOG)):
        if row[0] in waiting:
            lines[row[0]] = StateEvent.from_line(row[_BODY])
        yield LOG, row
    for row in stored.rows(EVENTS):
        if row[_COUNTED_IN] < point.epoch:
            yield EVENTS, with_truth(row)
    yield from _waiting(point, lines)
    for scope, counts in point.counts:
        yield CLAIM_COUNTS, document_row(bytes.fromhex(scope), counts)
    snapshots = takewhile(lambda row: row[0] <= point.epoch, stored.rows(SNAPSHOTS))
    yield from ((SNAPSHOTS, row) for row in snapshots)
    yield from ((ENVELOPES, row) for row in stored.rows(ENVELOPES))
    leaves = takewhile(lambda row: row[0] < point.epoch, stored.rows(LEAVES))
    yield from ((LEAVES, row) for row in leaves)


def with_truth(row: Row) -> Row:
    """Return a row of `EVENTS` as both databases take it: SQLite has truth values as numbers."""
    return (*row[:_IS_RECORD], bool(row[_IS_RECORD]), *row[_IS_RECORD + 1 :])


def _waiting(
    point: PrunedPoint, lines: Mapping[int, StateEvent]
) -> Iterator[tuple[StoreTable, Row]]:
    """Yield the rows of the claims that waited at the point."""
    for seq, rank, reason in point.quarantine:
        if seq not in lines:
            raise DamagedError(
                f"found no entry {seq} of the log, expected the claim that waited as records were "
                "pruned: restore a copy"
            )
        event = lines[seq]
        yield QUARANTINE, (seq, event.identity, event.task, event.scope, rank, reason)


def lay(rows: Iterable[tuple[StoreTable, Row]], empty: Transaction) -> PrunedPoint:
    """Put the rows of a base into an empty store; give the point.

    Raises:
        DamagedError: the entry at the point is not what its hash says, or names another snapshot.
    """
    for table, row in rows:
        insert(empty.connection, table, [row])
    point = empty.pruned()
    if point is None:
        raise DamagedError("found no point up to which records were pruned, expected one")
    snapshot = check_point(empty, point)
    empty.put_head(LogHead(point.epoch, point.seq, point.hash, snapshot.state))
    return point


def check_point(stored: Transaction, point: PrunedPoint) -> Snapshot:
    """Return the snapshot at a point, whose entry and snapshots are found to be what it says.

    Raises:
        DamagedError: they are not.
    """
    entry = next(stored.entries(point.seq), None)
    if entry is None or (entry.seq, entry.kind, entry.hash) != (point.seq, "epoch", point.hash):
        raise _other("the entry", point)
    snapshot = stored.snapshot(point.epoch)
    if snapshot is None:
        raise _other("the snapshot", point)
    for epoch, digest, _ in stored.snapshots():
        closing = stored.closing(epoch - 1) if 0 < epoch <= point.epoch else None
        if closing is not None and json.loads(closing)["snapshot"] != digest:
            raise _other(f"the snapshot of the epoch {epoch}", point)
    return snapshot


def in_force_at(
    in_force: RulesInForce, stored: Transaction, point: PrunedPoint, envelopes: Envelopes
) -> RulesInForce:
    """Return the rules as of the point, from the entries that are kept."""
    entries = (entry for entry in stored.rules_entries() if entry.seq <= point.seq)
    return with_entries(in_force.at_genesis(), entries, "the log", envelopes)


def _other(what: str, point: PrunedPoint) -> DamagedError:
    return DamagedError(
        f"{what} at the point of pruning, entry {point.seq}: found another one, expected that with "
        f"the hash {point.hash}: the store was changed, restore a copy"
    )
