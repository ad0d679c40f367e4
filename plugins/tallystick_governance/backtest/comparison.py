"""One candidate against the baseline: everything that a report or a file says about it.

Beside amounts and tiers that is how far the records that flip are from their cliff, the threshold
that they crossed. A flip far from it is what the change is about; one at a distance of a few 1e-9
is an accident of rounding or of noise, and many of those mean that the threshold lies where the
records are dense. The flips themselves go to a file; what is kept of them here does not grow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import attrs
import numpy as np
import pyarrow as pa

from tallystick.numbers.nano import NANO, round_half_even
from tallystick_governance.backtest.candidates import Identity
from tallystick_governance.backtest.distribution import Distribution, distribution
from tallystick_governance.backtest.incentive import Incentives
from tallystick_governance.backtest.outcome import (
    EMISSION,
    NOTHING,
    QUALITY,
    CandidateOutcome,
    FlipCounts,
    FlipRows,
    MinerTotals,
    Outcome,
    ThresholdRange,
    TypeOutcome,
)
from tallystick_governance.backtest.statistics import Uncertainty
from tallystick_governance.backtest.weights import WeightComparison

EDGES = (NANO // 1_000_000, NANO // 1000, NANO // 100, NANO // 10)
"""The distances up to which flips are counted, in nano; what is farther counts in none."""


@attrs.frozen
class Distances:
    """Distances of flips of one kind to their cliff, in nano.

    Attributes:
        known: flips with a distance.
        rose: those above the cliff, or on it, under the candidate.
        within: how many are at most as far as each of `EDGES`.
        nearest: the smallest distance; None without any.
        total: the sum of all distances.
    """

    known: int = 0
    rose: int = 0
    within: tuple[int, ...] = (0,) * len(EDGES)
    nearest: int | None = None
    total: int = 0

    @classmethod
    def of(cls, column: pa.Array) -> Distances:
        """Count a column of signed distances, null where there is none."""
        if column.null_count == len(column):
            return cls()
        signed = column.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)
        magnitudes = np.abs(signed)
        return cls(
            known=len(signed),
            rose=int((signed >= 0).sum()),
            within=tuple(int((magnitudes <= edge).sum()) for edge in EDGES),
            nearest=int(magnitudes.min()),
            total=int(magnitudes.sum()),
        )

    @property
    def fell(self) -> int:
        """The number of flips below the cliff under the candidate."""
        return self.known - self.rose

    @property
    def mean(self) -> int | None:
        """The mean distance, rounded once; None without any."""
        return round_half_even(self.total, self.known) if self.known else None

    def __add__(self, other: Distances) -> Distances:
        nearest = [side.nearest for side in (self, other) if side.nearest is not None]
        return Distances(
            self.known + other.known,
            self.rose + other.rose,
            tuple(a + b for a, b in zip(self.within, other.within, strict=True)),
            min(nearest, default=None),
            self.total + other.total,
        )


@attrs.frozen
class FlipDistances:
    """The distances of the flips of one candidate and skill type.

    Attributes:
        tier: of records whose tier flips.
        gate: of records whose gate flips.
        emission: Σ candidate − baseline emission of the flipped records, in nano.
    """

    tier: Distances = Distances()
    gate: Distances = Distances()
    emission: int = 0

    @classmethod
    def of(cls, rows: FlipRows) -> FlipDistances:
        """Count some flips."""
        before, after = (
            0 if column is None else int(column.sum())
            for column in (rows.baseline_emission, rows.candidate_emission)
        )
        return cls(
            Distances.of(rows.tier_distance), Distances.of(rows.gate_distance), after - before
        )

    def __add__(self, other: FlipDistances) -> FlipDistances:
        return FlipDistances(
            self.tier + other.tier, self.gate + other.gate, self.emission + other.emission
        )


@attrs.frozen
class MeasureComparison:
    """One measure of a type under the baseline and under a candidate.

    Attributes:
        records_before: of how many records the baseline has it.
        records_after: the same under the candidate.
        mean_before: the mean over these under the baseline in nano, published; None of none.
        mean_after: the same under the candidate.
    """

    records_before: int
    records_after: int
    mean_before: int | None
    mean_after: int | None


@attrs.frozen
class TypeComparison:
    """One skill type under the baseline and under a candidate.

    Attributes:
        before: under the baseline; None where it lacks the type, or records of it.
        after: the same under the candidate.
        distribution: among the miners with a scored record of the type under either rule set; by
            emission, or by quality where one of the two has no emission for the type.
        distances: of the flips to their cliffs.
    """

    before: TypeOutcome | None
    after: TypeOutcome | None
    distribution: Distribution
    distances: FlipDistances

    @property
    def compared(self) -> TypeOutcome | None:
        """The outcome that has the tiers and flips of both; None when one lacks the type."""
        return None if self.before is None else self.after

    @property
    def measures(self) -> Mapping[str, MeasureComparison]:
        """The measures that either rule set has of the type, by name."""
        sides = [side for side in (self.before, self.after) if side is not None]
        names = {name for side in sides for name in side.measures}
        return {name: self._measure(name) for name in sorted(names)}

    def _measure(self, name: str) -> MeasureComparison:
        records, means = [], list[int | None]()
        for side in (self.before, self.after):
            records.append(0 if side is None else side.applying[name])
            mean = None
            if side is not None and side.applying[name]:
                mean = round_half_even(side.measures[name], side.applying[name])
            means.append(mean)
        return MeasureComparison(*records, *means)


@attrs.frozen
class ThresholdComparison:
    """One threshold of a skill type.

    Attributes:
        skill_type: the type.
        name: of the threshold.
        before: under the baseline; None where it has none of that name.
        after: the same under the candidate.
    """

    skill_type: str
    name: str
    before: ThresholdRange | None
    after: ThresholdRange | None

    @property
    def change(self) -> int | None:
        """The change of the last value, in nano; None where one of the two has none."""
        if self.before is None or self.after is None:
            return None
        return self.after.last - self.before.last


@attrs.frozen
class CandidateComparison:
    """One candidate beside the baseline.

    With a replay everything is by the thresholds that it leads to, without one by the seeds.

    Attributes:
        position: of the candidate, from 1; 0 compares the baseline with itself.
        before: the outcome of the baseline.
        after: the outcome of the candidate.
        overall: among all miners of the history, over all types; by emission, or by quality when
            no type has an emission.
        types: by skill type, those of either rule set.
        round_scores: the sums of round scores; None without a replay, or where one has none.
        new_network: as `overall`, by the seeds; None without a replay, as `overall` is that.
        uncertainty: of what it changes; None when it is not known.
        incentives: what it does to a network, by who adopts it; None without one.
        weight: the weights of the epochs; None where they were not computed.
    """

    position: int
    before: CandidateOutcome = attrs.field(repr=False)
    after: CandidateOutcome = attrs.field(repr=False)
    overall: Distribution
    types: Mapping[str, TypeComparison]
    round_scores: Distribution | None = None
    new_network: Distribution | None = None
    uncertainty: Uncertainty | None = None
    incentives: Incentives | None = None
    weight: WeightComparison | None = None

    @property
    def identity(self) -> Identity:
        """The names of the candidate."""
        return self.after.identity

    @property
    def headline(self) -> Distribution:
        """The distribution of all weight; where it is not known, that of `overall`."""
        known = None if self.weight is None else self.weight.distribution
        return self.overall if known is None else known

    @property
    def flips(self) -> FlipCounts:
        """The records that both rule sets score, and those that flip."""
        types = (of_type.compared for of_type in self.types.values())
        return sum((outcome.flips for outcome in types if outcome), FlipCounts())

    @property
    def distances(self) -> FlipDistances:
        """The distances of all flips."""
        return sum((by_type.distances for by_type in self.types.values()), FlipDistances())

    @property
    def thresholds(self) -> Iterator[ThresholdComparison]:
        """Those of the compared types, under both."""
        before, after = self.before.thresholds, self.after.thresholds
        for skill_type in dict.fromkeys([*before, *after]):
            old, new = (side.get(skill_type, {}) for side in (before, after))
            for name in dict.fromkeys([*old, *new]):
                yield ThresholdComparison(skill_type, name, old.get(name), new.get(name))


BEST_BY: Mapping[str, Callable[[CandidateComparison], int | None]] = {
    "share-moved": lambda each: each.headline.moved,
    "tau-b": lambda each: None if each.overall.tau is None else -each.overall.tau,
    "gini": lambda each: each.overall.concentration_after.gini,
    "hhi": lambda each: each.overall.concentration_after.hhi,
    "flips": lambda each: each.flips.records,
}
"""Costs by which candidates are ordered: less is better; None is worst."""


def ranked(comparisons: Iterable[CandidateComparison], best_by: str) -> list[CandidateComparison]:
    """Sort candidates by one of `BEST_BY`, the best first; by position among equals."""
    cost = BEST_BY[best_by]

    def key(candidate: CandidateComparison) -> tuple[bool, int, int]:
        value = cost(candidate)
        return value is None, value or 0, candidate.position

    return sorted(comparisons, key=key)


def compare(
    outcome: Outcome, position: int, distances: Mapping[tuple[int, str], FlipDistances]
) -> CandidateComparison:
    """Compare the candidate at a position of the outcome with its baseline.

    Args:
        outcome: of the back-test.
        position: of the candidate.
        distances: of the flips, by the position of the candidate and skill type.
    """
    miners, before, after = outcome.miners, outcome.baseline, outcome.candidates[position]
    round_scores = new_network = None
    if before.state is not None and after.state is not None:
        old, new = before.state.round_scores, after.state.round_scores
        if old is not None and new is not None:
            scores = (tuple(s.get(miner.hotkey, 0) for miner in miners) for s in (old, new))
            round_scores = distribution("round_score", miners, *scores)
    if before.seeded is not None and after.seeded is not None:
        new_network = _overall(miners, before.seeded, after.seeded)
    return CandidateComparison(
        position,
        before,
        after,
        _overall(miners, before.types, after.types),
        {
            name: _compare_type(
                miners,
                before.types.get(name),
                after.types.get(name),
                distances.get((position, name), FlipDistances()),
            )
            for name in dict.fromkeys([*before.types, *after.types])
        },
        round_scores,
        new_network,
    )


_MEASURES = (EMISSION, QUALITY)
"""Amounts by which miners are compared, the first that there is."""


def _overall(
    miners: Sequence[MinerTotals],
    before: Mapping[str, TypeOutcome],
    after: Mapping[str, TypeOutcome],
) -> Distribution:
    """Compare all types; those without an emission take part only when no type has one."""
    every = [*before.values(), *after.values()]
    measures = (m for m in _MEASURES if any(of_type.sums(m) is not None for of_type in every))
    return _distribution(miners, next(measures, NOTHING), before.values(), after.values())


def _compare_type(
    miners: Sequence[MinerTotals],
    before: TypeOutcome | None,
    after: TypeOutcome | None,
    distances: FlipDistances,
) -> TypeComparison:
    """Compare one type: by emission, or else by quality, that every rule set has that has it."""
    sides = [[] if side is None else [side] for side in (before, after)]
    having = [of_type for side in sides for of_type in side]
    measures = (m for m in _MEASURES if all(of_type.sums(m) is not None for of_type in having))
    members = [m for m in miners if any(of_type.records[m.hotkey] for of_type in having)]
    found = _distribution(members, next(measures, NOTHING), *sides)
    return TypeComparison(before, after, found, distances)


def _distribution(
    miners: Sequence[MinerTotals],
    measure: str,
    before: Iterable[TypeOutcome],
    after: Iterable[TypeOutcome],
) -> Distribution:
    """Compare what some miners have in all of some types under both rule sets."""
    sides = []
    for types in (before, after):
        sums = Counter[str]()
        for of_type in types:
            sums.update(of_type.sums(measure) or {})
        sides.append(tuple(sums[miner.hotkey] for miner in miners))
    return distribution(measure, miners, *sides)
