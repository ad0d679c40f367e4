"""Tallies: the running sums and counts of one candidate over the records of one skill type.

Tallies of parts of a history add up to that of the whole, in any order. Sums are exact whatever
their size: values are summed in two halves, and halves are added where they cannot overflow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.formula.columns import Column
from tallystick.numbers.nano import NANO
from tallystick.scoring.planner import ScoreColumns, Small
from tallystick_governance.backtest.comparison_model import Comparison, Counts, Total, TypeOutcome

_HALF = 32
_MASK = (1 << _HALF) - 1
_SAFE = 1 << 62
_ANY = 1 << 63


@attrs.frozen(eq=False)
class MinerGroups:
    """Rows that are sorted by miner, and where the rows of each begin.

    Attributes:
        miners: the positions of the miners that have rows, ascending.
        starts: the first row of each.
        sizes: how many rows each has.
        rows: how many rows there are.
    """

    miners: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]
    sizes: Column
    rows: int


def miner_groups(miners: npt.NDArray[np.intp]) -> MinerGroups:
    """The groups of sorted rows, by the position of the miner of each."""
    first = np.ones(len(miners), np.bool_)
    np.not_equal(miners[1:], miners[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    sizes = np.diff(starts, append=len(miners))
    return MinerGroups(miners[starts], starts, sizes, len(miners))


class Sums:
    """A whole number for each miner, of any size, in two halves of 64 bits.

    `reserve` makes room for miners before anything is added of them.

    Invariants:

    - what a miner has is ``_low`` plus ``_high`` times 2³²;
    - no ``_low`` is larger than ``_largest``, either way, which stays below 2⁶³.
    """

    def __init__(self, most: int = _ANY) -> None:
        """Begin with 0 for everyone; no value that is added is larger than ``most``, either way."""
        self._most, self._largest = most, 0
        self._low, self._high = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def reserve(self, miners: int) -> None:
        """Make room for so many miners."""
        missing = miners - len(self._low)
        if missing > 0:
            room = np.zeros(missing, np.int64)
            self._low = np.concatenate([self._low, room])
            self._high = np.concatenate([self._high, room])

    def add(self, values: Column, groups: MinerGroups) -> None:
        """Add the sum of the rows of each miner."""
        largest = self._most * groups.rows
        if largest < _SAFE:
            self._put(groups.miners, np.add.reduceat(values, groups.starts), largest)
            return
        low = np.add.reduceat(values & _MASK, groups.starts)
        self._put(groups.miners, low & _MASK, _MASK)
        self._high[groups.miners] += np.add.reduceat(values >> _HALF, groups.starts)
        self._high[groups.miners] += low >> _HALF

    def count(self, groups: MinerGroups) -> None:
        """Add the number of rows of each miner."""
        self._put(groups.miners, groups.sizes, groups.rows)

    def merge(self, other: Sums, places: npt.NDArray[np.intp]) -> None:
        """Add another's, whose miners have other positions here."""
        there = places[: len(other._low)]
        self._put(there, other._low, other._largest)
        if other._high.any():
            self._high[there] += other._high

    def totals(self, order: Sequence[int]) -> Counts:
        """The whole numbers of some miners; 0 for whoever has no rows."""
        low, high = self._low.tolist(), self._high.tolist()
        known = len(low)
        return tuple((high[m] << _HALF) + low[m] if m < known else 0 for m in order)

    def _put(self, miners: npt.NDArray[np.intp], low: Column, largest: int) -> None:
        """Add numbers up to a largest to the lower halves; each miner is there once."""
        if self._largest + largest >= _SAFE:
            self._high += self._low >> _HALF
            self._low &= _MASK
            self._largest = _MASK
        self._low[miners] += low
        self._largest += largest


