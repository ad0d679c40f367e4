"""Blocks of rows: some records of one type under all candidates, counted while in the cache.

A batch of facts is cut into blocks (`row_blocks`); of each, every candidate's scores go into its
tally, and what flips against the baseline is kept (`PendingFlips`) until the batch is done: then it
is told in the order of the lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallystick.formula.columns import Column, Truths
from tallystick.scoring.facts.batch import FactRows
from tallystick.scoring.planner import Facts, Rows, ScoreColumns, Small, joined
from tallystick_governance.backtest.comparison_model import FlipRows
from tallystick_governance.backtest.comparison_set import ComparisonSet, FlipRules
from tallystick_governance.backtest.tally import MinerGroups, Tally, miner_groups

_ROWS = 1 << 15
"""Rows of a block: the columns of all candidates' shared axes then stay in the cache."""


@attrs.frozen(eq=False)
class _Scored:
    """What a candidate makes of rows of a block.

    Attributes:
        columns: the values.
        rows: the positions in the block, ascending; None for all.
    """

    columns: ScoreColumns
    rows: Rows | None


@attrs.frozen(eq=False)
class _Flips:
    """The flips of one candidate in a block: where the records are, and both sides of each."""

    places: Rows
    before: ScoreColumns
    after: ScoreColumns


class PendingFlips:
    """The flips of a batch of one type that were not told yet."""

    def __init__(self) -> None:
        """Nothing flips yet."""
        self._found: defaultdict[int, list[_Flips]] = defaultdict(list)

    def add(self, candidate: int, flips: _Flips) -> None:
        """Keep the flips of a candidate in one block."""
        self._found[candidate].append(flips)

    def told(self, compared: ComparisonSet, rows: FactRows) -> Iterator[FlipRows]:
        """The flips of the batch, by candidate and then by line."""
        for candidate, parts in sorted(self._found.items()):
            places = np.concatenate([each.places for each in parts])
            order = np.argsort(places)
            before = joined([each.before for each in parts]).take(order)
            after = joined([each.after for each in parts]).take(order)
            who, rules = _identities(rows, places[order]), compared.flip_rules[candidate]
            yield _flip_rows(candidate, rules, who, before, after)


