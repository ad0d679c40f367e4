"""Whole populations: the scores of all miners as weights, by the steps of a rule set."""
