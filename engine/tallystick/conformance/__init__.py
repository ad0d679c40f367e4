"""The author's kit: what starts a plugin, and what checks that others can trust it."""
