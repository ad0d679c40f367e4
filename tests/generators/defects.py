"""Single defects that make a fitting record unfit, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

Record = dict[str, Any]
Defect = Callable[["Random", Record], None]


def spoil(random: Random, record: Record) -> str:
    """Plant one defect that suits the record, in place, and return its name."""
    of_type = OF_WORKFLOWS if record["skill_type"] == "workflow" else OF_SKILLS
    name = random.choice((*OF_EVERY_TYPE, *of_type))
    (OF_EVERY_TYPE | of_type)[name](random, record)
    return name


def _missing_field(random: Random, record: Record) -> None:
    name = random.choice(("task_id", "round", "epoch", "validator", "miner", "role", "task"))
    del record[name]


def _unannounced_absence(random: Random, record: Record) -> None:
    del record[random.choice(("submission", "checks"))]
    record["events"] = [e for e in record.get("events", []) if e != "missed_deadline"]


def _unknown_field(random: Random, record: Record) -> None:
    part = random.choice(("task", "submission", "checks", "miner", ""))
    (record[part] if part else record)["surprise"] = 1


def _wrong_type(random: Random, record: Record) -> None:
    name, value = random.choice(
        (
            *(("round", "5"), ("round", 3.7), ("round", True), ("epoch", None), ("task_id", 5)),
            *(("miner", []), ("validator", None), ("role", 1), ("events", "rerun_pass")),
            *(("consensus", "0.9"), ("consensus", False), ("consensus", [])),
        )
    )
    record[name] = value


def _out_of_range(random: Random, record: Record) -> None:
    name, value = random.choice(
        (
            *(("round", -1), ("round", 2**31), ("epoch", 2**31), ("epoch", -1)),
            *(("validator", ""), ("validator", "5" * 65)),
            *(("consensus", 1.0000000001), ("consensus", -0.1), ("consensus", 2)),
        )
    )
    record[name] = value


def _unknown_name(random: Random, record: Record) -> None:
    name, value = random.choice(
        (
            *(("role", "observer"), ("role", "PRIMARY"), ("skill_type", "executable_ruby")),
            *(("events", ["consensus_pass"]), ("events", [""])),
        )
    )
    record[name] = value


def _partial_consensus(_random: Random, record: Record) -> None:
    record["consensus"] = {"findings_recall": 1}


def _timing_window(random: Random, record: Record) -> None:
    """An empty window, one that is empty only in whole nano, or one turned round."""
    t_min = record["task"]["t_min_s"]
    a_hair_later = t_min + 1e-10
    empty_in_nano = round(a_hair_later * 1e9) == round(t_min * 1e9)
    deadlines = (t_min, t_min / 2, a_hair_later if empty_in_nano else t_min)
    record["task"]["deadline_s"] = random.choice(deadlines)


def _submission_range(random: Random, record: Record) -> None:
    name, value = random.choice(
        (
            *(("risk_score", 1.5), ("risk_score", -1e-9), ("risk_score", "0.5")),
            *(("latency_ms", -1), ("latency_ms", 10**9 + 1), ("latency_ms", 0.5)),
            *(("verdict", "allow"), ("verdict", None), ("findings", {})),
        )
    )
    record["submission"][name] = value


def _too_many_items(_random: Random, record: Record) -> None:
    rule = {"resource": "r", "action": "a", "pattern": "p"}
    record["submission"]["recommended_policy"] = [rule] * 1001


def _too_long_text(_random: Random, record: Record) -> None:
    rule = {"resource": "r" * 4097, "action": "a", "pattern": "p"}
    record["task"]["expected_policy"] = [rule]


def _foreign_field(_random: Random, record: Record) -> None:
    record["task"]["max_budget_tao"] = 1


def _flag_type(random: Random, record: Record) -> None:
    record["checks"]["probe_verified"] = random.choice((1, "true"))


def _completed_exceeds_total(random: Random, record: Record) -> None:
    checks = record["checks"]
    checks["total_steps"] = random.choice((0, 1, 10))
    checks["steps_completed"] = checks["total_steps"] + 1


def _workflow_range(random: Random, record: Record) -> None:
    name, value = random.choice(
        (
            *(("output_quality", 1.1), ("output_quality", -0.1), ("actual_tao", -1)),
            *(("actual_seconds", 10**6 + 1), ("timeouts", 10**6 + 1), ("timeouts", -1)),
            *(("hard_failures", 0.5), ("actual_retries", -1), ("actual_retries", {"fetch": -1})),
            *(("budget_aborted", 1), ("budget_aborted", "true")),
        )
    )
    record["checks"][name] = value


OF_EVERY_TYPE: dict[str, Defect] = {
    "missing-field": _missing_field,
    "unannounced-absence": _unannounced_absence,
    "unknown-field": _unknown_field,
    "wrong-type": _wrong_type,
    "out-of-range": _out_of_range,
    "unknown-name": _unknown_name,
    "partial-consensus": _partial_consensus,
}
OF_SKILLS: dict[str, Defect] = {
    "timing-window": _timing_window,
    "submission-range": _submission_range,
    "too-many-items": _too_many_items,
    "too-long-text": _too_long_text,
    "foreign-field": _foreign_field,
    "flag-type": _flag_type,
}
OF_WORKFLOWS: dict[str, Defect] = {
    "completed-exceeds-total": _completed_exceeds_total,
    "workflow-range": _workflow_range,
}
