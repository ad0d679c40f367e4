"""What a change of a consensus gives members of groups, and what is too small to tell."""

from __future__ import annotations

from fractions import Fraction

import pytest
from linted import CHECKS, compared, found_by, loaded, shipped

from tallystick.scoring.lint import Check
from tallystick_consensus.lints import conduct

Change = tuple[str, str]
SKILLS = "skills@1.2.0"
COMPARED = [
    check.code
    for check in vars(conduct).values()
    if isinstance(check, Check) and check.compare is not None
]
QUORUM = 'quorum = { share = 0.6, round = "up" }'
VERDICT = "one_step = 0.6, two_steps = 0"
RISK = "near = 0.15, far = 0.30, middle = 0.5"
DIVERGING = "verdict_below = 0.6, recall_below = 0.5"
WEIGHT = "risk_agreement = 0.10"

FOUND: list[tuple[str, tuple[Change, ...], str, str]] = [
    (
        "deviation-costs-less",
        (('missing = "own_value"', 'missing = "zero"'),),
        "consensus.finding_lines.missing",
        "a finding without a line where there is one at the top",
    ),
    (
        "deviation-costs-less",
        ((VERDICT, "one_step = 0, two_steps = 1"),),
        "consensus.components.verdict_agreement",
        "a verdict two steps off",
    ),
    (
        "deviation-costs-less",
        (("lines = 5, missing", "lines = 5000, missing"),),
        "consensus.finding_lines.lines",
        "findings 400 lines off",
    ),
    (
        "deviation-costs-less",
        ((QUORUM, QUORUM.replace("0.6", "0.1")),),
        "consensus.quorum.share",
        "two members with one false answer",
    ),
    (
        "deviation-costs-less",
        ((QUORUM, QUORUM.replace("0.6", "1")),),
        "consensus.quorum.share",
        "an empty answer beside a false one",
    ),
    (
        "deviation-costs-less",
        (("outliers_below = 0.5 ", "outliers_below = 0 "),),
        "consensus.outliers_below",
        "many invented findings where others find nothing",
    ),
    (
        "deviation-costs-less",
        ((WEIGHT, "risk_agreement = 0"), ("policy_agreement = 0.05", "policy_agreement = 0.15")),
        "emission.factors.consensus",
        "a risk that is far off",
    ),
    (
        "deviation-costs-less",
        (('"child", "shell"]', '"child"]'),),
        "consensus.capability_kinds",
        "many invented capabilities of the kind shell",
    ),
    (
        "deviation-costs-less",
        (('denies = { "network/deny" = "net_domain" }', "denies = {}"),),
        "consensus.denies",
        "a denial network/deny of what is needed",
    ),
]


@pytest.mark.parametrize(("code", "changes", "path", "deviation"), FOUND)
def test_what_a_deviation_no_longer_costs_is_told(
    code: str, changes: tuple[Change, ...], path: str, deviation: str
) -> None:
    (found,) = compared(SKILLS, [code], *changes)
    assert found.path == path
    assert deviation in found.evidence["deviations"]


OTHERS: list[tuple[str, Change, str]] = [
    (
        "honest-members-lose",
        ('"skill/invoke" = "child" }', '"skill/invoke" = "tool" }'),
        'consensus.permits."skill/invoke"',
    ),
    (
        "honest-members-lose",
        ('"nearest_of_middle"', '"mean_of_middle"'),
        "consensus.risk_median",
    ),
    (
        "honest-members-lose",
        (RISK, "near = 0, far = 0, middle = 0.5"),
        "consensus.components.risk_agreement",
    ),
    (
        "divergence-unseen",
        (DIVERGING, "verdict_below = 0, recall_below = 0"),
        "consensus.signals.diverging",
    ),
    (
        "honest-diverge",
        ("lines = 5, missing", "lines = 0, missing"),
        "consensus.finding_lines.lines",
    ),
    (
        "breakdown-moved",
        ("breakdown = { share = 0.5,", "breakdown = { share = 1,"),
        "consensus.signals.breakdown",
    ),
]


