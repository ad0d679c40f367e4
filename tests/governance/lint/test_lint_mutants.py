"""What is broken is noticed, by the code that says so; what is sound is left alone."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from examples import examples, fast_rows
from governance.lint.linted import SOUND, found_in, registry_with, report_on
from governance.revision import changed, shipped
from hypothesis import given
from hypothesis import strategies as st

from tallystick.formula.formula import Formula, Parameters
from tallystick.plugins.author import (
    UNIT,
    Node,
    axis,
    cases,
    composite,
    integer,
    number,
    published,
    threshold,
)

Change = tuple[str, str]
QUALITY = number("checks.output_quality")
GATE = "gates = [{ axis = 'success', below = 0.5, composite = 0 }]\n"
EVIDENCE = """\
[rule_set]
name = "small"
version = "1.0.0"
format = 1

[axes.evidence]
formula = "skills/evidence@1"
probe = 0.3
traces = 0.3
digest = 0.2
citations = 0.2

[axes.policy]
formula = "skills/policy@1"
beta = 0.5

[skill_types.declarative]
composite = "geometric"
weights = { evidence = 0.5, policy = 0.5 }
gates = [{ axis = "evidence", below = 0.1, composite = 0 }]
"""
TIERS = """
[tiers.thresholds.baseline]

[tiers.thresholds.upper]
formula = "skills/scaled-baseline@1"
factor = 1.5

[[tiers.levels]]
name = "low"
multiplier = 0.5

[[tiers.levels]]
name = "middle"
from = "baseline"
multiplier = 1

[[tiers.levels]]
name = "high"
from = "upper"
multiplier = 2
"""
TIERED = SOUND.replace("composite =", "baseline = 0.4\ncomposite =") + TIERS
TRACKED = """
[epochs]
blocks = 100
nominal_minutes = 20
steps = ["recompute_baselines", "recompute_thresholds", "persist"]

