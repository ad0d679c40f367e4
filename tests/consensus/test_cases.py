"""Every published case, exactly: facts, components, consensus, signals, alignments, flags."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from math import nan
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


GROUP = cases("consensus")[1]["group"]
MEMBERS, GONE = GROUP["members"], object()
UNKNOWN = {"kind": "gpu", "value": "1"}
FINDING = {"category": "a", "severity": ""}
MALFORMED = [
    ("members", GONE, "missing-field", "members"),
    ("members", [], "invalid-record", "members"),
    ("members", MEMBERS * 9, "too-many", "members"),
    ("members", [*MEMBERS, MEMBERS[0]], "duplicate-member", "members[2].hotkey"),
    ("members/0/role", "judge", "not-allowed", "members[0].role"),
    ("members/0/submission/verdict", GONE, "missing-field", "members[0].submission.verdict"),
    ("members/0/submission/verdict", "WARN", "not-allowed", "members[0].submission.verdict"),
    ("members/1/submission/risk_score", 100, "out-of-range", "members[1].submission.risk_score"),
    ("members/1/submission/risk_score", nan, "not-finite", "members[1].submission.risk_score"),
    (
        "members/0/submission/capabilities",
        [UNKNOWN],
        "not-allowed",
        "members[0].submission.capabilities[0].kind",
    ),
    (
        "members/0/submission/findings",
        [{**FINDING, "line": 0.5}],
        "wrong-type",
        "members[0].submission.findings[0].line",
    ),
    (
        "members/0/submission/findings",
        [FINDING] * 1001,
        "too-many",
        "members[0].submission.findings",
    ),
    ("seed", "x", "unknown-field", "seed"),
    ("skill_type", "essay", "unknown-skill-type", "skill_type"),
    ("round", -1, "out-of-range", "round"),
]


@pytest.mark.parametrize(("place", "value", "code", "path"), MALFORMED)
def test_a_malformed_group_is_refused_by_its_place(
    place: str, value: object, code: str, path: str
) -> None:
    group = copy.deepcopy(GROUP)
    *steps, last = (int(step) if step.isdigit() else step for step in place.split("/"))
    part = group
    for step in steps:
        part = part[step]
    if value is GONE:
        del part[last]
    else:
        part[last] = value
    for given in (group, json.dumps(group).encode()):
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
