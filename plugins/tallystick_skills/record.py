"""Facts and conditions that several axes share."""

from tallystick.plugins.author import choice, integer, number, require

VERDICTS = "ALLOW", "REVIEW", "BLOCK"
"""Verdicts from lax to strict, so that a rank is a strictness (E2 of docs/errata.md)."""

verdict = choice("submission.verdict", *VERDICTS)
ground_truth = choice("task.ground_truth", *VERDICTS)
risk = number("submission.risk_score")

latency = integer("submission.latency_ms")
earliest = 1000 * number("task.t_min_s")
deadline = 1000 * number("task.deadline_s")

timing_window = require(
    deadline > earliest,
    "timing-window",
    path="task.deadline_s",
    expected="a deadline after t_min_s",
)
"""E13: a window that is empty or negative makes the record invalid."""
