"""One candidate against the baseline: everything that a report or a file says about it.

Beside amounts and tiers that is how far the records that flip are from their cliff, the threshold
that they crossed. A flip far from it is what the change is about; one at a distance of a few 1e-9
is an accident of rounding or of noise, and many of those mean that the threshold lies where the
records are dense. The flips themselves go to a file; what is kept of them here does not grow.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress

import attrs
import numpy as np
import pyarrow as pa

from tallystick.numbers.nano import NANO, round_half_even
from tallystick_governance.backtest.bootstrap import Uncertainty
from tallystick_governance.backtest.comparison_model import (
    CandidateOutcome,
    Comparison,
    Counts,
    FlipRows,
    Identity,
    Miner,
    Outcome,
    StateOutcome,
    ThresholdRange,
    Total,
    TypeOutcome,
)
from tallystick_governance.backtest.distribution import (
    EMISSION,
    NOTHING,
    QUALITY,
    Distribution,
    distribution,
    summed,
)
from tallystick_governance.backtest.incentive import Incentives
from tallystick_governance.backtest.proposal import Proposal

EDGES = (NANO // 1_000_000, NANO // 1000, NANO // 100, NANO // 10)
"""The distances up to which flips are counted, in nano; what is farther counts in none."""


@attrs.frozen
class Distances:
    """How far flips of one kind are from their cliff; distances are in nano.

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

    @property
    def fell(self) -> int:
        """Those below the cliff under the candidate."""
        return self.known - self.rose

    @property
    def mean(self) -> int | None:
        """The mean distance, rounded once; None without any."""
        return round_half_even(self.total, self.known) if self.known else None

    def __add__(self, other: Distances) -> Distances:
        nearest = [each.nearest for each in (self, other) if each.nearest is not None]
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

    def __add__(self, other: FlipDistances) -> FlipDistances:
        return FlipDistances(
            self.tier + other.tier, self.gate + other.gate, self.emission + other.emission
        )


class DistanceTally:
    """Adds up the distances of flips, part after part."""

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self._found: defaultdict[tuple[int, str], FlipDistances] = defaultdict(FlipDistances)

    def add(self, rows: FlipRows) -> None:
        """Count some flips."""
        self._found[rows.candidate, rows.skill_type] += FlipDistances(
            _distances(rows.tier_distance), _distances(rows.gate_distance), _emission(rows)
        )

    def of(self, candidate: int, skill_type: str) -> FlipDistances:
        """What was counted for a candidate, by its position, and a skill type."""
        return self._found.get((candidate, skill_type), FlipDistances())


@attrs.frozen
class MeasureComparison:
    """What a candidate changes of one measure of a type.

    Attributes:
        before: of how many records the baseline has it, and their sum in nano.
        after: the same under the candidate.
    """

    before: Total
    after: Total

    @property
    def mean_before(self) -> int | None:
        """The mean under the baseline in nano, published; None without a record."""
        return _mean(self.before)

    @property
    def mean_after(self) -> int | None:
        """The same under the candidate."""
        return _mean(self.after)


def _mean(total: Total) -> int | None:
    records, found = total
    return round_half_even(found, records) if records else None


@attrs.frozen
class TypeComparison:
    """What a candidate changes for one skill type.

    Attributes:
        skill_type: the type.
        distribution: among the miners with a scored record of the type under either rule set; by
            emission, or by quality where one of the two has no emission for the type.
        scored_before: how many records the baseline scores.
        scored_after: how many the candidate scores.
        rejected: how many records only the candidate refuses, by code.
        tiers: the records that both score, by tier; None when one of them lacks the type.
        distances: of the flips to their cliffs.
        measures: by measure that either rule set has of the type.
    """

    skill_type: str
    distribution: Distribution
    scored_before: int
    scored_after: int
    rejected: Mapping[str, int]
    tiers: Comparison | None
    distances: FlipDistances
    measures: Mapping[str, MeasureComparison]


