"""The integrity of a store: every page, row and entry is what was written.

Nothing is replayed: that takes as long as all that the state has seen. What is read once from its
first to its last byte is

- of SQLite the pages, by `PRAGMA integrity_check`, which does what `quick_check` does and compares
  every index with its table besides: an index whose keys were damaged answers with other rows;
- the schema, by its sum;
- every row of every table, by its checksum, and the sums of the tables;
- the log, by its chain, which has to end where the head says;
- the snapshots, by their digests, which the log has too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from tallystick.canonical import digest_of_bytes
from tallystick.errors import DamagedError
from tallystick_state.chain import GENESIS_HASH, Entry, chained, check
from tallystick_state.pruned import PrunedPoint
from tallystick_state.store.checksums import (
    SCHEMA,
    checked,
    rows_of,
    schema_total,
    totals,
    wrapped,
)
from tallystick_state.store.connection import WAY_BACK, Connection
from tallystick_state.store.tables import CHECKED, HEAD, LOG, PRUNED, SNAPSHOTS, StoreTable

LIMIT = 64_000_000
"""Maximum size in bytes of a store that is checked whole at each opening for writing."""

_SIZE_OF_POSTGRESQL = (
    "SELECT COALESCE(SUM(pg_total_relation_size(oid)), 0)::bigint FROM pg_catalog.pg_class "
    "WHERE relkind = 'r' AND left(relname, 11) = 'tallystick_' "
    "AND relnamespace = current_schema()::regnamespace"
)


def size(connection: Connection) -> int:
    """Return how many bytes a store has, with its indexes."""
    if connection.is_sqlite:
        ((pages,),) = connection.rows("PRAGMA page_count")
        ((bytes_each,),) = connection.rows("PRAGMA page_size")
        return int(pages * bytes_each)
    ((total,),) = connection.rows(_SIZE_OF_POSTGRESQL)
    return int(total)


def check_integrity(connection: Connection) -> None:
    """Refuse a store that is damaged, in the transaction that the connection is in.

    Raises:
        DamagedError: something is not what tallystick wrote.
        StoreError: the database cannot read it.
    """
    try:
        _check_all(connection)
    except DamagedError as error:
        error.name(connection.shown, WAY_BACK)
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        # who made the checksums anew may have written anything
        raise DamagedError(
            f"{connection.shown}: found values of another kind ({error}), expected what tallystick "
            f"wrote: the file was changed; {WAY_BACK}"
        ) from error


def _check_all(connection: Connection) -> None:
    if connection.is_sqlite:
        _check_pages(connection)
    noted = totals(connection)
    if connection.is_sqlite:
        _check_total("the schema", schema_total(connection), noted.get(SCHEMA))
    # what the log says of snapshots and what the head says of the log
    snapshots, ends = dict[int, str](), list[tuple[int, str]]()
    points = list[PrunedPoint]()
    for table in CHECKED:
        total = _Total()
        rows = total.counted(connection, table)
        if table is LOG:
            _read_log(rows, ends, snapshots, points)
        elif table is PRUNED:
            points += [PrunedPoint.of_text(row[1]) for row in rows]
        elif table is SNAPSHOTS:
            _check_snapshots(rows, snapshots)
        else:
            # the head comes first
            ends += [(row[2], row[3]) for row in rows if table is HEAD]
        _check_total(table.name, (total.rows, wrapped(total.sum)), noted.get(table.name))


def data_checksums(connection: Connection) -> bool | None:
    """Return whether PostgreSQL has checksums of its pages; None of SQLite, which has none."""
    if connection.is_sqlite:
        return None
    ((setting,),) = connection.rows("SHOW data_checksums")
    return bool(setting == "on")


class _Total:
    """The rows of a table that were read, and the sum of their checksums."""

    def __init__(self) -> None:
        self.rows = self.sum = 0

    def counted(self, connection: Connection, table: StoreTable) -> Iterator[tuple[Any, ...]]:
        for row in rows_of(connection, table):
            values = checked(connection, table, row)
            self.rows += 1
            self.sum += row[-1]
            yield values


def _check_pages(connection: Connection) -> None:
    problems = [str(row[0]) for row in connection.rows("PRAGMA integrity_check(1)")]
    if problems != ["ok"]:
        first = " ".join(problems[:1]).replace("\n", " ")
        raise DamagedError(
            f"found pages that are damaged ({first:.200}), expected sound ones: the file was "
            "damaged or changed"
        )


def _read_log(
    rows: Iterable[tuple[Any, ...]],
    ends: list[tuple[int, str]],
    snapshots: dict[int, str],
    points: list[PrunedPoint],
) -> None:
    count, last = ends[0] if ends else (0, None)
    entries = iter(Entry(*row) for row in rows)
    if points:
        whole = _after_pruned(entries, points[0], snapshots)
        after = points[0].seq, points[0].hash
    else:
        whole, after = entries, (0, GENESIS_HASH)
    for entry in check(whole, count=count, last=last, after=after):
        if entry.kind == "epoch":
            body = json.loads(entry.body)
            snapshots[body["epoch"] + 1] = body["snapshot"]


def _after_pruned(
    entries: Iterator[Entry], point: PrunedPoint, snapshots: dict[int, str]
) -> Iterator[Entry]:
    """Read the entries that are left up to the point; return those behind it."""
    for entry in entries:
        if entry.kind == "epoch":
            body = json.loads(entry.body)
            snapshots[body["epoch"] + 1] = body["snapshot"]
        if entry.seq == point.seq:
            if chained(point.before, entry.seq, entry.kind, entry.body).hash == point.hash:
                return entries
            break
        if entry.seq > point.seq:
            break
    raise DamagedError(
        f"the log, entry {point.seq}: found another one, expected that with the hash {point.hash}, "
        "up to which records were pruned: the log is damaged or was changed"
    )


def _check_snapshots(rows: Iterable[tuple[Any, ...]], digests: dict[int, str]) -> None:
    for epoch, digest, body in rows:
        # the first one is of no entry
        if digest != digest_of_bytes(body.encode()) or digests.get(epoch, digest) != digest:
            raise DamagedError(
                f"the snapshot of the epoch {epoch}: found {digest:.80}, expected the digest that "
                "its text and the log have: the file was changed"
            )


def _check_total(name: str, found: tuple[int, int], noted: tuple[int, int] | None) -> None:
    if found == noted:
        return
    expected = "none that were noted" if noted is None else f"{noted[0]} that sum up to {noted[1]}"
    raise DamagedError(
        f"{name}: found {found[0]} rows whose checksums sum up to {found[1]}, expected {expected}: "
        "the file was damaged or changed"
    )
