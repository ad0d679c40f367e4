"""Plugins: the hooks, discovery, and what an author writes with."""
