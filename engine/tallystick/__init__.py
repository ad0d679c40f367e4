"""Exact scoring rules."""
