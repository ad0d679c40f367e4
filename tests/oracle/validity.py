"""Records that fit the description and still cannot be scored."""

from typing import Any

from oracle.composites import is_corrected
from oracle.decimals import fact


class InvalidRecordError(Exception):
    """The record is invalid under the rule set; nothing is scored.

    Attributes:
        code: the first reason, such as "timing-window".
        codes: every reason, the ones of every rule set first.
    """

    def __init__(self, codes: tuple[str, ...]) -> None:
        super().__init__(", ".join(codes))
        self.codes = codes
        self.code = codes[0]


def refusals(record: dict[str, Any], rule_set: str) -> tuple[str, ...]:
    """Every reason to refuse the record, empty for a valid one."""
    if record["skill_type"] != "workflow":
        return _timing_window(record)
    codes = _completed_exceeds_total(record)
    if is_corrected(rule_set):
        codes += _positive_limits(record)
    return codes


def require_valid(record: dict[str, Any], rule_set: str) -> None:
    """Raise InvalidRecordError when there is any reason to refuse the record."""
    codes = refusals(record, rule_set)
    if codes:
        raise InvalidRecordError(codes)


def _timing_window(record: dict[str, Any]) -> tuple[str, ...]:
    """E13: a window of zero or less."""
    task = record["task"]
    empty = fact(task["deadline_s"]) <= fact(task["t_min_s"])
    return ("timing-window",) if empty else ()


def _completed_exceeds_total(record: dict[str, Any]) -> tuple[str, ...]:
    """E55: more steps completed than the plan has."""
    checks = record.get("checks")
    exceeds = checks is not None and checks["steps_completed"] > checks["total_steps"]
    return ("completed-exceeds-total",) if exceeds else ()


def _positive_limits(record: dict[str, Any]) -> tuple[str, ...]:
    """E46, corrected: a budget or a latency limit of zero."""
    task = record["task"]
    codes: tuple[str, ...] = ()
    if fact(task["max_budget_tao"]) == 0:
        codes += ("budget-positive",)
    if fact(task["max_latency_seconds"]) == 0:
        codes += ("latency-limit-positive",)
    return codes