[epochs.baseline]
mode = "median_quality"
roles = ["primary"]
"""


def codes(text: str) -> list[str]:
    return [finding.code for finding in report_on(text).findings]


def test_a_sound_rule_set_gives_nothing() -> None:
    assert codes(SOUND) == []
    assert codes(TIERED) == []


SPARE = "\n[axes.spare]\nformula = 'workflow/success@1'\n\n[skill_types"
SPARED = SOUND.replace("\n[skill_types", SPARE).replace(
    "composite =", "axes = ['spare']\ncomposite ="
)
GATED = SOUND.replace("composite =", f"{GATE}composite =")
POINTS = "probe = 0.3\ntraces = 0.3\ndigest = 0.2\ncitations = 0.2"
CITED = "probe = 0\ntraces = 0\ndigest = 0\ncitations = {}"
HIGH = '[[tiers.levels]]\nname = "high"\nfrom = "upper"\nmultiplier = 2\n'
NO_CAP = ("share = 0.15", "share = 1 ")
OVER = ("composite = 0 }]", "composite = 0 }, { axis = 'success', below = 1, composite = 0 }]")
TWICE = ('times = ["reputation"]', 'times = ["base_weight", "reputation"]')
MUTANTS = [
    (SOUND, ("\n[skill_types", SPARE), "axis-unused"),
    (SPARED, ("success = 0.6,", "success = 0.6, spare = 0,"), "weight-zero"),
    (SOUND, ("composite =", f"{GATE}composite ="), "cliff"),
    (GATED, ("below = 0.5", "below = 0"), "gate-never-binds"),
    (GATED, OVER, "gate-never-binds"),
    (SOUND, ('"arithmetic"', '"geometric"'), "axis-zeroes-everything"),
    (SOUND, ("reliability@2", "reliability@1"), "free-points"),
    (SOUND, ("success@2", "success@9"), "does-not-load"),
    (SOUND, ("success = 0.6", "success = 0.7"), "does-not-load"),
    (EVIDENCE, (POINTS, CITED.format("0")), "axis-constant"),
    (EVIDENCE, (POINTS, CITED.format("0.05")), "gate-always-binds"),
    (TIERED, ("multiplier = 2", "multiplier = 0.9"), "tiers-out-of-order"),
    (TIERED, ("multiplier = 2", "multiplier = 1"), "tier-without-effect"),
    (TIERED, ("baseline = 0.4", "baseline = 0.7"), "tier-unreachable"),
    (TIERED, (HIGH, ""), "threshold-unused"),
    (shipped("skills@1.1.0"), TWICE, "base-weight-counted-twice"),
    (shipped("skills@1.1.0"), ("epochs = 30", "epochs = 0"), "factor-without-effect"),
    (shipped("workflow@1.1.0"), NO_CAP, "cap-never-binds"),
    (shipped("workflow@1.1.0", NO_CAP), ("share = 1 ", "share = 0.05 "), "cap-infeasible"),
]


@pytest.mark.parametrize(("text", "change", "code"), fast_rows(MUTANTS, *range(15), 17, 18))
def test_a_mutant_is_noticed(text: str, change: Change, code: str) -> None:
    assert code not in codes(text)
    assert code in codes(changed(text, change))


def test_a_tier_that_the_seed_cannot_reach_is_an_error() -> None:
    (found,) = found_in(changed(TIERED, ("baseline = 0.4", "baseline = 0.7")), "tier-unreachable")
    assert (found.severity, found.evidence["above"]) == ("error", "2/3")


@examples(25)
@given(st.integers(1_000_000_001, 10_000_000_000))
def test_a_scaled_threshold_is_out_of_reach_above_one_over_its_factor(nano: int) -> None:
    factor = Decimal(nano) / 10**9
    text = changed(
        TIERED, ("factor = 1.5", f"factor = {factor}"), ("baseline = 0.4", "baseline = 0")
    )
    (found,) = found_in(text + TRACKED, "tier-unreachable")
    first = Fraction(found.evidence["baseline"])
    assert first * Fraction(factor) > 1
    assert (first - Fraction(1, 10**9)) * Fraction(factor) < 1 + Fraction(1, 10**9)
    numerator, _, denominator = found.evidence["above"].partition("/")
    assert Fraction(numerator) / Fraction(denominator or 1) == 1 / Fraction(factor)


@examples(25)
@given(st.integers(0, 10**9))
def test_a_gate_on_points_binds_exactly_above_the_fewest_points(nano: int) -> None:
    text = changed(EVIDENCE, ("below = 0.1,", f"below = {Decimal(nano) / 10**9:f},"))
    never = Fraction(nano, 10**9) <= min(map(Fraction, ("0.3", "0.3", "0.2", "0.2")))
    assert bool(found_in(text, "gate-never-binds")) is never


def test_thresholds_that_cross_away_from_the_seed_are_told() -> None:
    @threshold("acme/steady@1", within=(0, 10), start=UNIT)
    def steady(p: Parameters) -> Node:
        return p.start + published("baseline") / 2

    text = changed(
        TIERED, ("skills/scaled-baseline@1", "acme/steady@1"), ("factor = 1.5", "start = 0.4")
    )
    (found,) = found_in(text, "tiers-out-of-order", registry_with(steady))
    assert found.severity == "note"
    assert found.evidence["baseline"] in {"0.800000001", "0.800000002", "0.800000003"}
    (tracked,) = found_in(text + TRACKED, "tiers-out-of-order", registry_with(steady))
    assert tracked.severity == "warning"


def one_axis(formula: Formula, weight: str = "0.5") -> str:
    """An axis beside a plain one, in an arithmetic composite."""
    rest = 1 - Decimal(weight)
    return changed(
        SOUND,
        ("[axes.reliability]", f"[axes.made]\nformula = '{formula.name}'\n\n[axes.reliability]"),
        ("{ success = 0.6, reliability = 0.4 }", f"{{ made = {weight}, success = {rest} }}"),
        ("composite =", "axes = ['reliability']\ncomposite ="),
    )


@axis("acme/step@1")
def step(_p: Parameters) -> Node:
    """0 up to an edge, 1 above it."""
    return cases((Decimal("0.3") >= QUALITY, 0), otherwise=1)


@axis("acme/ramp@1")
def ramp(_p: Parameters) -> Node:
    """0 up to an edge, then rising from 0."""
    return cases((Decimal("0.3") >= QUALITY, 0), otherwise=QUALITY - Decimal("0.3"))


@axis("acme/whole@1")
def whole(_p: Parameters) -> Node:
    """1 without a timeout, else 0."""
    return cases((integer("checks.timeouts") == 0, 1), otherwise=0)


def test_a_step_is_a_cliff_as_high_as_its_weight() -> None:
    (found,) = found_in(one_axis(step), "cliff", registry_with(step))
    assert (found.path, found.evidence["position"]) == ("axes.made", "0.300000000")
    assert found.evidence["values"] == {"below": "0.3", "above": "0.300000001"}
    assert Fraction(found.evidence["height"]) - Fraction(1, 2) < Fraction(1, 10**8)


@pytest.mark.parametrize(("formula", "weight"), [(step, "0.04"), (ramp, "0.5"), (whole, "0.5")])
def test_a_small_step_a_bend_and_a_whole_step_are_no_cliffs(formula: Formula, weight: str) -> None:
    assert found_in(one_axis(formula, weight), "cliff", registry_with(formula)) == []


def test_the_root_of_a_bend_in_a_geometric_mean_is_no_cliff() -> None:
    text = changed(one_axis(ramp, "0.1"), ('"arithmetic"', '"geometric"'))
    assert found_in(text, "cliff", registry_with(ramp)) == []


@axis("acme/too-large@1")
def too_large(_p: Parameters) -> Node:
    """Above 1 for two timeouts."""
    return 1 * integer("checks.timeouts")


@axis("acme/by-zero@1")
def by_zero(_p: Parameters) -> Node:
    """Without the case of an empty plan."""
    return integer("checks.steps_completed") / integer("checks.total_steps")


@composite("acme/doubled@1")
def doubled(_p: Parameters) -> Node:
    """Above 1 for a success above a half."""
    return 2 * published("success")


@pytest.mark.parametrize(
    ("formula", "code"), [(too_large, "out-of-range"), (by_zero, "division-by-zero")]
)
def test_a_proof_that_fails_is_told_where_the_formula_is_named(formula: Formula, code: str) -> None:
    (found,) = report_on(one_axis(formula), registry_with(formula)).findings
    assert (found.code, found.severity, found.path) == (code, "error", "axes.made")
    assert found.evidence["formula"] == formula.name


def test_a_composite_that_leaves_its_range_is_told() -> None:
    weights = "weights = { success = 0.6, reliability = 0.4 }"
    text = changed(
        SOUND, (weights, "axes = ['success', 'reliability']"), ('"arithmetic"', '"acme/doubled@1"')
    )
    (found,) = report_on(text, registry_with(doubled)).findings
    assert (found.code, found.path) == ("out-of-range", "skill_types.workflow.composite")


def test_thresholds_out_of_order_at_a_seed_are_told_with_their_own_code() -> None:
    text = changed(
        TIERED, ('from = "upper"', 'from = "x"'), ('from = "baseline"', 'from = "upper"')
    )
    (found,) = report_on(changed(text, ('from = "x"', 'from = "baseline"'))).findings
    assert (found.code, found.severity) == ("tiers-out-of-order", "error")


def test_the_arm_of_a_switch_that_is_off_is_no_finding() -> None:
    on = shipped("workflow@1.2.0")
    off = changed(on, ("budget_abort_enabled = 1 ", "budget_abort_enabled = 0 "))
    assert found_in(off, "arm-never-reached") == found_in(on, "arm-never-reached") == []
