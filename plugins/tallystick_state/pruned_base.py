"""The base of a pruned state: what its log begins with in place of the first entry.

It is the point up to which records were pruned, with the rows that stay as they were then. A replay
lays them into an empty store and goes on with the entries behind the point, and so does an import.
Envelopes are laid with them, those of a whole log too, so that each entry finds its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tallystick.canonical import PREFIX, canonical_bytes
from tallystick.errors import DamagedError
from tallystick_state.claims import Claim, Rank
from tallystick_state.event import StateEvent
from tallystick_state.pruned import PrunedPoint
from tallystick_state.store.tables import (
    CLAIM_COUNTS,
    CLAIMS,
    ENVELOPES,
    LEAVES,
    LOG,
    PRUNED,
    PRUNED_CLAIMS,
    SNAPSHOTS,
    StoreTable,
)
from tallystick_state.store.transaction import (
    LogHead,
    Transaction,
    document_row,
    insert,
)

Row = tuple[Any, ...]
BaseRow = tuple[StoreTable, Row]
"""A row, behind its table."""
STAYING = (PRUNED_CLAIMS, CLAIMS, LOG, SNAPSHOTS, LEAVES)
"""Tables whose rows of before a point stay as they are."""
TABLES: Mapping[str, StoreTable] = {table.name: table for table in (PRUNED, *STAYING, ENVELOPES)}
"""The tables of a base by name, in the order in which an export has their rows."""
_COUNTED_IN = CLAIMS.names.index("counted_in")


def base_rows(stored: Transaction) -> Iterator[BaseRow]:
    """Yield the rows of the base of a store, table after table; envelopes alone of a whole log."""
    point = stored.pruned()
    if point is not None:
        yield PRUNED, document_row(1, point.to_text())
        yield from staying_rows(stored, point.epoch, point.seq)
    yield from ((ENVELOPES, row) for row in stored.rows(ENVELOPES))


def staying_rows(stored: Transaction, epoch: int, seq: int) -> Iterator[BaseRow]:
    """Yield the rows that stay as they are from a point on, table after table.

    Args:
        stored: the store.
        epoch: the first one whose records are whole.
        seq: the number of the entry that closed the epoch before it.
    """
    yield from ((PRUNED_CLAIMS, row) for row in stored.rows(PRUNED_CLAIMS))
    for row in stored.rows(CLAIMS):
        if row[_COUNTED_IN] is not None and row[_COUNTED_IN] < epoch:
            yield CLAIMS, row
    for table, last in ((LOG, seq), (SNAPSHOTS, epoch), (LEAVES, epoch - 1)):
        for row in stored.rows(table):
            if row[0] > last:
                break
            yield table, row


def row_line(table: StoreTable, row: Row) -> bytes:
    """Return the line of a row in an export, which the digest of rows covers."""
    values = [{"hex": bytes(v).hex()} if isinstance(v, bytes | memoryview) else v for v in row]
    return canonical_bytes({"row": values, "table": table.name}) + b"\n"


def rows_digest(rows: Iterable[BaseRow]) -> str:
    """Return the digest of rows, in their order."""
    sha256 = hashlib.sha256()
    for table, row in rows:
        sha256.update(row_line(table, row))
    return PREFIX + sha256.hexdigest()


_NO_ROWS = rows_digest(())


def lay(rows: Iterable[BaseRow], empty: Transaction) -> None:
    """Put the rows of a base into an empty store, with what waited and was counted at its point.

    Args:
        rows: those of `base_rows`.
        empty: on the store.

    Raises:
        DamagedError: rows are missing, or are not as they were when records were pruned.
    """
    digest = rows_digest(_laid(rows, empty))
    point = empty.pruned()
    if point is None:
        if digest != _NO_ROWS:
            raise DamagedError(
                "found rows of a state whose records were never pruned, expected entries alone: "
                "restore a copy"
            )
        return
    snapshot = empty.snapshot(point.epoch)
    if digest != point.rows or snapshot is None:
        raise DamagedError(
            f"found rows of the digest {digest} before the entry {point.seq}, expected "
            f"{point.rows}, which they had as records were pruned: restore a copy"
        )
    _lay_claims(point, empty)
    empty.put_head(LogHead(point.seq, point.hash, snapshot.state, point.block))


def _laid(rows: Iterable[BaseRow], empty: Transaction) -> Iterator[BaseRow]:
    """Yield the rows of a base that its point covers, each once it is in the store."""
    for table, row in rows:
        insert(empty.connection, table, [row])
        if table in STAYING:
            yield table, row


def _lay_claims(point: PrunedPoint, empty: Transaction) -> None:
    """Put the claims that waited at a point, and the counts of claims, into a store."""
    waiting = {seq: (rank, reason) for seq, rank, reason in point.quarantine}
    claims = [entry for entry in empty.entries() if entry.seq in waiting]
    if len(claims) < len(waiting):
        raise DamagedError(
            f"found {len(claims)} claims that waited as records were pruned, expected "
            f"{len(waiting)}: restore a copy"
        )
    empty.claims.put(
        Claim(entry.seq, StateEvent.from_line(entry.body), Rank(rank), reason)
        for entry in claims
        for rank, reason in (waiting[entry.seq],)
    )
    counts = (document_row(bytes.fromhex(scope), body) for scope, body in point.counts)
    insert(empty.connection, CLAIM_COUNTS, counts)