class RowBlock:
    """Some answered records of one type, sorted by miner.

    Attributes:
        compared: the candidates.
        tallies: by the position of the candidate, where they are counted.
        rows: the batch.
        places: where in the batch the records are.
        miners: the position of the miner of each.
        pending: takes the flips; None when nobody wants to know.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # what a block is made of
        self,
        compared: ComparisonSet,
        tallies: Mapping[int, Tally],
        rows: FactRows,
        places: Rows,
        miners: npt.NDArray[np.intp],
        pending: PendingFlips | None,
    ) -> None:
        """Nothing is scored yet."""
        self.compared, self.tallies, self.pending = compared, tallies, pending
        self.rows, self.places, self.miners = rows, places, miners
        self._baseline: _Scored | None = None
        # the tiers that candidates share with the baseline are counted once
        self._level: Small | None = None
        self._levels: Column = np.zeros(0, np.int64)

    def count(self, accepted: Sequence[Rows | None]) -> None:
        """Score, under each group of candidates, the rows of the block that it accepts."""
        for group, valid in zip(self.compared.groups, accepted, strict=True):
            places = self.places if valid is None else self.places[valid]
            if len(places):
                groups = miner_groups(self.miners if valid is None else self.miners[valid])
                for candidate, columns in group.plan.run(self._facts(places), len(places)):
                    self._count(candidate, _Scored(columns, valid), groups)

    def _facts(self, places: Rows) -> Facts:
        return lambda digest: self.rows.facts[digest].take(places)

    def _count(self, candidate: int, scored: _Scored, groups: MinerGroups) -> None:
        tally, columns = self.tallies[candidate], scored.columns
        tally.records.count(groups)
        tally.quality.add(columns.quality, groups)
        tally.measure(columns)
        if columns.emission is not None:
            tally.emission.add(columns.emission, groups)
        if candidate == 0:
            self._baseline = scored
        # where the baseline accepts no row of the block, there is nothing to compare with
        if self._baseline is not None:
            self._compare(candidate, self._baseline, scored)

    def _compare(self, candidate: int, baseline: _Scored, scored: _Scored) -> None:
        tally, rules = self.tallies[candidate], self.compared.flip_rules[candidate]
        before, after, rows = _common(baseline, scored)
        tally.compared += len(after.quality)
        tiers = rules.tier_flips(before.level, after.level)
        gates = rules.gate_flips(before.gate, after.gate)
        flipped = np.flatnonzero(_either(tiers, gates))
        self._migrate(tally, before, after, flipped if rules.same_tiers else None)
        if len(flipped):
            tally.tier_flips += _number(tiers)
            tally.gate_flips += _number(gates)
            tally.flips += len(flipped)
            if self.pending is not None:
                places = self.places[flipped if rows is None else rows[flipped]]
                flips = _Flips(places, before.take(flipped), after.take(flipped))
                self.pending.add(candidate, flips)

    def _migrate(
        self, tally: Tally, before: ScoreColumns, after: ScoreColumns, flipped: Rows | None
    ) -> None:
        """Count tiers; where they are called the same, all that flip are given."""
        if tally.tiers is None or before.level is None or after.level is None:
            return
        if flipped is None:
            tally.migrate(before.level, after.level)
            return
        if before.level is not self._level:
            self._level = before.level
            self._levels = np.bincount(before.level, minlength=len(tally.tiers[0]))
        tally.stay(self._levels)
        if len(flipped):
            tally.stay(-tally.migrate(before.level[flipped], after.level[flipped]))


def row_blocks(rows: FactRows, miners: Rows) -> Iterator[Rows]:
    """The rows that are answered, in blocks of about one size, each sorted by miner.

    Args:
        rows: of a batch.
        miners: the position of the miner of each.
    """
    count = len(rows)
    number = -(-count // _ROWS)
    for begin, end in pairwise(count * place // number for place in range(number + 1)):
        places = begin + np.flatnonzero(rows.answered[begin:end])
        if len(places):
            yield places[np.argsort(miners[places], kind="stable")]


def _number(flips: Truths | None) -> int:
    return 0 if flips is None else int(np.count_nonzero(flips))


def _either(first: Truths | None, second: Truths | None) -> Truths:
    given = [flips for flips in (first, second) if flips is not None]
    if not given:
        return np.zeros(0, np.bool_)
    return given[0] if len(given) == 1 else given[0] | given[1]


def _common(baseline: _Scored, scored: _Scored) -> tuple[ScoreColumns, ScoreColumns, Rows | None]:
    """The rows that both score, and their positions in the block; None for all."""
    if baseline.rows is scored.rows:
        return baseline.columns, scored.columns, scored.rows
    mine = _positions(baseline)
    _, first, second = np.intersect1d(
        mine, _positions(scored), assume_unique=True, return_indices=True
    )
    return baseline.columns.take(first), scored.columns.take(second), mine[first]


def _positions(scored: _Scored) -> Rows:
    return np.arange(len(scored.columns.quality)) if scored.rows is None else scored.rows


def _flip_rows(
    candidate: int, rules: FlipRules, rows: FactRows, before: ScoreColumns, after: ScoreColumns
) -> FlipRows:
    """The flips of some records, all of which flip.

    Args:
        candidate: its position.
        rules: of the candidate against the baseline.
        rows: who the records are, by line.
        before: what the baseline makes of each.
        after: what the candidate makes of each.
    """
    tier_flips = rules.tier_flips(before.level, after.level)
    gate_flips = rules.gate_flips(before.gate, after.gate)
    return FlipRows(
        candidate=candidate,
        skill_type=rows.skill_type,
        record=rows.record,
        task_id=rows.task_id,
        miner_uid=rows.miner_uid,
        miner_hotkey=rows.miner_hotkey,
        baseline_quality=before.quality,
        candidate_quality=after.quality,
        baseline_tier=_texts(rules.before.tiers, before.level, len(rows)),
        candidate_tier=_texts(rules.after.tiers, after.level, len(rows)),
        baseline_emission=before.emission,
        candidate_emission=after.emission,
        baseline_gate=_texts(rules.before.deciding, before.gate, len(rows)),
        candidate_gate=_texts(rules.after.deciding, after.gate, len(rows)),
        tier_distance=rules.tier_distances(before, after, tier_flips),
        gate_distance=rules.gate_distances(before, after, gate_flips),
    )


def _texts(names: Sequence[str | None], numbers: Small | None, rows: int) -> pa.Array:
    if numbers is None:
        return pa.nulls(rows, pa.string())
    return pa.array(names, pa.string()).take(pa.array(numbers))


def _identities(rows: FactRows, places: Rows) -> FactRows:
    """Who some records are, without their facts."""
    taken = pa.array(places)
    changed: dict[str, Any] = {
        field.name: value.take(taken) if isinstance(value, pa.Array) else value[places]
        for field in attrs.fields(FactRows)
        if isinstance(value := getattr(rows, field.name), pa.Array | np.ndarray)
    }
    return attrs.evolve(rows, **changed, facts={})
