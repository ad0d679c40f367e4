"""The store of a state: one schema on SQLite or PostgreSQL, an append-only log, and its index."""
