"""A proof of a change asks nothing of the parts that are as they were, and leaves out no other."""

from __future__ import annotations

import pytest
from governance.revision import Change, bound, shipped

import tallystick
from tallystick.scoring.scorer import Scorer
from tallystick_governance.gate.evidence import Evidence
from tallystick_governance.gate.policy import Measure
from tallystick_governance.prove.property import Answer
from tallystick_governance.prove.proving import outline, prove
from tallystick_governance.prove.unchanged import unchanged

Key = tuple[str, str, str, str | None]


def rules(reference: str, *changes: Change) -> Scorer:
    return bound(shipped(reference, *changes))


def key(answer: Answer) -> Key:
    return answer.property, answer.skill_type, answer.axis, answer.about


def worse(old: Scorer, new: Scorer) -> set[tuple[Key, str, str | None]]:
    """The answers that are not proved and differ, by asking both rule sets everything."""
    before = {key(answer): answer.status for answer in prove(old)}
    return {
        (key(answer), answer.status, before.get(key(answer)))
        for answer in prove(new)
        if answer.status not in {"proved", before.get(key(answer))}
    }


def asked(old: Scorer, new: Scorer) -> set[tuple[Key, str, str | None]]:
    """The same as the gate finds it."""
    evidence = Evidence(old, new, Measure(), source=None)  # type: ignore[arg-type]  # no weights
    return {(key(each.answer), each.answer.status, each.before) for each in evidence.worse_answers}


def test_of_equal_rules_nothing_is_asked() -> None:
    for reference in ("skills@1.2.0", "workflow@1.1.0"):
        scorer = tallystick.load(reference)
        left_out = unchanged(scorer, tallystick.load(reference))
        # the laws of weights read the section that workflow leaves to its default
        assert {a.property for a in outline(scorer, left_out=left_out)} <= {
            *("weights-sum-to-one", "weights-never-negative", "weights-order-free"),
            "weights-somebody",
        }


def test_the_questions_about_a_changed_value_and_its_readers_are_asked() -> None:
    old = tallystick.load("workflow@1.1.0")
    new = rules("workflow@1.1.0", ("unplanned_retry = 0.1", "unplanned_retry = 0.2"))
    left_out = unchanged(old, new)
    assert {a.axis for a in outline(new, left_out=left_out) if a.skill_type == "workflow"} == {
        *("reliability", "quality"),
    }


@pytest.mark.nightly
@pytest.mark.parametrize(
    "pair",
    [
        ("workflow@1.1.0", "workflow@1.0.0"),
        ("workflow@1.0.0", "workflow@1.1.0"),
        ("skills@1.1.0", "skills@1.2.0"),
        ("skills@1.1.0", "skills@1.0.0"),
    ],
)
def test_nothing_is_missed_by_what_is_left_out(pair: tuple[str, str]) -> None:
    old, new = map(tallystick.load, pair)
    assert asked(old, new) == worse(old, new)
