"""One skill type under all candidates: who accepts a record, how it scores, whether it flips.

A record *flips* when its tier, or the gate that decides it, differs between the baseline and a
candidate. How the two compare is planned once for a candidate and a type (`FlipRules`).
`BatchCounter` then scores batches of facts block by block, while the block is in the cache, and
adds the scores to the `TypeOutcome` of each candidate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product

import attrs
import numpy as np
import pyarrow as pa

from tallystick.formula.columns import Column, Rows, Truths
from tallystick.formula.facts import is_opaque
from tallystick.scoring.bound import BoundType
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.composite import Gate
from tallystick.scoring.facts.batch import FactRows
from tallystick.scoring.facts.results import judged_by
from tallystick.scoring.planner import Facts, Plan, ScoreColumns, Target
from tallystick_governance.backtest.candidates import Candidate
from tallystick_governance.backtest.group_history import under
from tallystick_governance.backtest.miner_calendar import coded
from tallystick_governance.backtest.outcome import (
    FlipCounts,
    FlipRows,
    TrackedThresholds,
    TypeOutcome,
)
from tallystick_state.record_columns import sums_of, total_of

_ROWS = 1 << 15
"""Rows of a block: the columns of all candidates' shared axes then stay in the cache."""


@attrs.frozen(eq=False)
class Cliffs:
    """The tiers and gates of one type under one rule set.

    Attributes:
        tiers: the names of its tiers, from the lowest; empty without.
        starts: from where on each tier but the lowest is reached, in nano.
        gates: its gates.
    """

    tiers: tuple[str, ...]
    starts: tuple[int, ...]
    gates: tuple[Gate, ...]

    @classmethod
    def of(cls, rules: BoundRules, skill_type: str) -> Cliffs:
        """Return the cliffs of a skill type that a rule set has."""
        bound = rules.types[skill_type]
        if bound.tiers is None:
            return cls((), (), bound.gates)
        starts = bound.tiers.starts(rules.thresholds[skill_type])
        return cls(bound.tiers.levels, starts, bound.gates)

    @property
    def deciding(self) -> list[str | None]:
        """The axis of the gate that decides, by its number; None for none."""
        return [None, *(gate.axis for gate in self.gates)]


