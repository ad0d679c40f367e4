"""Run the migrations on the connection that is given, inside the transaction that it is in."""

from __future__ import annotations

from alembic import context

from tallystick_state.store.migration import VERSION_TABLE
from tallystick_state.store.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=VERSION_TABLE,
)
context.run_migrations()
