"""The migrations of the schema, which Alembic runs: one module in ``versions`` for each version."""
