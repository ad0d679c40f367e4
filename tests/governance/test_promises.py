"""Counterexamples to the published rule sets are what they claim to be.

Which properties these break, and what the linter finds, is in the frozen corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pytest

import tallystick
from tallystick_governance.prove.property import Answer
from tallystick_governance.prove.proving import prove

Record = Mapping[str, Any]


def refuted(reference: str, name: str) -> list[Answer]:
    """The counterexamples to one property."""
    found = prove(tallystick.load(reference), only=name)
    return [answer for answer in found if answer.status == "counterexample"]


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


def values(scorer: tallystick.Scorer, answer: Answer, record: Record) -> Decimal:
    """What the engine scores: also what its explanation says that it scores."""
    result = scorer.score(record)
    assert scorer.explain(record).result == result
    found = {**result.axes, "quality": result.quality}[answer.axis]
    assert found is not None
    return found


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name.startswith("workflow/") else [pytest.mark.nightly])
        for name in CLAIMS
    ],
)
def test_a_counterexample_is_scored_by_the_engine_and_does_what_it_claims(name: str) -> None:
    reference = "workflow@1.0.0" if name.startswith("workflow/") else "skills@1.0.0"
    scorer, found = tallystick.load(reference), refuted(reference, name)
    assert found
    for answer in found:
        assert answer.record is not None
        one, other = answer.record, answer.other or answer.record
        scored = values(scorer, answer, one), values(scorer, answer, other)
        assert f"{scored[0]:f}" == answer.value
        assert f"{scored[1]:f}" == (answer.other_value or answer.value)
        assert CLAIMS[name](one, other, *scored)