@pytest.mark.parametrize(("code", "change", "path"), OTHERS)
def test_what_members_lose_and_who_diverges_is_told(code: str, change: Change, path: str) -> None:
    assert [found.path for found in compared(SKILLS, [code], change)] == [path]


def test_primaries_that_agree_on_false_findings_look_honest_without_their_share() -> None:
    changes = (("findings = 0.5    ", "findings = 0    "), ("verdict = 0.2   ", "verdict = 0.7   "))
    (found,) = compared(SKILLS, ["collusion-looks-honest"], *changes)
    # the share of the findings, and the half of it that is left where two of five are alike
    assert found.evidence["parts"] == {"findings": {"old": "0.500000000", "new": "0.000000000"}}


def test_a_consensus_that_is_gone_is_an_error() -> None:
    minimum = ("minimum_valid = 3", "minimum_valid = 6"), ("submissions = 3", "submissions = 6")
    (found,) = compared(SKILLS, ["consensus-gone"], *minimum)
    assert (found.path, found.severity) == ("consensus.minimum_valid", "error")
    compare = CHECKS["consensus-gone"].compare
    assert compare is not None
    assert [each.path for each in compare(loaded(SKILLS), loaded("workflow@1.2.0"))] == [()]
    assert [*compare(loaded("workflow@1.2.0"), loaded(SKILLS))] == []


def test_every_comparison_is_tried() -> None:
    tried = {code for code, *_ in (*FOUND, *OTHERS)}
    assert {*COMPARED} == tried | {"collusion-looks-honest", "consensus-gone"}


SMALL: list[tuple[Change, ...]] = [
    ((VERDICT, "one_step = 0.7, two_steps = 0"),),
    ((VERDICT, "one_step = 0.5, two_steps = 0"),),
    (("lines = 5, missing", "lines = 10, missing"),),
    (("lines = 5, missing", "lines = 4, missing"),),
    ((QUORUM, QUORUM.replace("0.6", "0.7")),),
    (("outliers_below = 0.5 ", "outliers_below = 0.4 "),),
    ((WEIGHT, "risk_agreement = 0.07"), ("policy_agreement = 0.05", "policy_agreement = 0.08")),
    ((RISK, "near = 0.20, far = 0.35, middle = 0.5"),),
    ((RISK, "near = 0.15, far = 0.30, middle = 0.4"),),
    ((DIVERGING, "verdict_below = 0.6, recall_below = 0.45"),),
    (("precision_factor = 2 ", "precision_factor = 2.5 "),),
    (("unconfirmed = 0.5, outlier = 0.05", "unconfirmed = 0.4, outlier = 0.1"),),
]


@pytest.mark.parametrize("changes", SMALL)
def test_a_small_change_is_not_told(changes: tuple[Change, ...]) -> None:
    assert compared(SKILLS, COMPARED, *changes) == []


def test_a_deviation_that_pays_more_than_honesty_is_an_error() -> None:
    (found,) = compared(
        SKILLS, ["deviation-costs-less"], ("lines = 5, missing", "lines = 0, missing")
    )
    assert found.severity == "error"
    assert Fraction(found.evidence["deviations"]["no findings"]["new"]) < 0


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        ((VERDICT, "one_step = 0.6, two_steps = 0.6"), "verdict-distance-pays", False),
        ((VERDICT, "one_step = 0.6, two_steps = 0.61"), "verdict-distance-pays", True),
        (("lines = 5, missing", "lines = 99, missing"), "finding-lines-wide", False),
        (("lines = 5, missing", "lines = 100, missing"), "finding-lines-wide", True),
        ((QUORUM, QUORUM.replace("0.6", "0.51")), "one-other-decides", False),
        ((QUORUM, QUORUM.replace("0.6", "0.5")), "one-other-decides", True),
    ],
)
def test_a_consensus_is_told_of_by_itself(change: Change, code: str, told: bool) -> None:
    assert bool(found_by(shipped(SKILLS, change), code)) is told
