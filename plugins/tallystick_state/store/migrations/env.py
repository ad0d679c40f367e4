"""Run the migrations on a given connection, inside the transaction that it is in."""

from __future__ import annotations

from alembic import context

from tallystick_state.store.schema import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
context.run_migrations()
