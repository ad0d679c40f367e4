"""Governance: what a rule set, or a change of one, does."""
