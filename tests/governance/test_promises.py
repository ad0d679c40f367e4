"""The published defects are found with their figures, and the corrected rule sets lack them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pytest
from governance.promised import (
    PROMISES,
    Promise,
    answers,
    figures_of,
    findings,
    refuted,
)

import tallystick
from tallystick_governance.prove.property import Answer

Record = Mapping[str, Any]

BROKEN = {
    "skills@1.0.0": (
        "skills/wrong-verdict",
        "skills/nearer-verdict-to-allow",
        "skills/nearer-verdict-to-block",
        "skills/flagging-every-tool",
        "skills/absent-checks",
        "skills/hash-in-other-case",
        "no-gain-by-duplication",
    ),
    "workflow@1.0.0": ("workflow/idle-earns-nothing", "workflow/short-plan"),
}
"""Every property of records that a published rule set breaks."""
OF_GROUPS = {"skills@1.0.0": ("consensus-unanimous", "consensus-flooding")}
"""Those of groups; tests/governance/prove/test_prove_consensus.py computes what breaks them."""


def named(promise: Promise) -> str:
    return f"{promise.erratum} {promise.tool}"


def verdicts(record: Record) -> tuple[str, str]:
    return record["task"]["ground_truth"], record["submission"]["verdict"]


def named_in(record: Record, category: str, key: str) -> list[str]:
    found = record["submission"].get("findings", ())
    return [each.get(key) for each in found if each["category"] == category]


def is_wrong_and_paid_in_full(one: Record, _: Record, value: Decimal, __: Decimal) -> bool:
    truth, verdict = verdicts(one)
    return truth != verdict and value == 1


def is_beaten_by(truth: str, worse: str) -> Callable[[Record, Record, Decimal, Decimal], bool]:
    def claim(one: Record, other: Record, value: Decimal, more: Decimal) -> bool:
        answered = verdicts(one), verdicts(other)
        plain = [
            {**record, "submission": {**record["submission"], "verdict": ""}}
            for record in (one, other)
        ]
        asked = answered == ((truth, "REVIEW"), (truth, worse))
        return asked and plain[0] == plain[1] and value < more

    return claim


def is_one_canary_reported_twice(one: Record, other: Record, value: Decimal, more: Decimal) -> bool:
    injected = set(one["task"]["injected_canaries"])
    once, twice = (named_in(record, "canary_match", "canary_id") for record in (one, other))
    return (
        len(injected) == 2
        and len(once) == 1
        and twice == once * 2
        and (value, more)
        == (
            Decimal("0.5"),
            1,
        )
    )


def flags_what_is_not_poisoned(one: Record, _: Record, value: Decimal, __: Decimal) -> bool:
    flagged = set(named_in(one, "tool_poisoning", "tool"))
    return bool(flagged - set(one["task"].get("expected_poisoned_tools", ()))) and value == 1


def is_idle_and_paid(one: Record, _: Record, value: Decimal, __: Decimal) -> bool:
    return one["checks"]["steps_completed"] == 0 and value > 0


def is_short_and_paid_in_full(one: Record, _: Record, value: Decimal, __: Decimal) -> bool:
    return one["checks"]["steps_completed"] < one["task"]["min_steps"] and value == 1


def is_verified_as_far_as_it_applies(one: Record, _: Record, value: Decimal, __: Decimal) -> bool:
    checks = one["checks"]
    asked = (
        "probe_verified",
        "trace_hashes_consistent",
        "sandbox_digest_correct",
        "findings_cited",
    )
    found = [checks[each] for each in asked if checks.get(each) is not None]
    return bool(found) and all(found) and len(found) < len(asked) and value < 1


def is_true_in_another_case(one: Record, _: Record, value: Decimal, __: Decimal) -> bool:
    mine, true = one["submission"]["mcp_manifest_hash"], one["task"]["expected_manifest_hash"]
    return mine != true and mine.lower() == true.lower() and value == 0


CLAIMS: dict[str, Callable[[Record, Record, Decimal, Decimal], bool]] = {
    "skills/wrong-verdict": is_wrong_and_paid_in_full,
    "skills/nearer-verdict-to-allow": is_beaten_by("ALLOW", "BLOCK"),
    "skills/nearer-verdict-to-block": is_beaten_by("BLOCK", "ALLOW"),
    "skills/absent-checks": is_verified_as_far_as_it_applies,
    "skills/hash-in-other-case": is_true_in_another_case,
    "skills/flagging-every-tool": flags_what_is_not_poisoned,
    "no-gain-by-duplication": is_one_canary_reported_twice,
    "workflow/idle-earns-nothing": is_idle_and_paid,
    "workflow/short-plan": is_short_and_paid_in_full,
}
"""What a counterexample must be, told from its records and from what the engine gives for them."""


@pytest.mark.parametrize("promise", PROMISES, ids=named)
@pytest.mark.nightly
def test_a_published_defect_is_found_with_its_figures(promise: Promise) -> None:
    assert dict(promise.figures) in figures_of(promise, promise.reference)


@pytest.mark.parametrize("promise", PROMISES, ids=named)
@pytest.mark.nightly
def test_a_corrected_defect_is_gone_and_a_kept_one_is_not(promise: Promise) -> None:
    if not promise.corrected:
        assert dict(promise.figures) in figures_of(promise, promise.successor)
    elif promise.tool == "lint":
        assert promise.name not in {finding.code for finding in findings(promise.successor)}
    else:
        found = answers(promise.successor, promise.name)
        assert found
        assert {answer.status for answer in found} == {"proved"}


def values(scorer: tallystick.Scorer, answer: Answer, record: Record) -> Decimal:
    """What the engine scores: also what its explanation says that it scores."""
    result = scorer.score(record)
    assert scorer.explain(record).result == result
    found = {**result.axes, "quality": result.quality}[answer.axis]
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        pytest.param(each, name, marks=[pytest.mark.nightly] if each == "skills@1.0.0" else [])
        for each, names in BROKEN.items()
        for name in names
    ],
)
def test_a_counterexample_is_scored_by_the_engine_and_does_what_it_claims(
    reference: str, name: str
) -> None:
    scorer, found = tallystick.load(reference), refuted(reference, name)
    assert found
    for answer in found:
        assert answer.record is not None
        one, other = answer.record, answer.other or answer.record
        scored = values(scorer, answer, one), values(scorer, answer, other)
        assert f"{scored[0]:f}" == answer.value
        assert f"{scored[1]:f}" == (answer.other_value or answer.value)
        assert CLAIMS[name](one, other, *scored)


@pytest.mark.nightly
@pytest.mark.parametrize("reference", BROKEN)
def test_there_is_no_other_counterexample(reference: str) -> None:
    found = {each.property for each in answers(reference) if each.status == "counterexample"}
    assert found == {*BROKEN[reference], *OF_GROUPS.get(reference, ())}


@pytest.mark.nightly
@pytest.mark.parametrize("reference", ["skills@1.1.0", "workflow@1.1.0"])
def test_the_corrected_rule_sets_keep_every_property(reference: str) -> None:
    assert {each.status for each in answers(reference)} == {"proved"}
