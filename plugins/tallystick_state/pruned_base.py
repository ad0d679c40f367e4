"""The base of a pruned state: its rows as of the point up to which records were pruned.

A replay begins with them instead of an empty store, and so does an import. They are the rows that
are kept of then; what waited at the point, and what was counted, has changed since and stands in
the point itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from tallystick.canonical import canonical_bytes, digest_of_bytes
from tallystick.errors import DamagedError
from tallystick_state.authority import Envelopes
from tallystick_state.chain import Entry, chained
from tallystick_state.event import StateEvent
from tallystick_state.model import Snapshot, structure, unstructure
from tallystick_state.pruned import PrunedPoint
from tallystick_state.rules_in_force import RulesInForce, with_entries
from tallystick_state.store.checksums import insert
from tallystick_state.store.tables import (
    CLAIM_COUNTS,
    ENVELOPES,
    EVENTS,
    HEAD,
    LEAVES,
    LOG,
    PRUNED,
    PRUNED_CLAIMS,
    QUARANTINE,
    ROUNDS,
    SNAPSHOTS,
    StoreTable,
)

if TYPE_CHECKING:
    from tallystick_state.store.transaction import Transaction

Row = tuple[Any, ...]
TABLES: Mapping[str, StoreTable] = {
    table.name: table
    for table in (
        *(PRUNED, PRUNED_CLAIMS, LOG, EVENTS, QUARANTINE, CLAIM_COUNTS),
        *(SNAPSHOTS, ROUNDS, ENVELOPES, LEAVES, HEAD),
    )
}
"""The tables of a base by name, in the order in which an export has their rows."""
_COUNTED_IN, _IS_RECORD = map(EVENTS.names.index, ("counted_in", "is_record"))


def base_rows(stored: Transaction, point: PrunedPoint) -> Iterator[tuple[StoreTable, Row]]:
    """Yield the rows of a pruned store as of the point, table after table.

    Raises:
        DamagedError: a row that the point needs is missing.
    """
    yield PRUNED, (1, point.to_text())
    yield from ((PRUNED_CLAIMS, row) for row in _rows(stored, PRUNED_CLAIMS))
    rounds: dict[int, str | None] = {}
    lines: dict[int, StateEvent] = {}
    waiting = {seq for seq, _, _ in point.quarantine}
    for row in takewhile(lambda row: row[0] <= point.seq, _rows(stored, LOG)):
        seq, kind, body, _ = row
        if kind == "round":
            _close(rounds, json.loads(body))
        if seq in waiting:
            lines[seq] = StateEvent.from_line(body)
        yield LOG, row
    for row in _rows(stored, EVENTS):
        if row[_COUNTED_IN] < point.epoch:
            yield EVENTS, (*row[:_IS_RECORD], bool(row[_IS_RECORD]), *row[_IS_RECORD + 1 :])
    yield from _waiting(point, lines)
    for scope, *counts in point.counts:
        yield CLAIM_COUNTS, (bytes.fromhex(scope), *counts)
    snapshot = ""
    for row in takewhile(lambda row: row[0] <= point.epoch, _rows(stored, SNAPSHOTS)):
        snapshot = row[2]
        yield SNAPSHOTS, row
    yield from ((ROUNDS, row) for row in sorted(rounds.items()))
    yield from ((ENVELOPES, row) for row in _rows(stored, ENVELOPES))
    leaves = _rows(stored, LEAVES)
    yield from ((LEAVES, row) for row in takewhile(lambda row: row[0] < point.epoch, leaves))
    state = structure(json.loads(snapshot), Snapshot).state
    text = canonical_bytes(unstructure(state)).decode()
    yield HEAD, (1, point.epoch, point.seq, point.hash, text)


def _rows(stored: Transaction, table: StoreTable) -> Iterator[Row]:
    """Yield the rows of a table without their checksums."""
    return (row[:-1] for row in stored.rows(table))


def _close(rounds: dict[int, str | None], body: Mapping[str, Any]) -> None:
    """Note a round that was closed: of several times the earliest stays."""
    number, at = body["round"], body["at"]
    earlier = rounds.get(number)
    if number not in rounds or (at is not None and (earlier is None or at < earlier)):
        rounds[number] = at


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
    check_point(empty, point)
    return point


def check_point(stored: Transaction, point: PrunedPoint) -> None:
    """Refuse a point whose entry, snapshot or leaves are others than it says.

    Raises:
        DamagedError: they are.
    """
    entry = next(stored.entries(point.seq), None)
    if entry is None or chained(point.before, entry.seq, entry.kind, entry.body) != Entry(
        point.seq, "epoch", entry.body, point.hash
    ):
        raise _other("the entry", point)
    snapshot = stored.snapshot(point.epoch)
    named = json.loads(entry.body).get("snapshot")
    if snapshot is None or snapshot.digest != named:
        raise _other("the snapshot", point)
    for epoch, digest, body in stored.snapshots():
        closing = stored.closing(epoch - 1) if 0 < epoch <= point.epoch else None
        other = closing is not None and json.loads(closing)["snapshot"] != digest
        if other or digest != digest_of_bytes(body.encode()):
            raise _other(f"the snapshot of the epoch {epoch}", point)


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
