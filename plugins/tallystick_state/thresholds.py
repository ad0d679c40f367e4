"""Tracked thresholds: the tiers of a skill type follow the results of an epoch.

See scoring.txt, Tier Assignment; reputation.txt, Epoch Boundaries, 3 and 4; E19 to E21 and E96 of
docs/errata.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from heapq import nlargest

from tallystick.numbers.nano import round_half_even
from tallystick.numbers.statistics import median
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick_state.event import StateEvent
from tallystick_state.roles import Roles
from tallystick_state.rules import StateRules
from tallystick_state.sections.epochs import ThresholdTracking


def next_baselines(
    rules: StateRules, skill_type: str, old: Thresholds, events: Iterable[StateEvent]
) -> Thresholds:
    """The baseline of a skill type after an epoch, by its name among the thresholds, in nano.

    Args:
        rules: the rules.
        skill_type: one with tiers.
        old: the thresholds that the state tracks.
        events: those of the epoch of this type that feed thresholds; what is not scored does not.

    Returns:
        The median quality of the epoch, published once, or the seed, as the rule set says; the
        old one when nothing was scored, or when nothing tracks it (E19).

    Raises:
        StateError: the rule set has no epochs.
    """
    tracking, names = rules.epochs.baseline, rules.tiers[skill_type].tracked
    if tracking is not None and tracking.mode == "published":
        return {name: rules.seeds[skill_type][name] for name in names}
    results = _qualities(events, tracking.roles) if tracking is not None else []
    if not results:
        return {name: old[name] for name in names}
    return dict.fromkeys(names, median(results))


def next_threshold(
    rules: StateRules, skill_type: str, name: str, old: Thresholds, events: Iterable[StateEvent]
) -> int:
    """A tracked threshold of a skill type after an epoch, in nano (E20, E21).

    The median of the best results, smoothed with the old threshold, published once; too few results
    keep the old one. It is at least what the threshold's own formula gives at the new baseline.

    Args:
        rules: the rules.
        skill_type: one with tiers.
        name: of a threshold that the rule set tracks.
        old: the thresholds that the state tracks, with the new baseline.
        events: those of the epoch of this type that feed thresholds; what is not scored does not.

    Raises:
        StateError: the rule set has no epochs.
    """
    tracking, tiers = rules.epochs.thresholds[name], rules.tiers[skill_type]
    best = nlargest(tracking.best, _results(tracking, events))
    enough = len(best) >= tracking.minimum
    floor = tiers.thresholds({baseline: old[baseline] for baseline in tiers.tracked})[name]
    return max(floor, _smoothed(tracking, best, old[name]) if enough else old[name])


def _smoothed(tracking: ThresholdTracking, best: Sequence[int], old: int) -> int:
    """The new share of the median, descending, and the old share of the old, in nano."""
    middle = Fraction(best[(len(best) - 1) // 2] + best[len(best) // 2], 2)
    exact = Fraction(tracking.new) * middle + Fraction(tracking.old) * old
    return round_half_even(exact.numerator, exact.denominator)


def _results(tracking: ThresholdTracking, events: Iterable[StateEvent]) -> Iterable[int]:
    """The results that count: all, or the best of each miner."""
    if not tracking.per_miner:
        return _qualities(events, tracking.roles)
    best: dict[str, int] = {}
    for event in events:
        if event.quality is not None and event.role in tracking.roles:
            best[event.hotkey] = max(event.quality, best.get(event.hotkey, event.quality))
    return best.values()


def _qualities(events: Iterable[StateEvent], roles: Roles) -> list[int]:
    return [s.quality for s in events if s.quality is not None and s.role in roles]
