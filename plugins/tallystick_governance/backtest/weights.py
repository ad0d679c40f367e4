"""Weights of a back-test: the result of a candidate for each miner, epoch by epoch.

A rule set decides weights, and the chain pays by them, so the *share of weight that changes hands*
is the headline of a back-test. Of one epoch it is half the sum of the absolute changes of all
shares; of a history the mean over its epochs with records. A share is a weight over the sum of all
weights of the epoch, as the chain reads them. Where nobody has a weight, all of it is the share of
nobody: a rule set that pays nobody moves everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import attrs
import numpy as np

from tallystick.numbers.nano import NANO, round_half_even
from tallystick_governance.backtest.distribution import (
    Concentration,
    Distribution,
)
from tallystick_governance.backtest.outcome import UNKNOWN, MinerTotals, WeightOutcome, others_of
from tallystick_governance.backtest.statistics import (
    Bootstrap,
    Interval,
    draws_of,
    intervals_of,
    moved,
    shares,
    tau_b,
)

WEIGHT = "weight"
"""The measure of shares of all weight."""
NOBODY = "nobody"
"""The name of the share that no miner and no slot has."""
_MOST_STRETCHES = 256


@attrs.frozen
class WeightComparison:
    """The weights of a history under the baseline and under a candidate.

    Attributes:
        distribution: the mean share of each miner over the epochs, in nano, of slots and hotkeys
            that are no miner of the history, and of nobody; its ``moved`` is the mean over the
            epochs. None where the weights under one of the two are not known.
        epochs: those with records, ascending.
        moved: of each, the share of weight that changes hands, in nano.
        nobody: the mean share of nobody under the baseline and under the candidate, in nano.
        reasons: why nobody has a weight under each, most often; empty where somebody always has.
        unknown: why weights are not known; empty where they are.
        interval: of the share that changes hands; None of one epoch, or where nothing is drawn.
        switches: by name of a switch of either rule set, how often the history exercised it.
    """

    distribution: Distribution | None
    epochs: tuple[int, ...] = attrs.field(repr=False)
    moved: tuple[int, ...] = attrs.field(repr=False)
    nobody: tuple[int, int]
    reasons: tuple[str, str]
    unknown: str = ""
    interval: Interval | None = None
    switches: Mapping[str, int] = attrs.field(factory=dict, repr=False)

    @property
    def share_moved(self) -> int | None:
        """The mean share of weight that changes hands, in nano; None where it is not known."""
        return None if self.distribution is None else self.distribution.moved

    @property
    def shares(self) -> Mapping[str, tuple[int, int]]:
        """The mean shares before and after by hotkey, without nobody's; none where not known."""
        found = self.distribution
        if found is None:
            return {}
        rows = zip(found.miners, found.before, found.after, strict=True)
        return {miner.hotkey: (old, new) for miner, old, new in rows if miner.hotkey != NOBODY}

    @property
    def unowned(self) -> Iterator[tuple[str, int, str]]:
        """Under which of the two nobody has a share, how much of it, and why."""
        sides = zip(("baseline", "candidate"), self.nobody, self.reasons, strict=True)
        return ((which, share, reason) for which, share, reason in sides if share)

    @property
    def not_exercised(self) -> tuple[str, ...]:
        """The switches of the rule sets that the history did not exercise, in name order."""
        return tuple(sorted(name for name, count in self.switches.items() if not count))


def compare_weights(
    miners: Sequence[MinerTotals],
    before: WeightOutcome,
    after: WeightOutcome,
    bootstrap: Bootstrap | None = None,
) -> WeightComparison:
    """Compare the weights under two candidates.

    Args:
        miners: of the history.
        before: under the baseline.
        after: under the candidate, of the same history.
        bootstrap: how epochs are drawn for an interval; None for none.
    """
    switches = dict(before.switches)
    for name, count in after.switches.items():
        switches[name] = max(count, switches.get(name, 0))
    unknown = before.unknown or after.unknown
    if unknown or not before.epochs:
        reason = unknown or "the history has no record of a type of the rule sets"
        return WeightComparison(None, (), (), (0, 0), ("", ""), reason, switches=switches)
    weighed = {key for side in (before, after) for weights in side.weights for key in weights}
    everyone = (*miners, *others_of(miners, weighed))
    keys = [miner.hotkey for miner in everyone]
    sides = [_rows(side, keys) for side in (before, after)]
    by_epoch = tuple(moved(old, new) or 0 for old, new in zip(*sides, strict=True))
    many = len(by_epoch)
    old, new = (
        tuple(_mean(column) for column in zip(*map(shares, rows), strict=True)) for rows in sides
    )
    nobody = old[-1], new[-1]
    if any(nobody):
        everyone = (*everyone, MinerTotals(NOBODY, UNKNOWN))
    distribution = Distribution(
        WEIGHT,
        everyone,
        old[: len(everyone)],
        new[: len(everyone)],
        tau_b(old[:-1], new[:-1]),
        round_half_even(sum(by_epoch), many),
        Concentration.of(old[:-1]),
        Concentration.of(new[:-1]),
    )
    return WeightComparison(
        distribution,
        before.epochs,
        by_epoch,
        nobody,
        (_reason(before), _reason(after)),
        interval=None if bootstrap is None else _interval(bootstrap, by_epoch),
        switches=switches,
    )


def _rows(outcome: WeightOutcome, keys: Sequence[str]) -> list[list[int]]:
    """Return by epoch the weight of each key, and last that of nobody: 1 where no key has one."""
    return [
        [*(weights.get(key, 0) for key in keys), int(not any(weights.values()))]
        for weights in outcome.weights
    ]


def _mean(column: Sequence[int]) -> int:
    return round_half_even(sum(column), len(column))


def _reason(outcome: WeightOutcome) -> str:
    """Return the reason for which nobody has a weight, of several the most frequent."""
    reasons = Counter(reason for reason in outcome.reasons if reason).most_common()
    return reasons[0][0] if reasons else ""


def _interval(bootstrap: Bootstrap, by_epoch: Sequence[int]) -> Interval | None:
    """Return the interval of the mean over the epochs; of many, stretches are drawn."""
    many = len(by_epoch)
    stretches = min(many, _MOST_STRETCHES)
    if not bootstrap.draws or stretches < 2:
        return None
    places = np.arange(many) * stretches // many
    sums = np.zeros(stretches, np.int64)
    np.add.at(sums, places, np.array(by_epoch, np.int64))
    counts = np.bincount(places, minlength=stretches)
    draws = draws_of(bootstrap, stretches)
    means = [
        [round_half_even(total, number)]
        for total, number in zip((draws @ sums).tolist(), (draws @ counts).tolist(), strict=True)
    ]
    (interval,) = intervals_of(np.array(means, np.int64), stretches, 0)
    return attrs.evolve(interval, high=min(NANO, interval.high))
