"""The second version: an index of the rare kinds of entries, envelopes, and leaves of epochs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the index and the two tables."""
    rare = sa.text("kind NOT IN ('signal', 'own', 'signed')")
    op.create_index(
        "tallystick_log_kinds",
        "tallystick_log",
        ["kind", "seq"],
        sqlite_where=rare,
        postgresql_where=rare,
    )
    op.create_table(
        "tallystick_envelopes",
        sa.Column("statement", sa.Text, primary_key=True),
        sa.Column("envelope", sa.Text, nullable=False),
    )
    op.create_table(
        "tallystick_epochs",
        sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("leaf", sa.Text, nullable=False),
    )
