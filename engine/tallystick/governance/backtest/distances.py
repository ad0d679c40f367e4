"""Distances to the cliff: how far the records whose tier or gate flips are from the threshold.

A flip far from the threshold is what the change is about; one at a distance of a few 1e-9 is an
accident of rounding or of noise, and many of those mean that the threshold lies where the records
are dense. The flips themselves go to a file; what is kept here does not grow with them.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import attrs

from tallystick.numbers.nano import NANO, round_half_even

if TYPE_CHECKING:
    import pyarrow as pa

    from tallystick.governance.backtest.comparison_model import FlipRows

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


def _distances(found: pa.Array) -> Distances:
    import numpy as np  # noqa: PLC0415  # loaded when columns are counted

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