@attrs.frozen
class StateComparison:
    """What a candidate changes when states follow from epoch to epoch.

    Attributes:
        epochs: how many epochs were closed under the candidate.
        overall: the amounts of all types under the thresholds that each state tracked.
        types: the same by skill type.
        round_scores: the sums of round scores; None where one of the two has none.
        before: the outcome of the baseline: its thresholds and reputations at the end.
        after: the same of the candidate.
    """

    epochs: int
    overall: Distribution
    types: Mapping[str, Distribution]
    round_scores: Distribution | None
    before: StateOutcome = attrs.field(repr=False)
    after: StateOutcome = attrs.field(repr=False)


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
    """What a candidate changes.

    With a replay everything is by the thresholds that it leads to, without one by the seeds.

    Attributes:
        position: of the candidate, from 1; 0 compares the baseline with itself.
        identity: which rule set it is.
        overall: among all miners of the history, over all types; by emission, or by quality when
            no type has an emission.
        types: by skill type, those of either rule set.
        state: with a replay of the epochs.
        proposal: what it says of itself, and what it changes of the baseline.
        uncertainty: of what it changes; None when it is not known.
        incentives: what it does to a network, by who adopts it; None without one.
        thresholds: those of the compared types, under both.
        new_network: as `overall`, by the seeds; None without a replay, as `overall` is that.
    """

    position: int
    identity: Identity
    overall: Distribution
    types: Mapping[str, TypeComparison]
    state: StateComparison | None
    proposal: Proposal = attrs.field(factory=Proposal)
    uncertainty: Uncertainty | None = None
    incentives: Incentives | None = None
    thresholds: tuple[ThresholdComparison, ...] = ()
    new_network: Distribution | None = None

    @property
    def compared(self) -> int:
        """How many records both rule sets score."""
        return sum(each.tiers.compared for each in self.types.values() if each.tiers)

    @property
    def tier_flips(self) -> int:
        """How many records change their tier."""
        return sum(each.tiers.tier_flips for each in self.types.values() if each.tiers)

    @property
    def gate_flips(self) -> int:
        """How many records another gate decides."""
        return sum(each.tiers.gate_flips for each in self.types.values() if each.tiers)

    @property
    def flips(self) -> int:
        """How many records flip in either way."""
        return sum(each.tiers.flips for each in self.types.values() if each.tiers)

    @property
    def distances(self) -> FlipDistances:
        """The distances of all flips."""
        return sum((each.distances for each in self.types.values()), FlipDistances())


BEST_BY: Mapping[str, Callable[[CandidateComparison], int | None]] = {
    "share-moved": lambda each: each.overall.moved,
    "tau-b": lambda each: None if each.overall.tau is None else -each.overall.tau,
    "gini": lambda each: each.overall.concentration_after.gini,
    "hhi": lambda each: each.overall.concentration_after.hhi,
    "flips": lambda each: each.flips,
}
"""By what candidates can be ordered: less is better; None is worst."""


def compare(outcome: Outcome, position: int, tally: DistanceTally) -> CandidateComparison:
    """The candidate at a position of the outcome against its baseline."""
    before, after = outcome.baseline, outcome.candidates[position]
    types = {
        name: _compare_type(outcome.miners, name, before, after, tally.of(position, name))
        for name in dict.fromkeys([*before.types, *after.types])
    }
    return CandidateComparison(
        position,
        after.identity,
        _overall(outcome.miners, before, after),
        types,
        _compare_replays(outcome.miners, before, after),
        after.proposal,
        thresholds=tuple(_compare_thresholds(before, after)),
        new_network=_compare_seeded(outcome.miners, before, after),
    )


def _compare_thresholds(
    before: CandidateOutcome, after: CandidateOutcome
) -> Iterator[ThresholdComparison]:
    for skill_type in dict.fromkeys([*before.thresholds, *after.thresholds]):
        old, new = (each.thresholds.get(skill_type, {}) for each in (before, after))
        for name in dict.fromkeys([*old, *new]):
            yield ThresholdComparison(skill_type, name, old.get(name), new.get(name))


def _compare_seeded(
    miners: Sequence[Miner], before: CandidateOutcome, after: CandidateOutcome
) -> Distribution | None:
    """Return what a candidate changes by the seed thresholds; None without a replay."""
    if before.seeded is None or after.seeded is None:
        return None
    old = attrs.evolve(before, types=before.seeded)
    return _overall(miners, old, attrs.evolve(after, types=after.seeded))


def ranked(found: Iterable[CandidateComparison], best_by: str) -> list[CandidateComparison]:
    """Candidates by one of `BEST_BY`, the best first; by position among equals."""
    cost = BEST_BY[best_by]

    def key(each: CandidateComparison) -> tuple[bool, int, int]:
        value = cost(each)
        return value is None, value or 0, each.position

    return sorted(found, key=key)


def _compare_type(
    miners: Sequence[Miner],
    name: str,
    before: CandidateOutcome,
    after: CandidateOutcome,
    distances: FlipDistances,
) -> TypeComparison:
    old, new = before.types.get(name), after.types.get(name)
    measure, members = _measure(old, new), _members(before, after, name)
    return TypeComparison(
        name,
        distribution(
            measure,
            tuple(compress(miners, members)),
            tuple(compress(_amounts(old, measure, len(miners)), members)),
            tuple(compress(_amounts(new, measure, len(miners)), members)),
        ),
        old.scored if old else 0,
        new.scored if new else 0,
        new.rejected if new else {},
        new.comparison if old and new else None,
        distances,
        _measures(old, new),
    )


