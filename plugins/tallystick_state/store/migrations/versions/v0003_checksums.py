"""The third version: a checksum in every row, and a table of their sums."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_TABLES = (
    *("head", "log", "signals", "quarantine", "claim_counts", "snapshots", "rounds"),
    *("envelopes", "epochs"),
)


def upgrade() -> None:
    """Make the columns and the table; who migrates fills them."""
    for table in _TABLES:
        op.add_column(f"tallystick_{table}", sa.Column("checksum", sa.BigInteger))
    op.create_table(
        "tallystick_checksums",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("total", sa.BigInteger, nullable=False),
    )
