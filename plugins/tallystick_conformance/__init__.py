"""Conformance: a new plugin's project, the checks of one, and records that are made up for them."""
