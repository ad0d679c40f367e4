"""The tables of a store, told once: its schema, statements and checksums follow from them.

The log is the truth. The head is the end of the log with the live state, the snapshots are the
states that rounds pin, and the events, in a table that is named after the kind of their entries,
are an index over entries of the log, with the columns that are searched by. The quarantine is the
same for claims that are not recorded, and the counts are numbers of claims by validator. Envelopes
are the signatures behind entries of the log, by the digest of the statement that they sign. The
leaves of epochs are made of all the rest, and kept because they take long to make. Where records
were pruned, the point says up to where, and what stays of each. Every row has a
checksum; `checksums` has their sums by table.

Nothing here imports SQLAlchemy, which takes longer to load than most queries: `schema` makes its
tables of these.
"""

from __future__ import annotations

from typing import Literal

import attrs

PREFIX = "tallystick_"
"""Prefix of the name of every table of a store."""
ColumnType = Literal["integer", "count", "big", "text", "bytes", "boolean"]
"""Type of a column: ``integer`` has 32 bits, signed, ``count`` and ``big`` have 64.

SQLite stores a table by its key only where that is an ``integer`` or a ``count``.
"""


@attrs.frozen
class Column:
    """A column of a table.

    Attributes:
        name: unique in its table.
        type: of its values.
        nullable: whether a row may have no value.
    """

    name: str
    type: ColumnType
    nullable: bool = False


@attrs.frozen
class Index:
    """An index of a table.

    Attributes:
        name: without the name of its table.
        columns: names of columns, in their order.
        where: SQL condition on the rows that it covers; empty for all.
        unique: whether no two rows have the same values.
    """

    name: str
    columns: tuple[str, ...]
    where: str = ""
    unique: bool = False


@attrs.frozen
class StoreTable:
    """A table of a store.

    Attributes:
        name: begins with `PREFIX`.
        columns: in their order, without the checksum of the row, which comes last.
        key: how many of the first columns are the primary key.
        indexes: beside that of the key.
        has_checksums: whether its rows have a checksum.
    """

    name: str
    columns: tuple[Column, ...]
    key: int = 1
    indexes: tuple[Index, ...] = ()
    has_checksums: bool = True

    def __str__(self) -> str:
        return self.name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns, without the checksum."""
        return tuple(column.name for column in self.columns)

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the columns of its primary key."""
        return self.names[: self.key]


RARE = "kind NOT IN ('signal', 'own', 'signed')"
"""SQL condition on the kinds of entries that are no claims.

SQLite uses their index only for a query that has the condition in these words.
"""

HEAD = StoreTable(
    f"{PREFIX}head",
    (
        Column("id", "integer"),
        Column("epoch", "integer"),
        Column("entries", "count"),
        Column("hash", "text"),
        Column("state", "text"),
    ),
)
"""The end of the log, with the live state: one row."""
LOG = StoreTable(
    f"{PREFIX}log",
    (
        Column("seq", "count"),
        Column("kind", "text"),
        Column("body", "text"),
        Column("hash", "text"),
    ),
    indexes=(
        Index("clear", ("seq",), where="kind = 'clear'"),
        Index("kinds", ("kind", "seq"), where=RARE),
    ),
)
"""The entries of the log."""
EVENTS = StoreTable(
    f"{PREFIX}signals",
    (
        Column("seq", "count"),
        Column("identity", "bytes"),
        Column("counted_in", "integer"),
        Column("round", "integer"),
        Column("hotkey", "text"),
        Column("skill_type", "text"),
        Column("role", "text", nullable=True),
        Column("is_record", "boolean"),
        Column("rank", "integer"),
        Column("epoch", "integer", nullable=True),
    ),
    indexes=(
        Index("identity", ("identity",), unique=True),
        Index("counted_in", ("counted_in", "seq")),
        Index("round", ("round", "seq")),
        Index("hotkey", ("hotkey", "is_record", "round")),
        Index("role", ("skill_type", "hotkey", "round", "role")),
    ),
)
"""The recorded events."""
QUARANTINE = StoreTable(
    f"{PREFIX}quarantine",
    (
        Column("seq", "count"),
        Column("identity", "bytes"),
        Column("task", "bytes"),
        Column("scope", "bytes"),
        Column("rank", "integer"),
        Column("reason", "text"),
    ),
    indexes=(
        Index("identity", ("identity",)),
        Index("task", ("task",)),
        Index("scope", ("scope",)),
    ),
)
"""The claims that are not recorded."""
CLAIM_COUNTS = StoreTable(
    f"{PREFIX}claim_counts",
    (
        Column("scope", "bytes"),
        Column("round", "integer"),
        Column("rank", "integer"),
        Column("claims", "integer"),
    ),
    key=3,
)
"""Numbers of claims by validator and epoch, round and rank."""
SNAPSHOTS = StoreTable(
    f"{PREFIX}snapshots",
    (Column("epoch", "integer"), Column("digest", "text"), Column("body", "text")),
)
"""The state at the start of each epoch."""
ROUNDS = StoreTable(
    f"{PREFIX}rounds", (Column("round", "integer"), Column("at", "text", nullable=True))
)
"""The closed rounds with their times."""
ENVELOPES = StoreTable(
    f"{PREFIX}envelopes", (Column("statement", "text"), Column("envelope", "text"))
)
"""The signed statements, by digest."""
LEAVES = StoreTable(f"{PREFIX}epochs", (Column("epoch", "integer"), Column("leaf", "text")))
"""The leaves of closed epochs."""
PRUNED = StoreTable(f"{PREFIX}pruned", (Column("id", "integer"), Column("point", "text")))
"""The point up to which records were pruned: one row, or none."""
PRUNED_CLAIMS = StoreTable(
    f"{PREFIX}pruned_claims", (Column("bucket", "integer"), Column("claims", "bytes"))
)
"""The claims that were pruned, by which a claim that comes again is known: see `pruned`."""
TOTALS = StoreTable(
    f"{PREFIX}checksums",
    (Column("name", "text"), Column("rows", "big"), Column("total", "big")),
    has_checksums=False,
)
"""Rows and sums of checksums by table."""

TABLES = (
    *(HEAD, PRUNED, LOG, EVENTS, QUARANTINE, CLAIM_COUNTS, SNAPSHOTS, ROUNDS, ENVELOPES, LEAVES),
    *(PRUNED_CLAIMS, TOTALS),
)
"""Every table; the head and the point are read before the log, and the log before the snapshots."""
CHECKED = tuple(table for table in TABLES if table.has_checksums)
"""Every table whose rows have checksums."""
