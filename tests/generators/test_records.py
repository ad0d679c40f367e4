"""Records are scored, or refused for the planted defect, and reach every edge."""

import json
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import pytest
from examples import fast_rows
from oracle import score

import tallystick
from generators import SKILL_TYPES, defects, record

Record = dict[str, Any]

PRINTED = dict.fromkeys(SKILL_TYPES, "skills@1.0.0") | {"workflow": "workflow@1.0.0"}


@cache
def seeded(skill_type: str) -> list[Record]:
    return [record(Random(f"{skill_type}-{seed}"), skill_type) for seed in range(400)]


@pytest.mark.parametrize("skill_type", fast_rows(SKILL_TYPES, -1, 2))
def test_valid_records_fit(skill_type: str) -> None:
    assert [whole for whole in seeded(skill_type) if is_unfit(whole, skill_type)] == []


@pytest.mark.parametrize("skill_type", fast_rows(SKILL_TYPES, -1, 2))
def test_valid_records_are_scored_as_printed(skill_type: str) -> None:
    scored = [score(whole, PRINTED[skill_type])["quality"] for whole in seeded(skill_type)]
    assert len(set(scored)) > 50


@pytest.mark.parametrize("skill_type", fast_rows(SKILL_TYPES, -1, 2))
def test_each_defect_alone_makes_a_record_unfit(skill_type: str) -> None:
    of_type = defects.OF_WORKFLOWS if skill_type == "workflow" else defects.OF_SKILLS
    for name, plant in (defects.OF_EVERY_TYPE | of_type).items():
        for seed in range(12):
            random = Random(f"{name}-{seed}")
            whole = record(random, skill_type)
            if "submission" in whole and "checks" in whole:
                plant(random, whole)
                assert is_unfit(whole, skill_type), name


@cache
def scorer_of(skill_type: str) -> tallystick.Scorer:
    return tallystick.load(PRINTED[skill_type])


def is_unfit(whole: Record, skill_type: str) -> bool:
    (found,) = scorer_of(skill_type).score_many([whole])
    return isinstance(found, tallystick.Reject)


def part(name: str, field: str) -> Callable[[Record], Any]:
    return lambda whole: whole.get(name, {}).get(field)


def lacks(whole: Record, name: str, field: str) -> bool:
    """Whether a part that is there leaves out a field that skill types have."""
    return whole["skill_type"] != "workflow" and name in whole and field not in whole[name]


def at_a_quarter_point(whole: Record) -> bool:
    if "submission" not in whole or "t_min_s" not in whole["task"]:
        return False
    t_min, deadline = whole["task"]["t_min_s"], whole["task"]["deadline_s"]
    where = (whole["submission"]["latency_ms"] / 1000 - t_min) / (deadline - t_min)
    return where in {0.25, 0.5, 0.75}


EDGES: dict[str, Callable[[Record], bool]] = {
    "latency at a quarter point": at_a_quarter_point,
    "decimal start of the window": lambda r: r["task"].get("t_min_s", 0) % 1 != 0,
    "risk 0": lambda r: part("submission", "risk_score")(r) == 0,
    "risk 1": lambda r: part("submission", "risk_score")(r) == 1,
    "risk 0.5": lambda r: part("submission", "risk_score")(r) == 0.5,
    "risk of many digits": lambda r: len(repr(part("submission", "risk_score")(r))) > 14,
    "empty policy": lambda r: part("submission", "recommended_policy")(r) == [],
    "no policy": lambda r: lacks(r, "submission", "recommended_policy"),
    "empty findings": lambda r: part("submission", "findings")(r) == [],
    "no findings": lambda r: lacks(r, "submission", "findings"),
    "no check flag": lambda r: lacks(r, "checks", "findings_cited"),
    "as many findings as may be": lambda r: len(findings_of(r)) == 1000,
    "no consensus": lambda r: "consensus" not in r,
    "consensus number": lambda r: isinstance(r.get("consensus"), float),
    "consensus object": lambda r: isinstance(r.get("consensus"), dict),
    "several events": lambda r: len(r.get("events", [])) > 1,
    "epoch 0": lambda r: r["epoch"] == 0,
    "epoch 29": lambda r: r["epoch"] == 29,
    "epoch 30": lambda r: r["epoch"] == 30,
    "no submission": lambda r: "submission" not in r,
    "no checks": lambda r: "checks" not in r,
    "null tool": lambda r: any(f.get("tool", 0) is None for f in findings_of(r)),
    "null canary": lambda r: any(f.get("canary_id", 0) is None for f in findings_of(r)),
    "null hash": lambda r: r["task"].get("expected_manifest_hash", 0) is None,
    "no hash": lambda r: (
        r["skill_type"] == "mcp_server" and "expected_manifest_hash" not in r["task"]
    ),
    "twice the same rule": lambda r: has_repeats(part("submission", "recommended_policy")(r)),
    "twice the same canary": lambda r: has_repeats(r["task"].get("injected_canaries")),
    "no steps": lambda r: part("checks", "total_steps")(r) == 0,
    "no budget": lambda r: r["task"].get("max_budget_tao") == 0,
    "budget exactly spent": lambda r: (
        "max_budget_tao" in r["task"]
        and part("checks", "actual_tao")(r) == r["task"]["max_budget_tao"]
    ),
    "gate of 0.875 x 0.8": lambda r: (
        [part("checks", name)(r) for name in ("output_quality", "steps_completed", "total_steps")]
        == [0.875, 4, 5]
    ),
    "retries in total": lambda r: isinstance(part("checks", "actual_retries")(r), int),
    "retries by step": lambda r: isinstance(part("checks", "actual_retries")(r), dict),
}


def findings_of(whole: Record) -> list[Record]:
    findings: list[Record] = whole.get("submission", {}).get("findings", [])
    return findings


def has_repeats(items: list[Any] | None) -> bool:
    texts = [json.dumps(item) for item in items or []]
    return len(texts) > len(set(texts))


@pytest.mark.parametrize("edge", EDGES)
def test_the_records_reach_the_edge(edge: str) -> None:
    assert any(EDGES[edge](whole) for name in SKILL_TYPES for whole in seeded(name))
