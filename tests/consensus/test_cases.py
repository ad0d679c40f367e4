"""Every published case, exactly: facts, components, consensus, signals, alignments, flags."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from consensus.vectors import RULE_SETS, Json, cases, scorer_of

import tallystick
from tallystick.formula.evaluate import evaluate
from tallystick.formula.facts.fact import name_of, path_of
from tallystick.numbers.nano import from_text
from tallystick.records.rejects import Reject
from tallystick_consensus.group import GroupConsensus, MemberConsensus
from tallystick_consensus.member_facts import FACTS
from tallystick_consensus.rules import CONSENSUS
from tallystick_consensus.run import bound_consensus
from tallystick_state.collusion import AlignmentRow, flags_of
from tallystick_state.sections.reputation import REPUTATION

SHOWN = (
    *("components", "consensus", "event", "diverging"),
    *("aligned_with_primaries", "aligned_with_auditors"),
)


def answers() -> Iterator[Any]:
    for version, (*_, reference) in RULE_SETS.items():
        for case in cases("consensus"):
            yield pytest.param(case, version, reference, id=f"{case['id']} {reference}")


def facts(member: MemberConsensus) -> Json:
    """The facts of a member as a case has them."""
    found: Json = {}
    for fact, value in zip(FACTS, member.facts, strict=True):
        match name_of(fact):
            case "verdict_distance":
                found["verdict_distance"] = value
            case "risk_gap":
                found["risk_gap_twice"] = value
            case name:
                found.setdefault(path_of(fact), {})[name] = value
    return found


@pytest.mark.parametrize(("case", "version", "reference"), [*answers()])
def test_a_group_has_the_consensus_of_its_case(case: Json, version: str, reference: str) -> None:
    scorer = scorer_of(reference)
    (found,) = tallystick.consensus([case["group"]], scorer)
    assert isinstance(found, GroupConsensus)
    expected = case["expected"][version]
    if expected is None:
        assert all(member == MemberConsensus(member.hotkey) for member in found.members)
        return
    assert [member.hotkey for member in found.members] == [
        member["hotkey"] for member in case["group"]["members"]
    ]
    assert (found.breakdown, list(found.rerun)) == (expected["breakdown"], expected["rerun"])
    told = {member["hotkey"]: member for member in found.to_dict()["members"]}
    bound = bound_consensus(scorer)
    assert bound is not None
    for member in found.members:
        wanted = next((m for m in expected["members"] if m["hotkey"] == member.hotkey), None)
        if wanted is None:
            assert member == MemberConsensus(member.hotkey)
            continue
        shown = told[member.hotkey]
        assert {key: shown[key] for key in SHOWN} == {key: wanted[key] for key in SHOWN}
        assert facts(member) == wanted["facts"]
        for name, text in wanted["exact"].items():
            of_member = dict(zip(bound.domains, member.facts, strict=True))
            exact = evaluate(bound.component(name).tree, of_member, member.components)
            assert exact == Fraction(text)


@pytest.mark.parametrize("version", RULE_SETS)
@pytest.mark.parametrize("case", cases("collusion"), ids=lambda case: case["id"])
def test_rows_flag_in_the_rounds_of_their_case(case: Json, version: str) -> None:
    for reference in RULE_SETS[version]:
        reputation = scorer_of(reference).rule_set.section(REPUTATION)
        assert reputation is not None
        assert reputation.collusion is not None
        rows = [
            AlignmentRow(
                row["round"],
                from_text(row["aligned_with_primaries"]),
                from_text(row["aligned_with_auditors"]),
            )
            for row in case["rows"]
        ]
        expected = tuple(case["expected"][version])
        assert flags_of(rows, reputation.collusion) == expected
        assert flags_of(reversed(rows), reputation.collusion) == expected


def test_rule_sets_of_one_version_have_one_consensus() -> None:
    before, after = (scorer_of(reference).rule_set for reference in RULE_SETS["1.1"])
    assert before.section(CONSENSUS) == after.section(CONSENSUS)


def changed(change: Callable[[Json], None]) -> Json:
    """A group of a case with something wrong in it."""
    group = copy.deepcopy(cases("consensus")[1]["group"])
    change(group)
    return group


def _submission(group: Json, place: int = 0) -> Json:
    submission: Json = group["members"][place]["submission"]
    return submission


def _without(group: Json, key: str) -> None:
    del group[key]


MALFORMED: dict[str, tuple[Callable[[Json], None], str, str]] = {
    "no members": (lambda g: _without(g, "members"), "missing-field", "members"),
    "nobody": (lambda g: g.update(members=[]), "invalid-record", "members"),
    "seventeen": (lambda g: g.update(members=g["members"] * 9), "too-many", "members"),
    "one twice": (
        lambda g: g["members"].append(g["members"][0]),
        "duplicate-member",
        "members[2].hotkey",
    ),
    "another role": (
        lambda g: g["members"][0].update(role="judge"),
        "not-allowed",
        "members[0].role",
    ),
    "no verdict": (
        lambda g: _without(_submission(g), "verdict"),
        "missing-field",
        "members[0].submission.verdict",
    ),
    "an unknown verdict": (
        lambda g: _submission(g).update(verdict="WARN"),
        "not-allowed",
        "members[0].submission.verdict",
    ),
    "a risk of a hundred": (
        lambda g: _submission(g, 1).update(risk_score=100),
        "out-of-range",
        "members[1].submission.risk_score",
    ),
    "no number": (
        lambda g: _submission(g, 1).update(risk_score=float("nan")),
        "not-finite",
        "members[1].submission.risk_score",
    ),
    "another kind": (
        lambda g: _submission(g).update(capabilities=[{"kind": "gpu", "value": "1"}]),
        "not-allowed",
        "members[0].submission.capabilities[0].kind",
    ),
    "half a line": (
        lambda g: _submission(g).update(findings=[{"category": "a", "severity": "", "line": 0.5}]),
        "wrong-type",
        "members[0].submission.findings[0].line",
    ),
    "too many findings": (
        lambda g: _submission(g).update(findings=[{"category": "a", "severity": ""}] * 1001),
        "too-many",
        "members[0].submission.findings",
    ),
    "an unknown field": (lambda g: g.update(seed="x"), "unknown-field", "seed"),
    "an unknown type": (lambda g: g.update(skill_type="essay"), "unknown-skill-type", "skill_type"),
    "an unknown round": (lambda g: g.update(round=-1), "out-of-range", "round"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_group_is_refused_by_its_place(name: str) -> None:
    change, code, path = MALFORMED[name]
    group = changed(change)
    line = json.dumps(group).encode()
    for given in (group, line):
        (found,) = tallystick.consensus([given], scorer_of("skills@1.1.0"))
        assert isinstance(found, Reject)
        assert (found.code, found.path) == (code, path)


def test_rules_without_a_consensus_are_refused() -> None:
    with pytest.raises(tallystick.RuleSetError, match="consensus"):
        list(tallystick.consensus([], "workflow@1.1.0"))


def test_a_seed_draws_another_primary() -> None:
    group = next(
        case["group"]
        for case in cases("consensus")
        if case["expected"]["1.1"] and len(case["expected"]["1.1"]["rerun"]) == 1
    )
    drawn = set()
    for seed in map(str, range(40)):
        (found,) = tallystick.consensus([group], scorer_of("skills@1.1.0"), seed=seed)
        assert isinstance(found, GroupConsensus)
        drawn.add(found.rerun)
    assert len(drawn) > 1