class FlipRules:
    """Rules of flips between the cliffs of the baseline and those of one candidate."""

    def __init__(self, before: Cliffs, after: Cliffs) -> None:
        """Match the tiers and the gates of the two by name."""
        self.before, self.after = before, after
        self.has_tiers = bool(before.tiers and after.tiers)
        self.same_tiers = before.tiers == after.tiers
        self._has_gates = bool(before.gates or after.gates)
        # the position of each tier of the baseline among those of the candidate
        positions = [after.tiers.index(n) if n in after.tiers else -1 for n in before.tiers]
        self._positions = np.array(positions, np.int16)
        axes = list(dict.fromkeys((*before.deciding, *after.deciding)))
        self._before_axes = np.array([axes.index(a) for a in before.deciding], np.int16)
        self._after_axes = np.array([axes.index(a) for a in after.deciding], np.int16)
        names = before.deciding
        self._same_gates = names == after.deciding and len(set(names)) == len(names)

    @property
    def tiers(self) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """The tiers of the baseline and of the candidate; None where either has none."""
        return (self.before.tiers, self.after.tiers) if self.has_tiers else None

    def tier_flips(self, before: Column | None, after: Column | None) -> Truths | None:
        """Tell which rows flip their tier; None where tiers are not compared."""
        if not self.has_tiers or before is None or after is None:
            return None
        flips: Truths = (before if self.same_tiers else self._positions[before]) != after
        return flips

    def gate_flips(self, before: Column | None, after: Column | None) -> Truths | None:
        """Tell which rows flip their gate; None where the gates are the same on both sides."""
        if not self._has_gates or (self._same_gates and before is after):
            return None
        if self._same_gates and before is not None and after is not None:
            same_names: Truths = np.not_equal(before, after)
            return same_names
        # one value broadcasts where there are no gates
        old = self._before_axes[:1] if before is None else self._before_axes[before]
        new = self._after_axes[:1] if after is None else self._after_axes[after]
        flips: Truths = old != new
        return flips

    def rows(
        self,
        candidate: int,
        records: FactRows,
        flipped: Rows,
        before: ScoreColumns,
        after: ScoreColumns,
    ) -> FlipRows:
        """Return the flips of some records, all of which flip.

        Args:
            candidate: the position of the candidate.
            records: the records of the type.
            flipped: the positions of those that flip among them, ascending.
            before: the scores of each of these under the baseline.
            after: the scores of each of these under the candidate.
        """
        many, positions = len(flipped), pa.array(flipped)
        tier_flips = self.tier_flips(before.level, after.level)
        gate_flips = self.gate_flips(before.gate, after.gate)
        return FlipRows(
            candidate=candidate,
            skill_type=records.skill_type,
            record=records.record[flipped],
            task_id=records.task_id.take(positions),
            miner_uid=records.miner_uid[flipped],
            miner_hotkey=records.miner_hotkey.take(positions),
            baseline_quality=before.quality,
            candidate_quality=after.quality,
            baseline_tier=_texts(self.before.tiers, before.level, many),
            candidate_tier=_texts(self.after.tiers, after.level, many),
            baseline_emission=before.emission,
            candidate_emission=after.emission,
            baseline_gate=_texts(self.before.deciding, before.gate, many),
            candidate_gate=_texts(self.after.deciding, after.gate, many),
            tier_distance=self._tier_distances(before, after, tier_flips),
            gate_distance=self._gate_distances(before, after, gate_flips),
        )

    def _tier_distances(
        self, before: ScoreColumns, after: ScoreColumns, flips: Truths | None
    ) -> pa.Array:
        """Return the quality minus the nearest threshold crossed; null without a flip."""
        rows = len(after.quality)
        if flips is None or before.level is None or after.level is None:
            return pa.nulls(rows, pa.int64())
        old, new = self._positions[before.level].astype(np.intp), after.level.astype(np.intp)
        starts = np.array([*self.after.starts, 0], np.int64)
        nearest = np.where(new > old, starts[new - 1], starts[new])
        return pa.array(after.quality - nearest, pa.int64(), mask=~(flips & (old >= 0)))

    def _gate_distances(
        self, before: ScoreColumns, after: ScoreColumns, flips: Truths | None
    ) -> pa.Array:
        """Return the axis of the gate that flips minus its limit; null without a flip."""
        rows = len(after.quality)
        if flips is None:
            return pa.nulls(rows, pa.int64())
        distances, defined = np.zeros(rows, np.int64), np.zeros(rows, np.bool_)

        def measure(gate: Gate, chosen: Truths) -> None:
            if gate.axis in after.axes:
                np.copyto(distances, after.axes[gate.axis] - gate.below, where=chosen)
                np.logical_or(defined, chosen, out=defined)

        none = np.zeros(rows, np.int16)
        old = none if before.gate is None else before.gate
        new = none if after.gate is None else after.gate
        for number, gate in enumerate(self.before.gates, 1):
            # the candidate's last gate of that axis says the limit, if it has one
            own = [limit for limit in self.after.gates if limit.axis == gate.axis]
            measure(own[-1] if own else gate, flips & (new == 0) & (old == number))
        for number, gate in enumerate(self.after.gates, 1):
            measure(gate, flips & (new == number))
        return pa.array(distances, pa.int64(), mask=~defined)


def _texts(names: Sequence[str | None], numbers: Column | None, rows: int) -> pa.Array:
    # most often no gate decides
    if numbers is None or (names[0] is None and not numbers.any()):
        return pa.nulls(rows, pa.string())
    return pa.array(names, pa.string()).take(pa.array(numbers))


@attrs.frozen(eq=False)
class AcceptanceGroup:
    """Candidates that accept the same records of a type.

    Attributes:
        first: the first of them, whose rules validate the records for all.
        positions: of the candidates, ascending.
        plan: how they score, in this order.
    """

    first: Candidate
    positions: tuple[int, ...]
    plan: Plan


