"""The laws of a consensus, P1 to P6, over made-up groups; 1.0.0 breaks two of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from random import Random

import pytest
from consensus.groups import (
    Json,
    capabilities,
    findings,
    group,
    mean_of_sets,
    members_of,
    policy_of,
    several,
    submissions,
)
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from work import calls

from tallystick_consensus.member_facts import SETS

PRINTED, CORRECTED = "skills@1.0.0", "skills@1.1.0"
BOTH = pytest.mark.parametrize("reference", [PRINTED, CORRECTED])
few = examples(30)


def shuffled(whole: Json, random: Random) -> Json:
    """The same group, its members and all their lists in another order."""
    found = copy.deepcopy(whole)
    random.shuffle(found["members"])
    for member in found["members"]:
        for value in member["submission"].values():
            if isinstance(value, list):
                random.shuffle(value)
    return found


@few
@given(several, st.randoms(use_true_random=False))
def test_p1_order_changes_nothing(answers: Sequence[Json], random: Random) -> None:
    whole = group(answers)
    assert members_of(whole, CORRECTED) == members_of(shuffled(whole, random), CORRECTED)


def test_p1_as_printed_the_first_member_decides_a_tie() -> None:
    answers = [{"verdict": verdict, "risk_score": 0.5} for verdict in ("ALLOW", "REVIEW", "BLOCK")]
    whole = group(answers)
    turned = whole | {"members": whole["members"][::-1]}
    assert members_of(whole, PRINTED) != members_of(turned, PRINTED)
    assert members_of(whole, CORRECTED) == members_of(turned, CORRECTED)


@BOTH
@few
@given(several, st.data())
def test_p2_a_repeated_finding_changes_nobody(
    reference: str, answers: Sequence[Json], data: st.DataObject
) -> None:
    whole = group(answers)
    repeated = copy.deepcopy(whole)
    submission = data.draw(st.sampled_from(repeated["members"]))["submission"]
    if submission["findings"]:
        submission["findings"] += [data.draw(st.sampled_from(submission["findings"]))] * 3
    assert members_of(whole, reference) == members_of(repeated, reference)


@few
@given(submissions, submissions, st.integers(3, 7), st.data())
def test_p3_who_agree_keep_seven_ones_whatever_one_other_says(
    answer: Json, other: Json, size: int, data: st.DataObject
) -> None:
    answer = answer | {"recommended_policy": policy_of(answer["capabilities"])}
    answers = [answer] * (size - 1)
    answers.insert(data.draw(st.integers(0, size - 1)), other)
    found = [*members_of(group(answers), CORRECTED).values()]
    for member, said in zip(found, answers, strict=True):
        if said is answer:
            assert set(member.components.values()) == {10**9}


def test_p4_as_printed_flagging_everything_beats_the_honest() -> None:
    def answer(*names: str) -> Json:
        found = [{"category": name, "severity": ""} for name in names]
        return {"verdict": "ALLOW", "risk_score": 0.5, "findings": found}

    flagged = answer("x", "y", *(f"more-{number}" for number in range(30)))
    for reference, beaten in ((PRINTED, True), (CORRECTED, False)):
        found = members_of(group([answer("x"), answer("y"), flagged]), reference)
        honest = mean_of_sets([found["hk-0"], found["hk-1"]])
        assert (mean_of_sets([found["hk-2"]]) > honest) is beaten


@few
@given(
    st.lists(
        st.tuples(st.lists(findings, max_size=6), st.lists(capabilities, max_size=4)),
        min_size=2,
        max_size=6,
    )
)
def test_p4_flagging_everything_never_beats_the_honest_mean(
    honest: Sequence[tuple[list[Json], list[Json]]],
) -> None:
    about = {"verdict": "ALLOW", "risk_score": 0.5}
    answers = [
        about | {"findings": found, "capabilities": capable, "dependencies": []}
        for found, capable in honest
    ]
    # at least 20 outliers, and 10/3 of the largest union of the honest
    many = range(30)
    flagged = about | {
        "findings": [
            *(each for found, _ in honest for each in found),
            *({"category": f"more-{number}", "severity": ""} for number in range(130)),
        ],
        "capabilities": [
            *(each for _, capable in honest for each in capable),
            *({"kind": "tool", "value": f"more-{number}"} for number in range(90)),
        ],
        "dependencies": [f"more-{number}" for number in many],
    }
    found = [*members_of(group([*answers, flagged]), CORRECTED).values()]
    assert mean_of_sets(found[-1:]) <= mean_of_sets(found[:-1])


@BOTH
@few
@given(several, st.data())
def test_p5_a_copy_earns_what_its_source_earns(
    reference: str, answers: list[Json], data: st.DataObject
) -> None:
    source = data.draw(st.sampled_from(answers))
    whole = group([*answers, source])
    found = [*members_of(whole, reference).values()]
    place = answers.index(source)
    assert found[-1].components == found[place].components
    assert found[-1].consensus == found[place].consensus


@pytest.mark.parametrize(
    ("reference", "liars"), [(PRINTED, [2, 3, 3, 4, 5]), (CORRECTED, [3, 3, 4, 4, 5])]
)
def test_p6_so_many_equal_liars_make_a_fabrication_agreed(reference: str, liars: list[int]) -> None:
    honest: Json = {"verdict": "ALLOW", "risk_score": 0.5, "dependencies": []}
    lying = honest | {"dependencies": ["CVE-0"]}
    agreed = 4 * SETS.index("dependencies") + 1
    for size, needed in zip(range(3, 8), liars, strict=True):
        for count in range(1, size + 1):
            answers = [lying] * count + [honest] * (size - count)
            liar = members_of(group(answers), reference)["hk-0"]
            assert bool(liar.facts[agreed]) is (count >= needed)


def ascending(place: int) -> list[int]:
    return [6 * number + place % 6 for number in range(1000)]


def far_apart(place: int) -> list[int]:
    return [(place + 1) * 100_000 + 6 * number for number in range(1000)]


def in_turn(place: int) -> list[int]:
    return [6 * 16 * number + 6 * place for number in range(1000)]


@pytest.mark.parametrize("lines", [ascending, far_apart, in_turn])
def test_findings_that_are_slow_to_match_take_bounded_work(
    lines: Callable[[int], list[int]],
) -> None:
    def whole(size: int) -> Json:
        return group(
            [
                {
                    "verdict": "ALLOW",
                    "risk_score": 0.5,
                    "findings": [
                        {"category": "c", "severity": "", "file": "f", "line": line}
                        for line in lines(place)[:size]
                    ],
                }
                for place in range(16)
            ]
        )

    members_of(whole(2), CORRECTED)
    small, large = (
        calls(lambda size=size: members_of(whole(size), CORRECTED))  # type: ignore[misc]
        for size in (40, 160)
    )
    # linear but for a bisection in the list of each other: nothing compares each line with each
    assert large < 5 * small
    assert large < 16 * 160 * 300
