"""Whole populations: scores of all miners as weights, submissions of a group as consensus."""
