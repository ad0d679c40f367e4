"""Conformance: a new plugin's project, and the checks that say whether others can trust it."""
