"""The first version: the head, the log, its signals, the quarantine, the snapshots, the rounds."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_Count = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make every table."""
    _create_log()
    _create_signals()
    _create_quarantine()
    _create_snapshots()


def _create_log() -> None:
    op.create_table(
        "tallystick_head",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("entries", _Count, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
    )
    op.create_table(
        "tallystick_log",
        sa.Column("seq", _Count, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
    )
    clears = sa.text("kind = 'clear'")
    op.create_index(
        "tallystick_log_clear",
        "tallystick_log",
        ["seq"],
        sqlite_where=clears,
        postgresql_where=clears,
    )


def _create_signals() -> None:
    signals = "tallystick_signals"
    op.create_table(
        signals,
        sa.Column("seq", _Count, primary_key=True, autoincrement=False),
        sa.Column("identity", sa.LargeBinary, nullable=False),
        sa.Column("counted_in", sa.Integer, nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("hotkey", sa.Text, nullable=False),
        sa.Column("skill_type", sa.Text, nullable=False),
        sa.Column("role", sa.Text),
        sa.Column("is_record", sa.Boolean, nullable=False),
        sa.Column("rank", sa.Integer, nullable=False),
        sa.UniqueConstraint("identity", name=f"{signals}_identity"),
    )
    op.create_index(f"{signals}_counted_in", signals, ["counted_in", "seq"])
    op.create_index(f"{signals}_round", signals, ["round", "seq"])
    op.create_index(f"{signals}_hotkey", signals, ["hotkey", "is_record", "round"])
    op.create_index(f"{signals}_role", signals, ["skill_type", "hotkey", "round", "role"])


def _create_quarantine() -> None:
    quarantine = "tallystick_quarantine"
    op.create_table(
        quarantine,
        sa.Column("seq", _Count, primary_key=True, autoincrement=False),
        sa.Column("identity", sa.LargeBinary, nullable=False),
        sa.Column("task", sa.LargeBinary, nullable=False),
        sa.Column("scope", sa.LargeBinary, nullable=False),
        sa.Column("rank", sa.Integer, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
    )
    for name in ("identity", "task", "scope"):
        op.create_index(f"{quarantine}_{name}", quarantine, [name])
    op.create_table(
        "tallystick_claim_counts",
        sa.Column("scope", sa.LargeBinary, primary_key=True),
        sa.Column("round", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("rank", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("claims", sa.Integer, nullable=False),
    )


def _create_snapshots() -> None:
    op.create_table(
        "tallystick_snapshots",
        sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "tallystick_rounds",
        sa.Column("round", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", sa.Text),
    )
