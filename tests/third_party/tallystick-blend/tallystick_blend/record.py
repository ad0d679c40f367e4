"""Facts and conditions that several formulas share."""

from tallystick.plugins.author import choice, integer, number, require

VERDICTS = "ALLOW", "WARN", "BLOCK"
"""From lax to strict, so that a rank is a strictness."""
SOURCES = "human", "canary", "consensus", "consensus_expired"
"""Where a ground truth can come from."""

verdict = choice("submission.verdict", *VERDICTS)
ground_truth = choice("task.ground_truth", *VERDICTS)
source = choice("task.provenance", *SOURCES)
risk, expected_risk = number("submission.risk_score"), number("task.expected_risk")

latency = integer("submission.latency_ms")
earliest = 1000 * number("task.t_min_s")
deadline = 1000 * number("task.deadline_s")

window_open = require(
    deadline > earliest,
    "blend/window-open",
    path="task.deadline_s",
    expected="a deadline after t_min_s",
)
