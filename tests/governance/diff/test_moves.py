"""The bounds of a change hold for random changes, on random records and on random fractions."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from given import composite_of, emission_of, tier_of
from governance.revision import shipped, with_values

import tallystick
from tallystick.errors import TallystickError
from tallystick.scoring.scorer import Scorer
from tallystick_conformance.testing.history import history_of
from tallystick_governance.diff.difference import difference
from tallystick_governance.diff.effect import Effect
from tallystick_governance.ranges import Interval

NANO = 10**9
ROUNDINGS = Fraction(10, NANO)
"""More than the roundings of what an emission multiplies come to."""
SKILLS = {
    "axes.detection.too_strict": (0, 1),
    "axes.policy.beta": (0, 3),
    "axes.evidence.weight": (0, 1),
    "skill_types.rag_knowledge.weights.policy": (0, 1),
    "skill_types.rag_knowledge.gates[0].below": (0, 1),
    "skill_types.declarative.gates[0].below": (0, 1),
    "skill_types.declarative.gates[0].composite": (0, 1),
    "skill_types.mcp_server.base_weight": (0, 3),
    "skill_types.mcp_server.baseline": (0, 1),
    "tiers.thresholds.optimised.factor": (1, 2),
    "tiers.levels[0].multiplier": (0, 1),
    "tiers.levels[2].multiplier": (1, 2),
    "tiers.levels[3].multiplier": (0, 3),
    "emission.factors.early_bonus.early_bonus": (1, 2),
    "emission.factors.role_multiplier.auditor": (0, 1),
    "emission.factors.bootstrap_bonus.added_weight": (0, 1),
}
WORKFLOW = {
    "axes.cost.gate": (0, 1),
    "axes.success.weight": (0, 1),
    "axes.reliability.timeout": (0, 1),
    "skill_types.workflow.weights.latency": (0, 1),
    "skill_types.workflow.gates[0].below": (0, 1),
}
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 6))]
RULE_SETS = {"skills@1.1.0": SKILLS, "workflow@1.1.0": WORKFLOW}


@cache
def baseline(reference: str) -> Scorer:
    return tallystick.load(reference)


@cache
def records(reference: str) -> tuple[bytes, ...]:
    scorer = baseline(reference)
    types = [scorer.registry.skill_types[name] for name in scorer.types]
    made = history_of(3, types, miners=12, validators=1, epochs=40, rounds=80)
    lines = list(made.lines(1200))
    found = [line for line in lines[:: max(1, len(lines) // 60)] if b"missed_deadline" not in line]
    assert len(found) >= 30
    return tuple(found)


def candidate(reference: str, folder: Path, choices: random.Random) -> Scorer:
    """A rule set with one to three of its numbers changed."""
    paths = RULE_SETS[reference]
    while True:
        values = [
            (path, Decimal(choices.randint(1000 * paths[path][0], 1000 * paths[path][1])) / 1000)
            for path in choices.sample(sorted(paths), choices.randint(1, 3))
        ]
        path = folder / "candidate.toml"
        with suppress(TallystickError):  # numbers that do not go together
            path.write_text(with_values(shipped(reference), values))
            return tallystick.load(str(path))


def thresholds(scorer: Scorer, choices: random.Random) -> dict[str, dict[str, Decimal]]:
    """Such thresholds as a state might have, by type; in some cases none."""
    if choices.random() < 0.3:
        return {}
    return {
        name: {
            each: Decimal(choices.randint(0, 1000)) / 1000
            for each in (*bound.tiers.tracked, *bound.tiers.formulas)
        }
        for name, bound in scorer.types.items()
        if bound.tiers is not None
    }


def holds(interval: Interval | None, old: Decimal, new: Decimal) -> bool:
    return interval is None or interval.low <= Fraction(new) - Fraction(old) <= interval.high


def is_scaled(ratio: Interval | None, old: Decimal, new: Decimal) -> bool:
    if ratio is None:
        return True
    low, high = (end * Fraction(old) for end in (ratio.low, ratio.high))
    return low - ROUNDINGS <= Fraction(new) <= high + ROUNDINGS


@pytest.mark.nightly
@pytest.mark.parametrize("seed", SEEDS)
def test_no_record_moves_further_by_the_thresholds_of_a_state(tmp_path: Path, seed: int) -> None:
    choices = random.Random(500 + seed)
    old, new = baseline("skills@1.1.0"), candidate("skills@1.1.0", tmp_path, choices)
    sides = []
    for scorer in (old, new):
        given = {}
        while not given:
            given = thresholds(scorer, choices)
        sides.append(given)
    nano = [
        {
            name: {each: int(n * NANO) for each, n in of_type.items()}
            for name, of_type in side.items()
        }
        for side in sides
    ]
    bounds = {name: (nano[0][name], nano[1][name]) for name in nano[0]}
    effects = {each.skill_type: each for each in difference(old, new, bounds, 3).effects}
    old, new = (s.with_thresholds(side) for s, side in zip((old, new), sides, strict=True))
    lines = records("skills@1.1.0")
    for first, second in zip(old.score_many(lines), new.score_many(lines), strict=True):
        if isinstance(first, tallystick.Reject) or isinstance(second, tallystick.Reject):
            continue
        effect = effects[first.skill_type]
        assert holds(effect.emission, first.emission, second.emission)
        assert is_scaled(effect.emission_ratio, first.emission, second.emission)


@pytest.mark.parametrize("reference", RULE_SETS)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_fraction_moves_further(tmp_path: Path, reference: str, seed: int) -> None:
    choices = random.Random(100 + seed)
    new = candidate(reference, tmp_path, choices)
    old = baseline(reference)
    given = thresholds(old, choices)
    for effect in difference(old, new).effects:
        name = effect.skill_type
        for axes, axes_now in fractions(effect, choices):
            before, after = composite_of(old, name, axes), composite_of(new, name, axes_now)
            assert holds(effect.quality, before, after)
            if effect.pays:
                first, second = (s.with_thresholds(given) for s in (old, new))
                paid, pays = (
                    emission_of(s, name, quality=q, tier=tier_of(s, name, q))
                    for s, q in ((first, before), (second, after))
                )
                assert holds(effect.emission, paid, pays)
                assert is_scaled(effect.emission_ratio, paid, pays)


def fractions(
    effect: Effect, choices: random.Random
) -> Iterator[tuple[dict[str, Decimal], dict[str, Decimal]]]:
    """Axes before and after, that are as far apart as the effect says they can be."""
    for _ in range(25):
        before, after = {}, {}
        for name, move in effect.axes.items():
            way = move or Interval.of(-1, 1)
            start = choices.choice((0, 1, NANO, NANO - 1, choices.randint(0, NANO)))
            low, high = (max(0, min(NANO, start + int(end * NANO))) for end in (way.low, way.high))
            before[name] = Decimal(start) / NANO
            after[name] = Decimal(choices.choice((low, high, choices.randint(low, high)))) / NANO
        yield before, after
