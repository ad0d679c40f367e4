"""Where a submission lies in the task's timing window."""

from fractions import Fraction
from typing import Any

from oracle.decimals import fact


def position(record: dict[str, Any]) -> Fraction:
    """0 at t_min, 1 at the deadline, below 0 before, above 1 after.

    scoring.txt, "η Efficiency": position = (latency_ms - t_min_s * 1000) / window.
    """
    task = record["task"]
    earliest = fact(task["t_min_s"]) * 1000
    window = fact(task["deadline_s"]) * 1000 - earliest
    return (Fraction(record["submission"]["latency_ms"]) - earliest) / window
