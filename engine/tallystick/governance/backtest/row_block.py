"""Stretches: some records of one type under all candidates, whose columns stay in the cache."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.formula.columns import Column, Truths
from tallystick.governance.backtest.comparison_set import Compared
from tallystick.governance.backtest.tally import Groups, Tally, groups_of
from tallystick.scoring.facts.batch import FactRows
from tallystick.scoring.planner import Facts, Rows, ScoreColumns, Small

STRETCH = 1 << 15
"""Rows at a time: the columns of all candidates' shared axes then stay in the cache."""


@attrs.frozen(eq=False)
class _Kept:
    """What a candidate made of rows of a stretch.

    Attributes:
        scored: the values.
        rows: the positions in the stretch, ascending; None for all.
    """

    scored: ScoreColumns
    rows: Rows | None


@attrs.frozen(eq=False)
class Flips:
    """The flips of one candidate in a stretch: where the records are, and both sides of each."""

    places: Rows
    before: ScoreColumns
    after: ScoreColumns


Pending = dict[int, list[Flips]] | None
"""By candidate, flips that nobody was told of yet; None when nobody wants to know."""


class RowBlock:
    """Some answered records of one type, sorted by miner."""

    def __init__(
        self,
        compared: Compared,
        rows: FactRows,
        taken: Rows,
        miners: npt.NDArray[np.intp],
        pending: Pending,
    ) -> None:
        """Take the records at some places, the miner of each, and where flips are kept."""
        self.compared, self.rows, self.taken, self.miners = compared, rows, taken, miners
        self.pending = pending
        self.baseline: _Kept | None = None
        self.level: Small | None = None
        self.levels: Column = np.zeros(0, np.int64)

    def count(self, parts: Sequence[Rows | None]) -> None:
        """Score under each part the rows of the stretch that it accepts; None for all."""
        for part, valid in zip(self.compared.parts, parts, strict=True):
            places = self.taken if valid is None else self.taken[valid]
            if len(places):
                groups = groups_of(self.miners if valid is None else self.miners[valid])
                for candidate, scored in part.plan.run(self._facts(places), len(places)):
                    self._counted(candidate, _Kept(scored, valid), groups)

    def _facts(self, places: Rows) -> Facts:
        return lambda digest: self.rows.facts[digest].take(places)

    def _counted(self, candidate: int, kept: _Kept, groups: Groups) -> None:
        tally, scored = self.compared.tallies[candidate], kept.scored
        tally.records.count(groups)
        tally.quality.add(scored.quality, groups)
        if scored.emission is not None:
            tally.emission.add(scored.emission, groups)
        if candidate == 0:
            self.baseline = kept
        if self.baseline is not None:
            self._compare(candidate, self.baseline, kept)

    def _compare(self, candidate: int, baseline: _Kept, kept: _Kept) -> None:
        tally, sides = self.compared.tallies[candidate], self.compared.sides[candidate]
        before, after, rows = _common(baseline, kept)
        tally.compared += len(after.quality)
        tiers = sides.tier_flips(before.level, after.level)
        gates = sides.gate_flips(before.gate, after.gate)
        flipped = np.flatnonzero(_either(tiers, gates))
        self._migrate(tally, before, after, flipped if sides.same_tiers else None)
        if len(flipped):
            tally.tier_flips += _number(tiers)
            tally.gate_flips += _number(gates)
            tally.flips += len(flipped)
            if self.pending is not None:
                places = self.taken[flipped if rows is None else rows[flipped]]
                flips = Flips(places, before.take(flipped), after.take(flipped))
                self.pending.setdefault(candidate, []).append(flips)

    def _migrate(
        self, tally: Tally, before: ScoreColumns, after: ScoreColumns, flipped: Rows | None
    ) -> None:
        """Count tiers; where they are called the same, all that flip are given."""
        if tally.tiers is None or before.level is None or after.level is None:
            return
        if flipped is None:
            tally.migrate(before.level, after.level)
            return
        if before.level is not self.level:
            self.level = before.level
            self.levels = np.bincount(before.level, minlength=len(tally.tiers[0]))
        tally.stay(self.levels)
        if len(flipped):
            tally.stay(-tally.migrate(before.level[flipped], after.level[flipped]))


def _number(flips: Truths | None) -> int:
    return 0 if flips is None else int(np.count_nonzero(flips))


def _either(first: Truths | None, second: Truths | None) -> Truths:
    given = [flips for flips in (first, second) if flips is not None]
    if not given:
        return np.zeros(0, np.bool_)
    return given[0] if len(given) == 1 else given[0] | given[1]


def _common(baseline: _Kept, kept: _Kept) -> tuple[ScoreColumns, ScoreColumns, Rows | None]:
    """The rows that both score, and their positions in the stretch; None for all."""
    if baseline.rows is kept.rows:
        return baseline.scored, kept.scored, kept.rows
    mine = _positions(baseline)
    _, first, second = np.intersect1d(
        mine, _positions(kept), assume_unique=True, return_indices=True
    )
    return baseline.scored.take(first), kept.scored.take(second), mine[first]


def _positions(kept: _Kept) -> Rows:
    return np.arange(len(kept.scored.quality)) if kept.rows is None else kept.rows
