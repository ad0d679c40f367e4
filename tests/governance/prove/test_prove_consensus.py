"""P3 and P4 on counts, for groups of three to seven; the published rules break both."""

from __future__ import annotations

from collections import Counter

import pytest
from governance.revision import bound, shipped

import tallystick
from tallystick_consensus.group import GroupConsensus
from tallystick_governance.prove.consensus import FLOODING, LAWS, SIZES, UNANIMOUS
from tallystick_governance.prove.property import Answer
from tallystick_governance.prove.proving import prove


def answers(reference: str, name: str) -> tuple[Answer, ...]:
    """The answers, each with a group of which `consensus` says the same."""
    scorer = tallystick.load(reference)
    found = prove(scorer, only=name)
    for answer in found:
        if answer.record is not None:
            (group,) = tallystick.consensus([answer.record], scorer)
            assert isinstance(group, GroupConsensus)
            values = [member["components"][answer.axis] for member in group.to_dict()["members"]]
            assert answer.value == (values[0] if name == UNANIMOUS else values[-1])
    return found


@pytest.mark.parametrize("reference", ["skills@1.1.0", "skills@1.2.0"])
@pytest.mark.parametrize("name", LAWS.summaries)
@pytest.mark.nightly
def test_the_corrected_rules_keep_the_law_for_every_size(reference: str, name: str) -> None:
    found = answers(reference, name)
    components = 7 if name == UNANIMOUS else 4
    assert Counter(each.skill_type for each in found) == {
        f"groups of {size}": components for size in SIZES
    }
    assert {each.status for each in found} == {"proved"}


def test_as_printed_flooding_pays_in_groups_of_every_size_but_not_for_the_precision() -> None:
    found = answers("skills@1.0.0", FLOODING)
    refuted = Counter(each.axis for each in found if each.status == "counterexample")
    names = ("findings_recall", "capabilities_agreement", "dependencies_agreement")
    assert refuted == dict.fromkeys(names, len(SIZES))
    assert {each.axis for each in found if each.status == "proved"} == {"findings_precision"}
    assert "undecided" not in {each.status for each in found}
    first = next(each for each in found if each.status == "counterexample")
    assert (first.skill_type, first.axis) == ("groups of 3", "findings_recall")
    assert (first.value, first.about) == ("1.000000000", "the honest have 0.500000000")


@pytest.mark.nightly
def test_kinds_that_every_policy_can_say_refute_nothing() -> None:
    """A counterexample is a group, not a count that no group has."""
    text = shipped("skills@1.1.0", ('kinds = "expressible"', 'kinds = "all"'))
    said = '["net_domain", "fs_read", "fs_write", "tool", "child"]'
    lines = [
        f"capability_kinds = {said}" if line.startswith("capability_kinds") else line
        for line in text.splitlines()
    ]
    found = prove(bound("\n".join(lines)), only=UNANIMOUS)
    assert {each.status for each in found} == {"proved"}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("old", "new", "name", "component"),
    [
        # a deduction that twenty outliers do not use up
        ("outlier = 0.05 } # E69", "outlier = 0.02 } # E69", FLOODING, "findings_precision"),
        pytest.param(
            *('set-f@1", outlier = 0.05', 'set-mean@1"', FLOODING, "dependencies_agreement"),
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            *('kinds = "expressible"', 'kinds = "all"', UNANIMOUS, "policy_agreement"),
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_rule_set_that_breaks_a_law_is_not_proved(
    old: str, new: str, name: str, component: str
) -> None:
    found = prove(bound(shipped("skills@1.1.0", (old, new))), only=name)
    before = answers("skills@1.1.0", name)
    worse = {
        each.axis for each, was in zip(found, before, strict=True) if each.status != was.status
    }
    assert component in worse


def test_rules_without_a_consensus_have_nothing_to_prove() -> None:
    assert answers("workflow@1.1.0", UNANIMOUS) == ()