@attrs.define(eq=False)
class Tally:
    """Running sums and counts.

    Attributes:
        most: the largest emission, either way, in nano; None without an emission.
        tiers: the tiers of the baseline and of the candidate; None where either has none.
        has_quality: whether records have a quality.
        records: by miner, how many records are scored.
        quality: by miner, in nano.
        emission: by miner, in nano.
        measures: by measure, of how many records it applies to, and their sum in nano.
        missed: records without a submission.
        rejected: by code.
        compared: records that the baseline scores, too.
        migration: by baseline tier and candidate tier.
        tier_flips: records whose tier flips.
        gate_flips: records whose gate flips.
        flips: records with either.
    """

    most: int | None
    tiers: tuple[tuple[str, ...], tuple[str, ...]] | None
    has_quality: bool = True
    records: Sums = attrs.field(factory=Sums)
    quality: Sums = attrs.field(factory=lambda: Sums(NANO))
    emission: Sums = attrs.field(init=False)
    measures: dict[str, Total] = attrs.field(factory=dict)
    missed: int = 0
    rejected: Counter[str] = attrs.field(factory=Counter)
    compared: int = 0
    migration: Column = attrs.field(init=False)
    tier_flips: int = 0
    gate_flips: int = 0
    flips: int = 0

    @emission.default
    def _no_emission(self) -> Sums:
        return Sums(self.most or 0)

    @migration.default
    def _no_migration(self) -> Column:
        before, after = map(len, self.tiers) if self.tiers is not None else (0, 0)
        return np.zeros((before, after), np.int64)

    def reserve(self, miners: int) -> None:
        """Make room for so many miners."""
        for sums in (self.records, self.quality, self.emission):
            sums.reserve(miners)

    def empty(self) -> Tally:
        """One of the same kind with nothing counted."""
        return Tally(self.most, self.tiers, self.has_quality)

    def measure(self, scores: ScoreColumns) -> None:
        """Add the measures of some rows."""
        for value in scores.bound.measures:
            column, given = scores.columns[value], scores.given.get(value)
            found = column if given is None else column[given]
            # a sum of 64-bit numbers may need more bits; of halves of them it does not
            total = (int((found >> _HALF).sum()) << _HALF) + int((found & _MASK).sum())
            self._add(value.name, (len(found), total))

    def _add(self, name: str, more: Total) -> None:
        records, total = self.measures.get(name, (0, 0))
        self.measures[name] = records + more[0], total + more[1]

    def stay(self, tiers: Column) -> None:
        """Count compared records that keep their tier, so many of each."""
        self.migration.reshape(-1)[:: len(tiers) + 1] += tiers

    def migrate(self, before: Small, after: Small) -> Column:
        """Count compared records by their tiers; gives how many there are of each before."""
        width = self.migration.shape[1]
        pairs = np.bincount(before.astype(np.intp) * width + after, minlength=self.migration.size)
        moved: Column = pairs.reshape(self.migration.shape)
        self.migration += moved
        came: Column = moved.sum(axis=1)
        return came

    def merge(self, other: Tally, places: npt.NDArray[np.intp]) -> None:
        """Add the tally of another part of the history, whose miners have other positions."""
        self.records.merge(other.records, places)
        self.quality.merge(other.quality, places)
        self.emission.merge(other.emission, places)
        self.rejected.update(other.rejected)
        self.migration += other.migration
        for name, more in other.measures.items():
            self._add(name, more)
        for name in ("missed", "compared", "tier_flips", "gate_flips", "flips"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def outcome(self, skill_type: str, order: Sequence[int]) -> TypeOutcome:
        """What it came to, the miners in the given order of their positions."""
        before, after = self.tiers if self.tiers is not None else (None, None)
        migration = tuple(map(tuple, self.migration.tolist())) if self.tiers is not None else None
        return TypeOutcome(
            skill_type=skill_type,
            records=self.records.totals(order),
            quality=self.quality.totals(order) if self.has_quality else None,
            emission=self.emission.totals(order) if self.most is not None else None,
            missed=self.missed,
            rejected=dict(sorted(self.rejected.items())),
            measures=dict(sorted(self.measures.items())),
            comparison=Comparison(
                compared=self.compared,
                tiers=before,
                candidate_tiers=after,
                migration=migration,
                tier_flips=self.tier_flips,
                gate_flips=self.gate_flips,
                flips=self.flips,
            ),
        )
