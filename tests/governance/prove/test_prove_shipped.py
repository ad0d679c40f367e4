"""What is wrong with the published rules is found, and what was corrected is proved."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

import tallystick
from tallystick_governance.prove.consensus import LAWS
from tallystick_governance.prove.property import Answer
from tallystick_governance.prove.proving import BUDGET, prove

CONTENT = "rag_knowledge", "declarative"
SKILLS = (
    *CONTENT,
    "executable_python",
    "executable_script",
    "mcp_server",
    "agent_composition",
)
REFUTED = {
    "skills/wrong-verdict": dict.fromkeys(SKILLS, "detection"),
    "skills/nearer-verdict-to-allow": dict.fromkeys(SKILLS, "detection"),
    "skills/nearer-verdict-to-block": dict.fromkeys(SKILLS, "detection"),
    "skills/flagging-every-tool": {"mcp_server": "tool_poison_recall"},
    "skills/absent-checks": dict.fromkeys(SKILLS, "evidence"),
    "skills/hash-in-other-case": {"mcp_server": "manifest_integrity"},
    "no-gain-by-duplication": {"rag_knowledge": "injection_recall"},
}
"""What skills@1.0.0 breaks: by property, the types and the axis."""


def asked(reference: str, name: str) -> tuple[Answer, ...]:
    """The answers for one property, each with records that score as it says."""
    scorer = tallystick.load(reference)
    found = prove(scorer, only=name)
    for answer in found:
        for record, value in ((answer.record, answer.value), (answer.other, answer.other_value)):
            if record is not None:
                result = scorer.score(json.dumps(record))
                values = {**result.axes, "quality": result.quality}
                assert values[answer.axis] == Decimal(str(value))
    return found


def refuted(found: tuple[Answer, ...]) -> dict[str, str]:
    return {each.skill_type: each.axis for each in found if each.status == "counterexample"}


@pytest.mark.parametrize("name", REFUTED)
def test_what_the_published_skills_break_is_found_and_what_was_corrected_is_proved(
    name: str,
) -> None:
    found = asked("skills@1.0.0", name)
    assert refuted(found) == REFUTED[name]
    assert {each.status for each in found} <= {"proved", "counterexample"}
    assert {each.status for each in asked("skills@1.1.0", name)} == {"proved"}


def answers(name: str) -> list[Answer]:
    return [each for each in asked("skills@1.0.0", name) if each.status == "counterexample"]


def verdicts(record: Mapping[str, Any]) -> tuple[str, str]:
    return record["task"]["ground_truth"], record["submission"]["verdict"]


def test_a_wrong_verdict_earns_full_marks_when_it_is_unsure() -> None:
    for answer in answers("skills/wrong-verdict"):
        assert answer.record is not None
        truth, verdict = verdicts(answer.record)
        risk = answer.record["submission"]["risk_score"]
        assert (truth, verdict, risk) in {("ALLOW", "BLOCK", 0), ("BLOCK", "ALLOW", 1)}
        assert answer.value == "1.000000000"


def test_an_honest_review_is_beaten_by_a_block_where_the_truth_is_allow() -> None:
    for answer in answers("skills/nearer-verdict-to-allow"):
        assert answer.record is not None
        assert answer.other is not None
        assert verdicts(answer.record) == ("ALLOW", "REVIEW")
        assert verdicts(answer.other) == ("ALLOW", "BLOCK")
        one, two = (
            {**record, "submission": {**record["submission"], "verdict": ""}}
            for record in (answer.record, answer.other)
        )
        assert one == two


def test_one_of_two_canaries_reported_twice_counts_as_both() -> None:
    (answer,) = answers("no-gain-by-duplication")
    assert answer.record is not None
    assert answer.other is not None
    assert len(set(answer.other["task"]["injected_canaries"])) == 2
    found = [
        [f for f in record["submission"]["findings"] if f["category"] == "canary_match"]
        for record in (answer.record, answer.other)
    ]
    assert found[1] == found[0] * 2
    assert (answer.value, answer.other_value) == ("0.500000000", "1.000000000")


def test_flagging_more_tools_than_are_poisoned_earns_full_marks() -> None:
    (answer,) = answers("skills/flagging-every-tool")
    assert answer.record is not None
    findings = answer.record["submission"]["findings"]
    flagged = {f["tool"] for f in findings if f["category"] == "tool_poisoning"}
    assert flagged - set(answer.record["task"].get("expected_poisoned_tools", ()))
    assert answer.value == "1.000000000"


def test_doing_nothing_is_paid_as_published_and_so_is_a_plan_that_is_too_short() -> None:
    scorer = tallystick.load("workflow@1.0.0")
    idle, short = (each for each in prove(scorer) if each.status != "proved")
    assert (idle.property, idle.axis) == ("workflow/idle-earns-nothing", "quality")
    assert idle.record is not None
    assert idle.record["checks"]["steps_completed"] == 0
    assert scorer.score(idle.record).quality == Decimal("0.1")
    assert idle.value == "0.100000000"
    assert (short.property, short.axis) == ("workflow/short-plan", "success")
    assert short.record is not None
    assert short.record["checks"]["steps_completed"] < short.record["task"]["min_steps"]
    assert scorer.score(short.record).axes["success"] == 1


def test_the_corrected_workflow_keeps_every_promise() -> None:
    found = prove(tallystick.load("workflow@1.1.0"))
    assert len(found) >= 28
    assert {each.status for each in found} == {"proved"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reference", "broken"),
    [("skills@1.0.0", {*REFUTED, *LAWS.summaries}), ("skills@1.1.0", set())],
)
def test_every_question_about_the_skills_is_answered_within_the_budget(
    reference: str, broken: set[str]
) -> None:
    found = prove(tallystick.load(reference))
    assert sum(each.work for each in found) < BUDGET / 2
    assert len(found) >= 230
    assert "undecided" not in {each.status for each in found}
    names = {each.property for each in found if each.status == "counterexample"}
    assert names == broken
