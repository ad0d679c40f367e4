"""Lint: what a rule set means that its authors may not have meant."""
