"""Tables of what was pruned: the point up to which, and the claims that stay known."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make both tables, without rows."""
    op.create_table(
        "tallystick_pruned",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("point", sa.Text, nullable=False),
        sa.Column("checksum", sa.BigInteger),
    )
    op.create_table(
        "tallystick_pruned_claims",
        sa.Column("bucket", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("claims", sa.LargeBinary, nullable=False),
        sa.Column("checksum", sa.BigInteger),
    )