def _measure(*types: TypeOutcome | None) -> str:
    """Emission, where every rule set that has the type has one for it; else quality likewise."""
    found = [each for each in types if each]
    if all(each.emission is not None for each in found):
        return EMISSION
    return QUALITY if all(each.quality is not None for each in found) else NOTHING


def _amounts(outcome: TypeOutcome | None, measure: str, many: int) -> Counts:
    by_measure = {EMISSION: outcome and outcome.emission, QUALITY: outcome and outcome.quality}
    return by_measure.get(measure) or (0,) * many


def _measures(old: TypeOutcome | None, new: TypeOutcome | None) -> dict[str, MeasureComparison]:
    """Each measure that either rule set has of a type."""
    before, after = (each.measures if each else {} for each in (old, new))
    return {
        name: MeasureComparison(before.get(name, (0, 0)), after.get(name, (0, 0)))
        for name in sorted({*before, *after})
    }


def _overall(
    miners: Sequence[Miner], before: CandidateOutcome, after: CandidateOutcome
) -> Distribution:
    """Types without an emission take part only when no type has one."""
    every = [*before.types.values(), *after.types.values()]
    measure = EMISSION if any(each.emission is not None for each in every) else QUALITY
    if measure == QUALITY and all(each.quality is None for each in every):
        measure = NOTHING
    many = len(miners)
    old = [_amounts(each, measure, many) for each in before.types.values()]
    new = [_amounts(each, measure, many) for each in after.types.values()]
    return distribution(measure, miners, summed(old, many), summed(new, many))


def _compare_replays(
    miners: Sequence[Miner], before: CandidateOutcome, after: CandidateOutcome
) -> StateComparison | None:
    """The replays of two candidates; None when one was not replayed."""
    old, new = before.state, after.state
    if old is None or new is None:
        return None
    names = dict.fromkeys([*old.quality, *new.quality])
    return StateComparison(
        new.epochs,
        _replayed_overall(miners, old, new),
        {
            name: _replayed_type(miners, name, old, new, _members(before, after, name))
            for name in names
        },
        _round_scores(miners, old, new),
        old,
        new,
    )


def _members(before: CandidateOutcome, after: CandidateOutcome, skill_type: str) -> list[bool]:
    """Which miners have a scored record of a type under one of two candidates."""
    found = [each.types[skill_type].records for each in (before, after) if skill_type in each.types]
    return [any(counts) for counts in zip(*found, strict=True)]


def _replayed_type(
    miners: Sequence[Miner],
    name: str,
    old: StateOutcome,
    new: StateOutcome,
    members: Sequence[bool],
) -> Distribution:
    """By emission, where every rule set that has the type has one for it."""
    having = [each for each in (old, new) if name in each.quality]
    measure = EMISSION if all(name in each.emission for each in having) else QUALITY
    amounts = [
        _replayed_amounts(each, measure).get(name, (0,) * len(miners)) for each in (old, new)
    ]
    before, after = (tuple(compress(each, members)) for each in amounts)
    return distribution(measure, tuple(compress(miners, members)), before, after)


def _replayed_overall(
    miners: Sequence[Miner], old: StateOutcome, new: StateOutcome
) -> Distribution:
    """Types without an emission take part only when no type has one."""
    measure = EMISSION if old.emission or new.emission else QUALITY
    if not (old.emission or new.emission or old.quality or new.quality):
        measure = NOTHING
    before, after = (
        summed(_replayed_amounts(each, measure).values(), len(miners)) for each in (old, new)
    )
    return distribution(measure, miners, before, after)


def _replayed_amounts(outcome: StateOutcome, measure: str) -> Mapping[str, Counts]:
    return outcome.emission if measure == EMISSION else outcome.quality


def _round_scores(
    miners: Sequence[Miner], old: StateOutcome, new: StateOutcome
) -> Distribution | None:
    if old.round_scores is None or new.round_scores is None:
        return None
    return distribution("round_score", miners, old.round_scores, new.round_scores)


def _distances(found: pa.Array) -> Distances:
    signed = found.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)
    if not len(signed):
        return Distances()
    far = np.abs(signed)
    return Distances(
        known=len(far),
        rose=int((signed >= 0).sum()),
        within=tuple(int((far <= edge).sum()) for edge in EDGES),
        nearest=int(far.min()),
        total=int(far.sum()),
    )


def _emission(rows: FlipRows) -> int:
    before, after = rows.baseline_emission, rows.candidate_emission
    return (int(after.sum()) if after is not None else 0) - (
        int(before.sum()) if before is not None else 0
    )
