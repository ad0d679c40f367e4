"""The tables of a store: its schema and its statements follow from them.

The log is the truth, and each of its entries is chained to the one before. Everything else follows
from it and can be made again:

- documents, each with its digest: the head, which is the end of the log with the live state;
  snapshots, the states that rounds pin; leaves of epochs, which take long to make; counts of
  claims by validator; where records were pruned, the point up to which;
- what stays of each pruned claim;
- an index over the claims of the log, recorded or in quarantine, with the columns that are searched
  by.

Envelopes are the signatures behind entries of the log, by the digest of the statement they sign.
"""

from __future__ import annotations

from typing import Literal

import attrs

PREFIX = "tallystick_"
"""Prefix of the name of every table of a store."""
FORMAT = 4
"""Version of a store that this engine reads and writes."""
VERSION_TABLE = f"{PREFIX}format"
"""Table with the version, in its one row."""

ColumnType = Literal["integer", "count", "text", "bytes"]
"""Type of a column: ``integer`` has 32 bits, signed, ``count`` has 64."""
# SQLite stores a table by its key only where that is an INTEGER, which has 64 bits there
_SQLITE = {"integer": "INTEGER", "count": "INTEGER", "text": "TEXT", "bytes": "BLOB"}
_POSTGRESQL = {**_SQLITE, "count": "BIGINT", "bytes": "BYTEA"}


@attrs.frozen(eq=False)
class StoreTable:
    """A table of a store.

    Attributes:
        name: begins with `PREFIX`.
        columns: the type of each by name, in their order; one whose name ends in ``?`` may be
            without a value.
        key: how many of the first columns are the primary key.
        indexes: by name, the columns of each beside that of the key, and its condition.
        unique: names of the indexes that no two rows may be alike in.
        by_key: whether SQLite keeps the rows in the index of the key: for short rows whose key is
            no number.
    """

    name: str
    _columns: dict[str, ColumnType]
    key: int = 1
    indexes: dict[str, str] = attrs.field(factory=dict)
    unique: frozenset[str] = frozenset()
    by_key: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(name.removesuffix("?") for name in self._columns)

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the columns of its primary key."""
        return self.names[: self.key]

    def statements(self, *, is_sqlite: bool) -> list[str]:
        """Return the statements that make the table with its indexes."""
        types = _SQLITE if is_sqlite else _POSTGRESQL
        columns = [
            f"{name.removesuffix('?')} {types[kind]}{'' if name.endswith('?') else ' NOT NULL'}"
            for name, kind in self._columns.items()
        ]
        columns.append(f"PRIMARY KEY ({', '.join(self.keys)})")
        options = " WITHOUT ROWID" if is_sqlite and self.by_key else ""
        return [
            f"CREATE TABLE {self.name} ({', '.join(columns)}){options}",
            *(
                f"CREATE {'UNIQUE ' if name in self.unique else ''}INDEX {self.name}_{name} "
                f"ON {self.name} {columns_of_index}"
                for name, columns_of_index in self.indexes.items()
            ),
        ]


CLAIMED = ("signal", "own", "signed")
"""Kinds of the entries that are claims."""
RARE = f"kind NOT IN {CLAIMED}"
"""SQL condition on the kinds of entries that are no claims.

SQLite uses their index only for a query that has the condition in these words.
"""

LOG = StoreTable(
    f"{PREFIX}log",
    {"seq": "count", "kind": "text", "body": "text", "previous": "bytes", "hash": "bytes"},
    indexes={"clear": "(seq) WHERE kind = 'clear'", "kinds": f"(kind, seq) WHERE {RARE}"},
)
"""The entries of the log, each with the hash of the one before and its own."""
CLAIMS = StoreTable(
    f"{PREFIX}claims",
    {
        "seq": "count",
        "identity": "bytes",
        "rank": "integer",
        "counted_in?": "integer",
        "round?": "integer",
        "hotkey?": "text",
        "skill_type?": "text",
        "role?": "text",
        "is_record?": "integer",
        "epoch?": "integer",
        "task?": "bytes",
        "scope?": "bytes",
        "reason?": "text",
    },
    indexes={
        "counted_in": "(counted_in, seq)",
        "hotkey": "(hotkey, is_record, round)",
        # one recorded claim of each identity, and any number in quarantine
        "identity": "(identity, (CASE WHEN reason IS NULL THEN 0 ELSE seq END))",
        "role": "(skill_type, hotkey, round, role)",
        "round": "(round, seq)",
        "scope": "(scope) WHERE scope IS NOT NULL",
        "task": "(task) WHERE task IS NOT NULL",
        "waiting": "(seq) WHERE reason IS NOT NULL",
    },
    unique=frozenset({"identity"}),
)
"""The claims, each by its entry of the log.

A recorded one has the columns from ``counted_in`` to ``epoch``, by which events are searched;
``is_record`` is 1 for a record, 0 for an event that came alone. One in quarantine has the last
three.
"""
ENVELOPES = StoreTable(f"{PREFIX}envelopes", {"statement": "text", "envelope": "text"})
"""The signed statements, by digest."""
PRUNED_CLAIMS = StoreTable(
    f"{PREFIX}pruned_claims",
    {"identity": "bytes", "epoch": "integer", "digest": "bytes"},
    by_key=True,
)
"""The claims that were pruned, by which a claim that comes again is known: see `pruned`."""


def _documents(name: str, key: str, kind: ColumnType) -> StoreTable:
    return StoreTable(f"{PREFIX}{name}", {key: kind, "digest": "text", "body": "text"})


HEAD = _documents("head", "id", "integer")
"""The end of the log, with the live state: one row."""
SNAPSHOTS = _documents("snapshots", "epoch", "integer")
"""The state at the start of each epoch."""
LEAVES = _documents("epochs", "epoch", "integer")
"""The leaves of closed epochs."""
CLAIM_COUNTS = _documents("claim_counts", "scope", "bytes")
"""Numbers of claims by validator and epoch."""
PRUNED = _documents("pruned", "id", "integer")
"""The point up to which records were pruned: one row, or none."""

DOCUMENTS = (HEAD, PRUNED, SNAPSHOTS, LEAVES, CLAIM_COUNTS)
"""Tables of documents: a key, the digest of the body, and the body."""
TABLES = (LOG, CLAIMS, ENVELOPES, PRUNED_CLAIMS, *DOCUMENTS)
"""Every table."""
