"""What the linter says of the shipped rule sets, with the figures of docs/errata.md."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from functools import cache
from typing import Any

import pytest
from examples import fast_rows
from given import emission_of, tier_of
from governance.revision import RULES
from governance.revision import shipped as text_of

import tallystick
from tallystick.diagnostics import Diagnostic
from tallystick.plugins.registry import installed
from tallystick.rules.loading import shipped
from tallystick_governance.lint.linting import report

BOTH = ("1.0.0", "1.1.0")
PRINTED = {"skills@1.0.0", "workflow@1.0.0"}
"""Rule sets that do what the documents print, also where that cannot be right."""


@cache
def findings(reference: str) -> tuple[Diagnostic, ...]:
    """What is found, silenced or not."""
    return tuple(sorted(report(reference).every, key=lambda each: each.line))


def of(reference: str, code: str) -> list[Diagnostic]:
    return [finding for finding in findings(reference) if finding.code == code]


def document(reference: str) -> dict[str, Any]:
    return tomllib.loads(text_of(reference), parse_float=Decimal)


@pytest.mark.parametrize(
    "reference", fast_rows(["skills@1.0.0", "skills@1.1.0", "workflow@1.0.0"], 0)
)
def test_findings_stand_in_the_order_of_the_file_at_the_lines_of_their_keys(reference: str) -> None:
    found = findings(reference)
    assert [each.line for each in found] == sorted(each.line for each in found)
    for each in found:
        lines = (RULES.parent / each.file).read_text(encoding="utf-8").splitlines()
        key = each.path.rpartition(".")[2].partition("[")[0]
        # a step stands on a line of its own
        assert {"steps": "name"}.get(key, key) in lines[each.line - 1], each


@pytest.mark.parametrize("reference", fast_rows(sorted({*shipped(installed())} - PRINTED), 1, 2))
def test_what_is_accepted_is_silenced_with_a_reason(reference: str) -> None:
    found = report(reference)
    assert found.findings == ()
    assert all(len(each.silence.reason.split()) > 4 for each in found.silenced)


def test_e20_the_novel_tier_is_out_of_reach_above_two_thirds() -> None:
    found = {each.evidence["threshold"]: each for each in of("skills@1.0.0", "tier-unreachable")}
    assert found.keys() == {"optimised", "novel"}
    novel = found["novel"]
    assert novel.path == "tiers.thresholds.novel"
    assert novel.severity == "warning"
    assert (novel.evidence["above"], novel.evidence["baseline"]) == ("2/3", "0.666666668")
    assert found["optimised"].evidence["above"] == "20/23"
    scorer = tallystick.load("skills@1.0.0")
    for baseline, reached in (("0.666666667", True), (novel.evidence["baseline"], False)):
        at = scorer.with_thresholds({"declarative": {"baseline": baseline}})
        assert (tier_of(at, "declarative", 1) == novel.evidence["level"]) is reached


@pytest.mark.parametrize("version", BOTH)
def test_e54_the_largest_emission(version: str) -> None:
    (found,) = of(f"skills@{version}", "emission-above-one")
    assert found.evidence["skill_type"] == "agent_composition"
    assert found.evidence["emission"] == found.evidence["at_most"] == "5.750000000"
    rules = document(f"skills@{version}")
    factors = rules["emission"]["factors"]
    bonus = factors["bootstrap_bonus"]
    for name, kind in rules["skill_types"].items():
        most = Decimal(rules["tiers"]["levels"][-1]["multiplier"])
        most *= factors["early_bonus"]["early_bonus"] * factors["role_multiplier"]["primary"]
        raised = bonus["added_weight"] if name in bonus["skill_types"] else 0
        most *= kind["base_weight"] + raised
        assert Decimal(found.evidence["by_type"][name]) == most


@pytest.mark.nightly
def test_e54_the_combination_gives_the_largest_emission() -> None:
    (found,) = of("skills@1.0.0", "emission-above-one")
    given = dict(found.evidence["combination"])
    quality, multiplier = given.pop("quality"), Decimal(given.pop("tier_multiplier"))
    scorer = tallystick.load("skills@1.0.0")
    levels = {level.multiplier: level.name for level in scorer.rule_set.tiers.levels}  # type: ignore[union-attr]
    tier = levels[multiplier.normalize() if multiplier % 1 else Decimal(int(multiplier))]
    emission = emission_of(scorer, "agent_composition", quality=quality, tier=tier, **given)
    assert str(emission) == found.evidence["emission"]


def workflow(quality: float) -> dict[str, Any]:
    """A record that has spent nothing and done what it planned."""
    return {
        "skill_type": "workflow",
        "task_id": "t",
        "round": 1,
        "epoch": 0,
        "validator": "5V",
        "miner": {"uid": 1, "hotkey": "5M"},
        "role": "primary",
        "task": {"max_budget_tao": 1, "max_latency_seconds": 60},
        "submission": {},
        "checks": {
            "output_quality": quality,
            "steps_completed": 1,
            "total_steps": 1,
            "actual_tao": 0,
            "actual_seconds": 0,
            "actual_retries": 0,
            "timeouts": 0,
            "hard_failures": 0,
        },
    }


@pytest.mark.parametrize("version", BOTH)
def test_e47_the_cliff_of_success(version: str) -> None:
    cliffs = [
        each
        for each in of(f"workflow@{version}", "cliff")
        if each.evidence["position"] == "0.700000000"
    ]
    (found,) = cliffs
    assert found.path == "axes.cost"
    assert found.evidence["height"] == "0.400000000"
    assert found.evidence["composite"] == {"below": "0.450000000", "above": "0.850000000"}
    scorer = tallystick.load(f"workflow@{version}")
    scores = [str(scorer.score(workflow(quality)).quality) for quality in (0.7, 0.700000001)]
    assert scores == list(found.evidence["composite"].values())


def test_e49_doing_nothing_scores() -> None:
    (found,) = of("workflow@1.0.0", "free-points")
    assert found.evidence["quality"] == "0.100000000"
    record = workflow(0)
    record["checks"] |= {"steps_completed": 0, "total_steps": 0}
    quality = tallystick.load("workflow@1.0.0").score(record).quality
    assert str(quality) == found.evidence["quality"]
