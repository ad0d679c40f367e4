"""The four sub-scores of a workflow: workflow.txt, "Sub-Dimensions"."""

from fractions import Fraction
from typing import Any

from oracle.composites import is_corrected
from oracle.decimals import fact, published

Record = dict[str, Any]

_GATE = Fraction(7, 10)


def sub_scores(record: Record, rule_set: str) -> dict[str, Fraction]:
    """Success, cost, latency and reliability, published.

    Cost and latency read the published success (E47); a run that was aborted over its budget has
    a cost of 0 in 1.2.0.
    """
    task, checks = record["task"], record["checks"]
    reached = published(success(record, rule_set))
    cost = _saving(reached, checks["actual_tao"], task["max_budget_tao"])
    if rule_set == "workflow@1.2.0" and checks.get("budget_aborted"):
        cost = Fraction(0)
    latency = _saving(reached, checks["actual_seconds"], task["max_latency_seconds"])
    return {
        "success": reached,
        "cost": published(cost),
        "latency": published(latency),
        "reliability": published(reliability(record, rule_set)),
    }


def success(record: Record, rule_set: str) -> Fraction:
    """S_success: output quality times completion; corrected, over the task's minimum too (E45)."""
    checks = record["checks"]
    steps = checks["total_steps"]
    if is_corrected(rule_set):
        steps = max(steps, record["task"].get("min_steps", 0))
    if not steps:
        return Fraction(0)
    return fact(checks["output_quality"]) * Fraction(checks["steps_completed"], steps)


def _saving(reached: Fraction, actual: float, limit: float) -> Fraction:
    """S_cost and S_latency: the unused share of the limit; a limit of 0 gives 0 (E46)."""
    if reached <= _GATE or fact(limit) == 0:
        return Fraction(0)
    return max(Fraction(0), 1 - fact(actual) / fact(limit))


def reliability(record: Record, rule_set: str) -> Fraction:
    """S_reliability; corrected, 0 when no step was completed (E49)."""
    checks = record["checks"]
    if is_corrected(rule_set) and not checks["steps_completed"]:
        return Fraction(0)
    penalty = (
        unplanned_retries(record, rule_set) * Fraction(1, 10)
        + checks["timeouts"] * Fraction(2, 10)
        + checks["hard_failures"] * Fraction(5, 10)
    )
    return min(Fraction(1), max(Fraction(0), 1 - penalty))


def unplanned_retries(record: Record, rule_set: str) -> int:
    """Attempts beyond the declared budget: of the plan, or corrected of each step (E48)."""
    declared = _declared_retries(record)
    actual = record["checks"]["actual_retries"]
    if not isinstance(actual, dict):
        return max(0, int(actual) - sum(declared.values()))
    if is_corrected(rule_set):
        return sum(max(0, int(tries) - declared.get(step, 0)) for step, tries in actual.items())
    return max(0, int(sum(actual.values())) - sum(declared.values()))


def _declared_retries(record: Record) -> dict[str, int]:
    handling = record["submission"].get("error_handling", {})
    return {step: int(plan.get("retry_count", 0)) for step, plan in handling.items()}
