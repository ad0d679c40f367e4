"""The first released version of the schema: new stores are made from the tables, whole."""

from __future__ import annotations

revision = "0003"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change nothing: no store of an earlier version is migrated."""
