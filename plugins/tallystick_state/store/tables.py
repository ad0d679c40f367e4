"""The tables of a store, as the newest version has them.

The log is the truth. The head is where it has led, the snapshots are what rounds pin, and the
events, in a table that is named after the kind of their entries, are an index over entries of the
log, with what is searched by. The quarantine is the same for claims that are not recorded, and the
counts are how many claims a validator has made. Envelopes are the signatures behind entries of the
log, by the digest of the statement that they sign. The leaves of epochs are made of all the rest,
and kept because they take long to make. Every row has a checksum; see `checksums`, which also has
what their sums are for.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from tallystick_state.store.migration import PREFIX

# SQLite keeps the rows of a table by its key only when that is declared as INTEGER
_Count = BigInteger().with_variant(Integer(), "sqlite")

METADATA = MetaData()

HEAD = Table(
    f"{PREFIX}head",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("epoch", Integer, nullable=False),
    Column("entries", _Count, nullable=False),
    Column("hash", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("checksum", BigInteger),
)

LOG = Table(
    f"{PREFIX}log",
    METADATA,
    Column("seq", _Count, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("checksum", BigInteger),
    Index(
        f"{PREFIX}log_clear",
        "seq",
        sqlite_where=text("kind = 'clear'"),
        postgresql_where=text("kind = 'clear'"),
    ),
    Index(
        f"{PREFIX}log_kinds",
        "kind",
        "seq",
        sqlite_where=text("kind NOT IN ('signal', 'own', 'signed')"),
        postgresql_where=text("kind NOT IN ('signal', 'own', 'signed')"),
    ),
)

EVENTS = Table(
    f"{PREFIX}signals",
    METADATA,
    Column("seq", _Count, primary_key=True, autoincrement=False),
    Column("identity", LargeBinary, nullable=False),
    Column("counted_in", Integer, nullable=False),
    Column("round", Integer, nullable=False),
    Column("hotkey", Text, nullable=False),
    Column("skill_type", Text, nullable=False),
    Column("role", Text),
    Column("is_record", Boolean, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("epoch", Integer),
    Column("checksum", BigInteger),
    UniqueConstraint("identity", name=f"{PREFIX}signals_identity"),
    Index(f"{PREFIX}signals_counted_in", "counted_in", "seq"),
    Index(f"{PREFIX}signals_round", "round", "seq"),
    Index(f"{PREFIX}signals_hotkey", "hotkey", "is_record", "round"),
    Index(f"{PREFIX}signals_role", "skill_type", "hotkey", "round", "role"),
)

QUARANTINE = Table(
    f"{PREFIX}quarantine",
    METADATA,
    Column("seq", _Count, primary_key=True, autoincrement=False),
    Column("identity", LargeBinary, nullable=False),
    Column("task", LargeBinary, nullable=False),
    Column("scope", LargeBinary, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("checksum", BigInteger),
    Index(f"{PREFIX}quarantine_identity", "identity"),
    Index(f"{PREFIX}quarantine_task", "task"),
    Index(f"{PREFIX}quarantine_scope", "scope"),
)

CLAIM_COUNTS = Table(
    f"{PREFIX}claim_counts",
    METADATA,
    Column("scope", LargeBinary, primary_key=True),
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("rank", Integer, primary_key=True, autoincrement=False),
    Column("claims", Integer, nullable=False),
    Column("checksum", BigInteger),
)

SNAPSHOTS = Table(
    f"{PREFIX}snapshots",
    METADATA,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("digest", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("checksum", BigInteger),
)

ROUNDS = Table(
    f"{PREFIX}rounds",
    METADATA,
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("at", Text),
    Column("checksum", BigInteger),
)

ENVELOPES = Table(
    f"{PREFIX}envelopes",
    METADATA,
    Column("statement", Text, primary_key=True),
    Column("envelope", Text, nullable=False),
    Column("checksum", BigInteger),
)

EPOCHS = Table(
    f"{PREFIX}epochs",
    METADATA,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("leaf", Text, nullable=False),
    Column("checksum", BigInteger),
)

CHECKSUMS = Table(
    f"{PREFIX}checksums",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("rows", BigInteger, nullable=False),
    Column("total", BigInteger, nullable=False),
)