@attrs.frozen(eq=False)
class TypeCandidates:
    """The candidates that have one skill type of the baseline.

    Attributes:
        bounds: by the position of the candidate, the type.
        groups: the candidates by which records they accept; the baseline is in the first.
        flip_rules: by the position of the candidate, against the baseline.
    """

    bounds: Mapping[int, BoundType]
    groups: tuple[AcceptanceGroup, ...]
    flip_rules: Mapping[int, FlipRules]

    @classmethod
    def of(cls, candidates: Sequence[Candidate], name: str) -> TypeCandidates:
        """Plan a skill type of the baseline under all candidates that have it."""
        rules = {p: own.rules for p, own in enumerate(candidates) if name in own.rules.types}
        bounds = {position: own.types[name] for position, own in rules.items()}
        alike: dict[tuple[object, ...], dict[int, BoundType]] = {}
        for position, bound in bounds.items():
            # requirements decide whether a record is accepted, and facts that can fail
            failing = sorted(fact.digest for fact in bound.facts if is_opaque(fact))
            required = (requirement.digest for requirement in bound.required)
            variant = candidates[position].variant
            alike.setdefault((variant, *required, *failing), {})[position] = bound
        gates = {gate.axis for gate in bounds[0].gates}

        def target(position: int, bound: BoundType) -> Target:
            """Compare the candidate by its gates' axes, and those of the baseline's."""
            read = gates | {gate.axis for gate in bound.gates}
            axes = [axis for axis in bound.axes if axis.name in read]
            scores = (bound.quality, bound.gate, bound.tier, bound.emission)
            values = (*axes, *bound.measures, *(value for value in scores if value is not None))
            return Target(bound, values, bound.cuts(rules[position].thresholds[name]))

        groups = (
            AcceptanceGroup(
                candidates[min(group)],
                tuple(group),
                Plan(target(position, bound) for position, bound in group.items()),
            )
            for group in alike.values()
        )
        cliffs = {position: Cliffs.of(own, name) for position, own in rules.items()}
        return cls(
            bounds,
            tuple(groups),
            {position: FlipRules(cliffs[0], own) for position, own in cliffs.items()},
        )

    def outcomes(self) -> dict[int, TypeOutcome]:
        """Return the outcome of each candidate, with nothing counted."""
        return {
            position: TypeOutcome(
                self.flip_rules[position].tiers, bound.has_quality, bound.emission is not None
            )
            for position, bound in self.bounds.items()
        }


@attrs.frozen(eq=False)
class _Scored:
    """The scores of rows of a block under a candidate.

    Attributes:
        columns: the values.
        rows: the positions in the block, ascending; None for all.
    """

    columns: ScoreColumns
    rows: Rows | None

    @property
    def positions(self) -> Rows:
        """The positions in the block."""
        return np.arange(len(self.columns.quality)) if self.rows is None else self.rows


