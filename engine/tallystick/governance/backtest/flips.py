"""Flips: the records whose tier or gate differs between the baseline and a candidate.

What two sides are is worked out once for a candidate and a type (`Sides`); `compared` then takes
rows that both score, in one order.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
import pyarrow as pa

from tallystick.formula.columns import Column, Truths
from tallystick.governance.backtest.comparison_model import FlipRows
from tallystick.scoring.bound import BoundType
from tallystick.scoring.composite import Gate
from tallystick.scoring.facts.batch import FactRows
from tallystick.scoring.planner import ScoreColumns, Small
from tallystick.scoring.threshold_snapshots import Thresholds


@attrs.frozen(eq=False)
class Side:
    """The baseline or the candidate, of one type.

    Attributes:
        tiers: the names of its tiers, from the lowest; empty without.
        cuts: from where on each tier but the lowest is reached, in nano.
        gates: its gates.
    """

    tiers: tuple[str, ...]
    cuts: tuple[int, ...]
    gates: tuple[Gate, ...]

    @property
    def deciding(self) -> list[str | None]:
        """The axis of the gate that decides, by its number; None for none."""
        return [None, *(gate.axis for gate in self.gates)]


def side_of(bound: BoundType, thresholds: Thresholds) -> Side:
    """The side that a bound type is under some thresholds."""
    cuts = bound.tiers.starts(thresholds) if bound.tiers is not None else ()
    tiers = bound.tiers.levels if bound.tiers is not None else ()
    return Side(tiers, cuts, bound.quality.gates)


class Sides:
    """The baseline and one candidate, of one type."""

    def __init__(self, before: Side, after: Side) -> None:
        """Work out how the tiers and gates of the one are called in the other."""
        self.before, self.after = before, after
        self.has_tiers = bool(before.tiers and after.tiers)
        self.same_tiers = before.tiers == after.tiers
        self._has_gates = bool(before.gates or after.gates)
        # the position of each tier of the baseline among those of the candidate
        places = [after.tiers.index(n) if n in after.tiers else -1 for n in before.tiers]
        self._places = np.array(places, np.int16)
        axes = list(dict.fromkeys((*before.deciding, *after.deciding)))
        self._before_axes = np.array([axes.index(a) for a in before.deciding], np.int16)
        self._after_axes = np.array([axes.index(a) for a in after.deciding], np.int16)
        names = before.deciding
        self._same_gates = names == after.deciding and len(set(names)) == len(names)

    def tier_flips(self, before: Small | None, after: Small | None) -> Truths | None:
        """Which rows flip their tier; None where tiers are not compared."""
        if not self.has_tiers or before is None or after is None:
            return None
        flips: Truths = (before if self.same_tiers else self._places[before]) != after
        return flips

    def gate_flips(self, before: Small | None, after: Small | None) -> Truths | None:
        """Which rows flip their gate; None where none does, as a gate is the same on both sides."""
        if not self._has_gates or (self._same_gates and before is after):
            return None
        if self._same_gates and before is not None and after is not None:
            return np.not_equal(before, after)
        flips: Truths = _axis(before, self._before_axes) != _axis(after, self._after_axes)
        return flips

    def tier_distances(
        self, before: ScoreColumns, after: ScoreColumns, flips: Truths | None
    ) -> pa.Array:
        """Of rows, the quality minus the nearest threshold that it crossed; null without a flip."""
        rows = len(after.quality)
        if flips is None or before.level is None or after.level is None:
            return pa.nulls(rows, pa.int64())
        came, went = self._places[before.level].astype(np.intp), after.level.astype(np.intp)
        cuts = np.array([*self.after.cuts, 0], np.int64)
        nearest = np.where(went > came, cuts[went - 1], cuts[went])
        return pa.array(after.quality - nearest, pa.int64(), mask=~(flips & (came >= 0)))

    def gate_distances(
        self, before: ScoreColumns, after: ScoreColumns, flips: Truths | None
    ) -> pa.Array:
        """Of rows, the axis of the gate that flips minus its limit; null without a flip."""
        rows = len(after.quality)
        if flips is None:
            return pa.nulls(rows, pa.int64())
        found, given = np.zeros(rows, np.int64), np.zeros(rows, np.bool_)
        none = np.zeros(rows, np.int16)
        came = none if before.gate is None else before.gate
        went = none if after.gate is None else after.gate
        for number, gate in enumerate(self.before.gates, 1):
            _measure(after, self._limit(gate), flips & (went == 0) & (came == number), found, given)
        for number, gate in enumerate(self.after.gates, 1):
            _measure(after, gate, flips & (went == number), found, given)
        return pa.array(found, pa.int64(), mask=~given)

    def _limit(self, gate: Gate) -> Gate:
        """The candidate's gate of an axis; the baseline's, if it has none."""
        own = [each for each in self.after.gates if each.axis == gate.axis]
        return own[-1] if own else gate


def _axis(gate: Small | None, axes: Small) -> Small:
    """The number of the axis of each gate; one value, where there are no gates."""
    return axes[:1] if gate is None else axes[gate]


def _measure(after: ScoreColumns, gate: Gate, chosen: Truths, found: Column, given: Truths) -> None:
    if gate.axis in after.axes:
        np.copyto(found, after.axes[gate.axis] - gate.below, where=chosen)
        given |= chosen


def flip_rows(
    candidate: int, sides: Sides, rows: FactRows, before: ScoreColumns, after: ScoreColumns
) -> FlipRows:
    """The flips of some records, all of which flip.

    Args:
        candidate: its position.
        sides: the baseline and the candidate.
        rows: who the records are, by line.
        before: what the baseline makes of each.
        after: what the candidate makes of each.
    """
    tier_flips = sides.tier_flips(before.level, after.level)
    gate_flips = sides.gate_flips(before.gate, after.gate)
    return FlipRows(
        candidate=candidate,
        skill_type=rows.skill_type,
        record=rows.record,
        task_id=rows.task_id,
        miner_uid=rows.miner_uid,
        miner_hotkey=rows.miner_hotkey,
        baseline_quality=before.quality,
        candidate_quality=after.quality,
        baseline_tier=_texts(sides.before.tiers, before.level, len(rows)),
        candidate_tier=_texts(sides.after.tiers, after.level, len(rows)),
        baseline_emission=before.emission,
        candidate_emission=after.emission,
        baseline_gate=_texts(sides.before.deciding, before.gate, len(rows)),
        candidate_gate=_texts(sides.after.deciding, after.gate, len(rows)),
        tier_distance=sides.tier_distances(before, after, tier_flips),
        gate_distance=sides.gate_distances(before, after, gate_flips),
    )


def _texts(names: Sequence[str | None], numbers: Small | None, rows: int) -> pa.Array:
    if numbers is None:
        return pa.nulls(rows, pa.string())
    return pa.array(names, pa.string()).take(pa.array(numbers))
