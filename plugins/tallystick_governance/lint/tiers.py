"""Tiers: thresholds as functions of the baseline, and multipliers along the levels.

A baseline is tried at evenly spaced places, and between two where the answer differs the nano at
which it does is found by bisection. So what is said of a baseline is true of that one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tallystick.diagnostics import Severity
from tallystick.formula.evaluate import evaluate
from tallystick.formula.text import decimal_text
from tallystick.numbers.nano import NANO, to_fraction, to_text
from tallystick.numbers.real import Exact
from tallystick.rules.findings import Finding
from tallystick.rules.model import Level
from tallystick.scoring.bound import BoundType
from tallystick.scoring.lint import check, less, more
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.tiers import Tiers
from tallystick_state.sections.epochs import EPOCHS, Epochs

_ALMOST = 50
"""Part of the highest quality within which a threshold is out of reach in practice."""
_PLACES = 256
"""Number of equal steps from a baseline of 0 to one of 1 that are tried."""


@check("tier-unreachable", "warning", less("baseline"))
def _tier_unreachable(scorer: Scorer) -> Iterator[Finding]:
    """A tier that no quality reaches, from some baseline on.

    A threshold follows the baseline of its type. Where it is above the highest composite that the
    bounds of the axes allow, nobody can reach the tier. It is an error where the seed of a type
    does that, and a warning where only a tracked baseline can; a baseline that stays at its seed is
    not asked further.

    Remedy: bound the threshold below 1, such as by a part of the way from the baseline to 1.
    """
    types = defaultdict[tuple[str, int, int, Severity], list[str]](list)
    for bound, tiers in _tiered(scorer):
        highest = bound.quality.domain.high
        for name in tiers.cuts:
            first = _first(_above(tiers, name, highest))
            if first is None:
                continue
            severity = _severity(scorer, bound, name, first, highest)
            if severity is not None:
                types[name, first, highest, severity].append(bound.name)
    every = next((tiers for _, tiers in _tiered(scorer)), None)
    for (name, first, highest, severity), names in types.items():
        if every is not None:  # where there is a finding there are tiers
            yield _unreached(every, name, first, highest, names, severity)


def _severity(
    scorer: Scorer, bound: BoundType, name: str, first: int, highest: int
) -> Severity | None:
    """Return an error where the seed already does it, a warning where the tracked baseline can."""
    if bound.seeds[name] > highest:
        return "error"
    return "warning" if _moves(scorer) and first <= highest else None


def _unreached(  # noqa: PLR0913, PLR0917  # the figures of one finding
    tiers: Tiers, name: str, first: int, highest: int, types: list[str], severity: Severity
) -> Finding:
    exact = _exact_edge(tiers, name, first, highest)
    level = tiers.levels[tiers.cuts.index(name) + 1]
    edge = f"a baseline above {exact}" if exact else f"a baseline of {to_text(first)} on"
    evidence: dict[str, Any] = {
        "level": level,
        "threshold": name,
        "skill_types": types,
        "baseline": to_text(first),
        "above": exact,
        "threshold_there": to_text(_cut(tiers, name, first)),
        "highest_quality": to_text(highest),
    }
    message = (
        f"{level} cannot be reached from {edge}: its threshold is above {to_text(highest)}, the "
        "highest quality"
    )
    return Finding(("tiers", "thresholds", name), message, evidence, severity)


@check("tier-for-the-perfect", "warning", more("threshold"))
def _tier_for_the_perfect(scorer: Scorer) -> Iterator[Finding]:
    """A tier that only a perfect record reaches.

    At the seed baseline of a type, a threshold is within a 50th of the highest quality that the
    bounds of the axes allow, and not above it. In practice nobody reaches the tier.

    Remedy: lower the factor, or leave more of the way to 1.
    """
    types = defaultdict[str, dict[str, int]](dict)
    every: Tiers | None = None
    for bound, tiers in _tiered(scorer):
        every, highest = tiers, bound.quality.domain.high
        for name in tiers.cuts:
            if highest - highest // _ALMOST <= bound.seeds[name] <= highest:
                types[name][bound.name] = bound.seeds[name]
    for name, cuts in types.items():
        if every is not None:  # where there is a finding there are tiers
            level, least = every.levels[every.cuts.index(name) + 1], min(cuts.values())
            yield Finding(
                ("tiers", "thresholds", name),
                f"{level} begins at {to_text(least)} for {', '.join(cuts)}: only a perfect record "
                "reaches it",
                {"level": level, "threshold": to_text(least), "skill_types": list(cuts)},
            )


def _exact_edge(tiers: Tiers, name: str, first: int, highest: int) -> str | None:
    """Return the exact baseline at which the threshold is the highest quality, if it is found."""
    if not first:
        return None
    # in steps of several nano, as a published threshold may hide one in its rounding
    before, after = (Fraction(first + step) for step in (-_PLACES, _PLACES))
    low, high = (_exactly(tiers, name, baseline) for baseline in (before, after))
    if low == high:
        return None
    edge = before + (to_fraction(highest) - low) * (after - before) / (high - low)
    if _exactly(tiers, name, edge) != to_fraction(highest) or not 0 <= edge <= NANO:
        return None
    return decimal_text(edge / NANO)


def _exactly(tiers: Tiers, name: str, baseline: Fraction) -> Fraction:
    """Return a threshold that nothing has rounded, at a baseline in nano."""
    thresholds: dict[str, Exact] = dict.fromkeys(tiers.tracked, baseline / NANO)
    for threshold, value in tiers.formulas.items():
        thresholds[threshold] = evaluate(value.tree, {}, thresholds)
    exact = thresholds[name]
    assert isinstance(exact, Fraction)  # noqa: S101  # thresholds are made of ratios alone
    return exact


def _disordered(scorer: Scorer) -> Iterator[Finding]:
    tiers = next((tiers for _, tiers in _tiered(scorer)), None)
    for low, high in pairwise(tiers.cuts if tiers is not None else ()):
        first = None if tiers is None else _first(_crossed(tiers, low, high))
        if tiers is None or first is None:
            continue
        values = {name: to_text(_cut(tiers, name, first)) for name in (low, high)}
        yield Finding(
            ("tiers", "thresholds", high),
            f"at a baseline of {to_text(first)} the threshold {high} is {values[high]}, below "
            f"{low}, which is {values[low]}",
            {"baseline": to_text(first), "thresholds": values},
            "warning" if _moves(scorer) else "note",
        )


def levels_of(scorer: Scorer) -> tuple[Level, ...]:
    """Return the levels of the tiers of a rule set, from the lowest on."""
    return () if scorer.rule_set.tiers is None else scorer.rule_set.tiers.levels


def _falling(scorer: Scorer) -> Iterator[Finding]:
    for index, (low, high) in enumerate(pairwise(levels_of(scorer)), 1):
        if high.multiplier < low.multiplier:
            yield Finding(
                ("tiers", "levels", index, "multiplier"),
                f"{high.name} is multiplied by {high.multiplier}, less than the "
                f"{low.multiplier} of {low.name}",
                {"level": high.name, "lower_level": low.name},
                "error",
            )


@check("tiers-out-of-order", "warning", less("baseline"))
def _tiers_out_of_order(scorer: Scorer) -> Iterator[Finding]:
    """Thresholds that cross, or a multiplier that falls with the level.

    A higher level must begin at a higher quality and be paid no less. Thresholds are compared at
    baselines from 0 to 1, not only at the seeds, whose order loading demands. A baseline that a
    state moves can come there, which is a warning; else it is a note. A multiplier that falls with
    the level is an error: better work is paid less.

    Remedy: order the levels by their thresholds and their multipliers.
    """
    yield from _disordered(scorer)
    yield from _falling(scorer)


@check("tier-without-effect", "note", of=levels_of)
def _tier_without_effect(levels: tuple[Level, ...]) -> Iterator[Finding]:
    """Two neighbouring tiers that are paid alike.

    Two levels with the same multiplier differ by their name alone.

    Remedy: join the two levels, or give the higher one a higher multiplier.
    """
    for index, (low, high) in enumerate(pairwise(levels), 1):
        if high.multiplier == low.multiplier:
            yield Finding(
                ("tiers", "levels", index, "multiplier"),
                f"{high.name} and {low.name} are both multiplied by {high.multiplier}",
                {"level": high.name, "lower_level": low.name},
            )


@check("tier-empty", "warning")
def _tier_empty(scorer: Scorer) -> Iterator[Finding]:
    """A tier that no quality falls into, as the next begins where it does.

    At the seed baseline of a type two thresholds are the same, or the first is 0. A quality has the
    highest level that it reaches, so the level between them is nobody's.

    Remedy: move the seed baseline off the end of its range, or set the thresholds apart.
    """
    types = defaultdict[int, dict[str, str]](dict)
    levels: tuple[str, ...] = ()
    for bound, tiers in _tiered(scorer):
        levels = tiers.levels
        edges = [0, *(bound.seeds[name] for name in tiers.cuts)]
        for index, (begins, ends) in enumerate(pairwise(edges)):
            if begins == ends:
                types[index][bound.name] = to_text(ends)
    for index, edge_of in sorted(types.items()):
        level, above = levels[index : index + 2]
        yield Finding(
            ("tiers", "levels", index),
            f"no quality is {level} for {', '.join(edge_of)}: {above} begins where it would, at "
            f"{', '.join(dict.fromkeys(edge_of.values()))}",
            {"level": level, "next_level": above, "begins_at": edge_of},
        )


@check("threshold-never-moves", "note", of=EPOCHS)
def _threshold_never_moves(epochs: Epochs) -> Iterator[Finding]:
    """A threshold that follows the best results, which weigh nothing.

    A tracked threshold moves by a share of what the best results of an epoch say. With a share of 0
    it only follows its own floor.

    Remedy: give `new` a share above 0, or do not track the threshold.
    """
    for name, tracking in epochs.thresholds.items():
        if not tracking.new:
            message = f"the results of an epoch never move the threshold {name}: they weigh 0"
            yield Finding(("epochs", "thresholds", name, "new"), message, {"threshold": name})


def _tiered(scorer: Scorer) -> Iterator[tuple[BoundType, Tiers]]:
    yield from ((bound, t) for bound in scorer.types.values() if (t := bound.tiers) is not None)


def _moves(scorer: Scorer) -> bool:
    """Return whether a state moves the baseline away from its seed."""
    epochs = scorer.rule_set.section(EPOCHS)
    tracking = None if epochs is None else epochs.baseline
    return tracking is not None and tracking.mode != "published"


def _cut(tiers: Tiers, name: str, baseline: int) -> int:
    return tiers.thresholds(dict.fromkeys(tiers.tracked, baseline))[name]


def _above(tiers: Tiers, name: str, highest: int) -> Callable[[int], bool]:
    return lambda baseline: _cut(tiers, name, baseline) > highest


def _crossed(tiers: Tiers, low: str, high: str) -> Callable[[int], bool]:
    return lambda baseline: _cut(tiers, high, baseline) < _cut(tiers, low, baseline)


def _first(holds: Callable[[int], bool]) -> int | None:
    """Return the first baseline that is found to do something, in nano."""
    tried = [step * NANO // _PLACES for step in range(_PLACES + 1)]
    high = next((baseline for baseline in tried if holds(baseline)), None)
    if high is None or not high:
        return high
    low = tried[tried.index(high) - 1]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