class BatchCounter:
    """Counts a batch of records of one type under every candidate that has the type.

    Attributes:
        outcomes: by the position of the candidate.
    """

    def __init__(
        self,
        candidates: TypeCandidates,
        rows: FactRows,
        *,
        keeps_flips: bool,
    ) -> None:
        """Begin with nothing counted.

        Args:
            candidates: those that have the type.
            rows: the batch.
            keeps_flips: whether flips are kept for `flips`.
        """
        self.outcomes = candidates.outcomes()
        self._candidates, self._rows = candidates, rows
        self._hotkeys = coded(rows.miner_hotkey)
        self._flips = defaultdict[int, list[FlipRows]](list)
        self._keeps_flips = keeps_flips

    def count(self, tracked: Sequence[TrackedThresholds] | None) -> None:
        """Score the batch and count it.

        Args:
            tracked: of each candidate, the thresholds of each epoch; None for the seeds.
        """
        valid = [self._accepted(group, tracked) for group in self._candidates.groups]
        for block in self._blocks():
            self._add_block(block, valid)

    def flips(self) -> Iterator[FlipRows]:
        """Yield the flips of the batch once, by candidate, block by block and then by line."""
        for candidate in sorted(self._flips):
            yield from self._flips.pop(candidate)

    def _accepted(
        self, group: AcceptanceGroup, tracked: Sequence[TrackedThresholds] | None
    ) -> Truths | None:
        """Tell which rows a group of candidates accepts, None for all; count those it refuses."""
        valid, rejects = judged_by(group.first.rules, under(self._rows, group.first.variant))
        if tracked is not None:
            # candidates that accept the same records displace the same of them
            lines = tracked[group.positions[0]].lines
            if len(lines):
                valid &= ~np.isin(self._rows.record, lines)
        for candidate in group.positions:
            self.outcomes[candidate].rejected.update(reject.code for reject in rejects)
        return None if valid.all() else valid

    def _blocks(self) -> Iterator[Rows]:
        """Yield the rows that are answered, in blocks of about one size, each sorted by miner."""
        count = len(self._rows)
        number = max(1, -(-count // _ROWS))
        for begin, end in pairwise(count * block // number for block in range(number + 1)):
            rows = begin + np.flatnonzero(self._rows.answered[begin:end])
            if len(rows):
                yield rows[np.argsort(self._hotkeys.codes[rows], kind="stable")]

    def _add_block(self, block: Rows, valid: Sequence[Truths | None]) -> None:
        """Score the rows of a block that each group of candidates accepts, and count them."""
        baseline: _Scored | None = None
        for group, truths in zip(self._candidates.groups, valid, strict=True):
            accepted = None if truths is None else np.flatnonzero(truths[block])
            rows = block if accepted is None else block[accepted]
            if not len(rows):
                continue
            codes = self._hotkeys.codes[rows]
            starts = np.flatnonzero(np.diff(codes, prepend=-1))
            hotkeys = [self._hotkeys.names[code] for code in codes[starts].tolist()]
            records = dict(zip(hotkeys, np.diff(starts, append=len(rows)).tolist(), strict=True))
            scores = group.plan.run(self._facts(rows, group.first.variant), len(rows))
            for candidate, columns in zip(group.positions, scores, strict=True):
                self.outcomes[candidate].records.update(records)
                self._add(candidate, columns, hotkeys, starts)
                scored = _Scored(columns, accepted)
                if candidate == 0:
                    baseline = scored
                # where the baseline accepts no row of the block, there is nothing to compare with
                if baseline is not None:
                    self._compare(candidate, block, baseline, scored)

    def _facts(self, rows: Rows, variant: int) -> Facts:
        facts = under(self._rows, variant).facts
        return lambda digest: facts[digest].take(rows)

    def _add(
        self, candidate: int, scores: ScoreColumns, hotkeys: Sequence[str], starts: Rows
    ) -> None:
        """Add the scores of rows that are sorted by miner, and begin anew with each hotkey."""
        outcome = self.outcomes[candidate]
        if outcome.has_quality:
            outcome.quality.update(dict(zip(hotkeys, sums_of(scores.quality, starts), strict=True)))
        if scores.emission is not None:
            sums = sums_of(scores.emission, starts)
            outcome.emission.update(dict(zip(hotkeys, sums, strict=True)))
        for value in scores.bound.measures:
            column, applies = scores.columns[value], scores.given.get(value)
            applying = column if applies is None else column[applies]
            outcome.applying[value.name] += len(applying)
            outcome.measures[value.name] += total_of(applying)

    def _compare(self, candidate: int, block: Rows, baseline: _Scored, scored: _Scored) -> None:
        """Count the tiers and the flips of the rows of a block that both score."""
        outcome, rules = self.outcomes[candidate], self._candidates.flip_rules[candidate]
        before, after, rows = baseline.columns, scored.columns, scored.rows
        if baseline.rows is not scored.rows:
            old, new = baseline.positions, scored.positions
            rows, first, second = np.intersect1d(old, new, assume_unique=True, return_indices=True)
            before, after = before.take(first), after.take(second)
        if rules.tiers is not None and before.level is not None and after.level is not None:
            outcome.migration.update(_migration(rules.tiers, before.level, after.level))
        none = np.zeros(len(after.quality), np.bool_)
        tiers, gates = (
            none if flips is None else flips
            for flips in (
                rules.tier_flips(before.level, after.level),
                rules.gate_flips(before.gate, after.gate),
            )
        )
        flipped = np.flatnonzero(tiers | gates)
        outcome.flips += FlipCounts(
            len(none), int(np.count_nonzero(tiers)), int(np.count_nonzero(gates)), len(flipped)
        )
        if len(flipped) and self._keeps_flips:
            where = block[flipped if rows is None else rows[flipped]]
            # blocks are in the order of the lines, and rows in them by miner
            order = np.argsort(where)
            before, after = (side.take(flipped[order]) for side in (before, after))
            found = rules.rows(candidate, self._rows, where[order], before, after)
            self._flips[candidate].append(found)


def _migration(
    tiers: tuple[tuple[str, ...], tuple[str, ...]], before: Column, after: Column
) -> Mapping[tuple[str, str], int]:
    """Count rows by the names of their tiers before and after."""
    pairs = [*product(*tiers)]
    codes = before.astype(np.intp) * len(tiers[1]) + after
    counts = np.bincount(codes, minlength=len(pairs)).tolist()
    return dict(zip(pairs, counts, strict=True))
