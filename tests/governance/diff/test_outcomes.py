"""A change names what it can move: every value that decides a result is followed to one."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from examples import fast_rows
from governance.diff.soundness import RULE_SETS, other_values, scorer
from governance.revision import Value, bound, shipped, with_values

import tallystick
from tallystick.errors import TallystickError
from tallystick.rules.settable import settable_paths
from tallystick.scoring.scorer import Scorer
from tallystick_governance.diff.difference import RuleSetDifference, difference
from tallystick_governance.diff.outcome import Direction, Outcome
from tallystick_governance.diff.policy import can_change_a_result, without_result
from tallystick_governance.ranges import Interval

OFF = {"groups.rotation.auditor_rounds", "groups.recovery.auditor_slot"}
"""Values of a switch that is off in skills@1.0.0, so that nothing follows from them."""
PROVED = ("axes.", "skill_types.", "emission.", "tiers.")
"""Sections of which every value is compared: its bounds are 0 or it moves."""


def candidate(reference: str, *pairs: tuple[str, Value]) -> Scorer:
    return bound(with_values(shipped(reference), pairs))


def changed(reference: str, *pairs: tuple[str, Value]) -> RuleSetDifference:
    return difference(scorer(reference), candidate(reference, *pairs))


@pytest.mark.parametrize("reference", RULE_SETS)
@pytest.mark.nightly
def test_every_value_that_decides_a_result_moves_one(reference: str) -> None:
    old, choices = scorer(reference), Random(1)
    documentation = without_result(old)
    compared = 0
    for place in settable_paths(old.loaded, old.registry):
        if not can_change_a_result(place.path, documentation) or place.path in OFF:
            continue
        if place.path.startswith((*PROVED, "rule_set.")):
            continue
        for value in other_values(place, choices):
            with suppress(TallystickError):  # a value that does not go with the others
                new = candidate(reference, (place.path, value))
                found = difference(old, new)
                if found.changes:
                    assert found.moving, (place.path, value)
                    named = {
                        path for o in found.moving for cause in o.causes for path in cause.paths
                    }
                    assert {change.path for change in found.changes} <= named, place.path
                    compared += 1
                    break
    assert compared > (5 if reference.startswith("workflow") else 60)


# results beside those of `PAID` or `SELECTED` that each mistake moves; "nothing" of it is a miss
PAID = {"emission", "round scores", "weights"}
SELECTED = {"groups", "round scores", "weights", "views"}
AFTER_SCORES = {"scores", "thresholds", *PAID}
AFTER_CONSENSUS = {"consensus", "reruns", "reputation", "emission", *SELECTED}
PYTHON = "skill_types.executable_python"
SCORE = "allocation.steps[score]"
DETECTION = "reputation.collusion.detection.minimum_samples"
AGREEMENT = "consensus.components.verdict_agreement"
MISTAKES: list[tuple[str, dict[str, Value], set[str]]] = [
    ("skills", {f"{PYTHON}.gates[0].below": Decimal(1)}, AFTER_SCORES),
    (
        "skills",
        {
            "tiers.thresholds.novel.factor": Decimal(3),
            "tiers.thresholds.novel.headroom": Decimal(1),
        },
        {"thresholds", *PAID},
    ),
    ("skills", {"reputation.initial": Decimal(1)}, {"reputation", *SELECTED}),
    (
        "skills",
        {"reputation.collusion.eject_at": Decimal(1), "reputation.collusion.quorum": Decimal(1)},
        SELECTED,
    ),
    ("skills", {DETECTION: Decimal(31)}, {"flags", "reputation", *SELECTED}),
    ("skills", {"groups.ties": "hotkey"}, SELECTED),
    (
        "skills",
        {f"{AGREEMENT}.one_step": Decimal(0), f"{AGREEMENT}.two_steps": Decimal(1)},
        AFTER_CONSENSUS,
    ),
    (
        "skills",
        {"consensus.minimum_valid": Decimal(4), "groups.consensus.minimum_submissions": Decimal(4)},
        {*AFTER_CONSENSUS, "flags"},
    ),
    ("skills", {f"{SCORE}.missed": "left_out"}, {"round scores", "weights"}),
    ("skills", {"allocation.steps[average].new": Decimal(1)}, {"weights"}),
    ("workflow", {"allocation.steps[mean].last": Decimal(1)}, {"round scores", "weights"}),
    ("skills", {"reputation.visibility.window_hours": Decimal(1)}, {"views"}),
]


@pytest.mark.parametrize(("line", "values", "results"), fast_rows(MISTAKES, 0, 7, -2, -1))
def test_a_mistake_moves_these_results_alone(
    line: str,
    values: dict[str, Value],
    results: set[str],
) -> None:
    found = changed(f"{line}@1.2.0", *values.items())
    assert {outcome.result for outcome in found.moving} == results


FILTER = '{ name = "fit", do = "filter", of = "average", above = 10 },\n  { name = "part", '
WARM = """{ name = "done", do = "collect", value = "quality", as = "count", last = 20, empty = 0 },
  { name = "warm", do = "formula", formula = "allocation/warm-up@1", tasks = 100000 },
  { name = "part", """
ADDED = [
    ("skills@1.2.0", FILTER, 'of = "average" }', 'of = "fit" }'),
    ("workflow@1.2.0", WARM, 'of = "mean", zero', 'of = "warm", zero'),
]


@pytest.mark.parametrize(("reference", "steps", "reads", "instead"), ADDED)
def test_a_step_that_is_added_moves_weights(
    tmp_path: Path, reference: str, steps: str, reads: str, instead: str
) -> None:
    text = shipped(reference)
    if "warm" in steps:  # a formula reads its inputs by their names
        text = text.replace('name = "mean", do', 'name = "raw", do').replace(
            '  { name = "part", ',
            '  { name = "mean", do = "filter", of = "raw", at_least = 0 },\n  { name = "part", ',
        )
    path = tmp_path / "candidate.toml"
    path.write_text(text.replace('{ name = "part", ', steps, 1).replace(reads, instead, 1))
    found = difference(scorer(reference), tallystick.load(str(path)))
    assert {outcome.result for outcome in found.moving} == {"round scores", "weights"}


def without_consensus() -> str:
    """Return rules without a consensus of their own: records have one that somebody else found."""
    data = shipped("skills@1.2.0")
    start, end = data.index("[consensus] "), data.index("[allocation]\n")
    silence = data.index('[[lint.silence]]\ncode = "consensus-cliff"')
    after = data.index("[[lint.silence]]", silence + 1)
    return data[:start] + data[end:silence] + data[after:]


def test_the_consensus_of_a_record_moves_reputations_also_without_its_section(
    tmp_path: Path,
) -> None:
    """The bands of events are about the factor of the record, whoever computed its components."""
    old, new = tmp_path / "old.toml", tmp_path / "new.toml"
    old.write_text(without_consensus())
    factor = "emission.factors.consensus"
    pairs = [(f"{factor}.findings_recall", Decimal("0.25"))]
    pairs += [(f"{factor}.policy_agreement", Decimal("0.1"))]
    new.write_text(with_values(old.read_text(), pairs))
    found = difference(tallystick.load(str(old)), tallystick.load(str(new)))
    moving = {outcome.result for outcome in found.moving}
    assert moving == {"consensus", "emission", "reputation", *SELECTED}


def test_the_groups_of_a_type_that_goes_have_no_consensus(tmp_path: Path) -> None:
    text = shipped("skills@1.2.0")
    start, end = (text.index(f"[skill_types.{n}]") for n in ("declarative", "executable_python"))
    path = tmp_path / "candidate.toml"
    kept = (text[:start] + text[end:]).splitlines(keepends=True)
    path.write_text("".join(line for line in kept if not line.startswith("declarative.")))
    found = by_result(difference(scorer("skills@1.2.0"), tallystick.load(str(path))))
    assert {"records", "consensus", "reruns"} <= {o.result for o in found.values() if o.causes}


# by hand: what is within two limits, and a reputation from 0.05 to 1 times the step of the factor
REPUTATIONS = [
    ("floor", "0.1", ("0", "0.05"), ("0", "0.95")),
    ("initial", "0.4", ("-0.1", "0"), ("-0.95", "0")),
    ("ceiling", "0.9", ("-0.1", "0"), ("-0.95", "0")),
    ("events.consensus_fail.multiply", "0.99", ("0.002", "0.04"), None),
    ("events.consensus_pass.add", "0.05", ("0.03", "0.03"), None),
    ("events.probe_fail.multiply", "0.5", ("-0.2", "-0.01"), None),
]


@pytest.mark.parametrize(("path", "value", "own", "whole"), fast_rows(REPUTATIONS, 2, 3))
def test_a_limit_or_an_event_moves_reputations_at_most_as_far(
    path: str, value: str, own: tuple[str, str], whole: tuple[str, str] | None
) -> None:
    """A floor that is raised leaves whoever stands above it; nothing falls by it."""
    found = by_result(changed("skills@1.2.0", (f"reputation.{path}", Decimal(value))))["reputation"]
    (cause,) = found.causes
    assert cause.bound == Interval(*map(Fraction, own))
    assert whole is None or found.bound == Interval(*map(Fraction, whole))


def by_result(found: RuleSetDifference) -> dict[str, Outcome]:
    return {outcome.result: outcome for outcome in found.outcomes}


@pytest.mark.nightly
def test_an_event_has_its_change_of_a_reputation() -> None:
    path = "reputation.events.consensus_fail.multiply"
    found = changed("skills@1.2.0", (path, Decimal("0.99")))
    reputation = by_result(found)["reputation"]
    assert reputation.direction is Direction.RISE
    (cause,) = reputation.causes
    assert (cause.note, cause.paths) == ("-0.05·rep → -0.01·rep a record", (path,))
    lowered = changed("skills@1.2.0", (path, Decimal("0.5")))
    assert by_result(lowered)["reputation"].direction is Direction.FALL


@pytest.mark.nightly
@pytest.mark.parametrize(
    "path", fast_rows(["tiers.thresholds.optimised.factor", "skill_types.mcp_server.baseline"], 0)
)
def test_a_threshold_that_rises_lowers_tiers_and_emissions_alone(path: str) -> None:
    for value, thresholds, emission in (
        ("1.3" if "factor" in path else "0.5", Direction.RISE, Direction.FALL),
        ("1.1" if "factor" in path else "0.4", Direction.FALL, Direction.RISE),
    ):
        found = by_result(changed("skills@1.2.0", (path, Decimal(value))))
        assert found["thresholds"].direction is thresholds
        assert found["emission"].direction is emission
        assert found["reputation"].direction is Direction.NONE


def test_a_switch_that_is_off_moves_nothing() -> None:
    assert not changed("skills@1.0.0", ("groups.rotation.auditor_rounds", Decimal(5))).moving


BOUNDS = [
    ("axes.detection.risk_slope", "0.6", "detection", ("-0.5", "0")),
    ("axes.detection.too_strict", "0.5", "detection", ("-0.1", "0")),
    pytest.param(
        *("axes.detection.too_strict", "0.3", "detection", ("0", "0.1")), marks=pytest.mark.nightly
    ),
]


@pytest.mark.parametrize(("path", "value", "axis", "ends"), BOUNDS)
def test_the_sign_of_a_constant_is_known(
    path: str,
    value: str,
    axis: str,
    ends: tuple[str, str],
) -> None:
    for effect in changed("skills@1.2.0", (path, Decimal(value))).effects:
        move = effect.axes[axis]
        assert move is not None
        nano = Fraction(1, 10**9)
        assert Fraction(ends[0]) - nano <= move.low <= Fraction(ends[0])
        assert Fraction(ends[1]) <= move.high <= Fraction(ends[1]) + nano


@pytest.mark.nightly
def test_beta_has_an_end_of_either_sign_near_the_largest_difference() -> None:
    def score(beta: Fraction, precision: Fraction, recall: Fraction) -> Fraction:
        return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)

    steps = [Fraction(n, 60) for n in range(1, 61)]
    old, new = Fraction("0.5"), Fraction("0.7")
    moves = [score(new, p, r) - score(old, p, r) for p in steps for r in steps]
    move = changed("skills@1.2.0", ("axes.policy.beta", Decimal("0.7"))).effects[0].axes["policy"]
    assert move is not None
    assert move.low <= min(moves)
    assert move.high >= max(moves)
    assert move.high - move.low < 2 * (max(moves) - min(moves))
