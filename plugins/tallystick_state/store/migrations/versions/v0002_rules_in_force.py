"""The second version: rare kinds of entries by index, epochs of events, envelopes, leaves."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tallystick_state.event import StateEvent

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the index, the column and the two tables."""
    rare = sa.text("kind NOT IN ('signal', 'own', 'signed')")
    op.create_index(
        "tallystick_log_kinds",
        "tallystick_log",
        ["kind", "seq"],
        sqlite_where=rare,
        postgresql_where=rare,
    )
    op.add_column("tallystick_signals", sa.Column("epoch", sa.Integer))
    _fill_epochs()
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


def _fill_epochs() -> None:
    bind = op.get_bind()
    read = "SELECT seq, body FROM tallystick_signals JOIN tallystick_log USING (seq)"
    rows = [
        {"seq": seq, "epoch": StateEvent.from_line(body).epoch}
        for seq, body in bind.execute(sa.text(read))
    ]
    if rows:
        write = "UPDATE tallystick_signals SET epoch = :epoch WHERE seq = :seq"
        bind.execute(sa.text(write), rows)
