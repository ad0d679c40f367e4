"""One skill type under all candidates: who accepts a record, how it scores, whether it flips.

A record *flips* when its tier, or the gate that decides it, differs between the baseline and a
candidate. How the two compare is planned once for a candidate and a type (`FlipRules`).
`BatchTotals` then scores batches of facts block by block, while the block is in the cache, and
adds the scores to the `TypeTotals` of each candidate.

Totals of parts of a history add up to those of the whole, in any order, exactly.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallystick.errors import TallystickError
from tallystick.formula.columns import Column, Rows, Truths
from tallystick.formula.facts import is_opaque
from tallystick.scoring.bound import BoundType
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.composite import Gate
from tallystick.scoring.facts.batch import FactRows
from tallystick.scoring.facts.results import judged_by
from tallystick.scoring.planner import Facts, Plan, ScoreColumns, Target, joined
from tallystick_governance.backtest.candidates import Candidate
from tallystick_governance.backtest.group_history import under
from tallystick_governance.backtest.outcome import (
    EMISSION,
    QUALITY,
    Comparison,
    Counts,
    FlipRows,
    Total,
    TrackedThresholds,
    TypeOutcome,
)
from tallystick_state.record_columns import sums_of, total_of

_ROWS = 1 << 15
"""Rows of a block: the columns of all candidates' shared axes then stay in the cache."""


@attrs.frozen(eq=False)
class MinerGroups:
    """Rows that are sorted by miner, and where the rows of each begin.

    Attributes:
        miners: the positions of the miners that have rows, ascending.
        starts: the first row of each.
        sizes: how many rows each has.
    """

    miners: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]
    sizes: Column

    @classmethod
    def of(cls, miners: npt.NDArray[np.intp]) -> MinerGroups:
        """Group sorted rows by the position of the miner of each."""
        first = np.ones(len(miners), np.bool_)
        np.not_equal(miners[1:], miners[:-1], out=first[1:])
        starts = np.flatnonzero(first)
        return cls(miners[starts], starts, np.diff(starts, append=len(miners)))


class Sums:
    """A whole number for each miner, exact whatever its size.

    `reserve` makes room for miners before anything is added of them.
    """

    def __init__(self) -> None:
        """Begin without miners."""
        self._sums: npt.NDArray[np.object_] = np.zeros(0, np.object_)

    def reserve(self, miners: int) -> None:
        """Make room for a number of miners."""
        missing = max(0, miners - len(self._sums))
        self._sums = np.append(self._sums, np.zeros(missing, np.object_))

    def add(self, values: Column, groups: MinerGroups) -> None:
        """Add the sum of the rows of each miner."""
        self._sums[groups.miners] += np.array(sums_of(values, groups.starts), np.object_)

    def count(self, groups: MinerGroups) -> None:
        """Add the number of rows of each miner."""
        self._sums[groups.miners] += groups.sizes

    def merge(self, other: Sums, positions: npt.NDArray[np.intp]) -> None:
        """Add other sums, whose miners have these positions here."""
        self._sums[positions[: len(other._sums)]] += other._sums

    def totals(self, order: Sequence[int]) -> Counts:
        """Return the sums of the miners at some positions; 0 for a miner without rows."""
        sums = self._sums.tolist()
        return tuple(sums[m] if m < len(sums) else 0 for m in order)


@attrs.define(eq=False)
class TypeTotals:
    """Running sums and counts of one candidate over the records of one skill type.

    Attributes:
        tiers: the tiers of the baseline and of the candidate; None where either has none.
        has_quality: whether records have a quality.
        has_emission: whether they have an emission.
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

    tiers: tuple[tuple[str, ...], tuple[str, ...]] | None
    has_quality: bool
    has_emission: bool
    records: Sums = attrs.field(factory=Sums)
    quality: Sums = attrs.field(factory=Sums)
    emission: Sums = attrs.field(factory=Sums)
    measures: dict[str, Total] = attrs.field(factory=dict)
    missed: int = 0
    rejected: Counter[str] = attrs.field(factory=Counter)
    compared: int = 0
    migration: Column = attrs.field(init=False)
    tier_flips: int = 0
    gate_flips: int = 0
    flips: int = 0

    def __attrs_post_init__(self) -> None:
        """Begin with no migration."""
        before, after = map(len, self.tiers) if self.tiers is not None else (0, 0)
        self.migration = np.zeros((before, after), np.int64)

    def reserve(self, miners: int) -> None:
        """Make room for a number of miners."""
        for sums in (self.records, self.quality, self.emission):
            sums.reserve(miners)

    def empty(self) -> TypeTotals:
        """Return totals of the same kind with nothing counted."""
        return TypeTotals(self.tiers, self.has_quality, self.has_emission)

    def add(self, scores: ScoreColumns, groups: MinerGroups) -> None:
        """Add the scores of rows that are sorted by miner."""
        self.records.count(groups)
        self.quality.add(scores.quality, groups)
        for value in scores.bound.measures:
            column, applies = scores.columns[value], scores.given.get(value)
            applying = column if applies is None else column[applies]
            self._add_measure(value.name, (len(applying), total_of(applying)))
        if scores.emission is not None:
            self.emission.add(scores.emission, groups)

    def sums(self, measure: str) -> Sums | None:
        """Return the sums of a measure; None where the type does not have it."""
        if measure == EMISSION and self.has_emission:
            return self.emission
        return self.quality if measure == QUALITY else None

    def keep_tiers(self, counts: Column) -> None:
        """Count compared records that keep their tier, by tier."""
        self.migration.reshape(-1)[:: len(counts) + 1] += counts

    def migrate(self, before: Column, after: Column) -> Column:
        """Count compared records by their tiers; return how many had each tier before."""
        width = self.migration.shape[1]
        pairs = np.bincount(before.astype(np.intp) * width + after, minlength=self.migration.size)
        counts: Column = pairs.reshape(self.migration.shape)
        self.migration += counts
        by_tier: Column = counts.sum(axis=1)
        return by_tier

    def merge(self, other: TypeTotals, positions: npt.NDArray[np.intp]) -> None:
        """Add the totals of another part of the history, whose miners have these positions here."""
        self.records.merge(other.records, positions)
        self.quality.merge(other.quality, positions)
        self.emission.merge(other.emission, positions)
        self.rejected.update(other.rejected)
        self.migration += other.migration
        for name, total in other.measures.items():
            self._add_measure(name, total)
        for name in ("missed", "compared", "tier_flips", "gate_flips", "flips"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def outcome(self, skill_type: str, order: Sequence[int]) -> TypeOutcome:
        """Return the outcome of the type, its miners in the order of these positions."""
        before, after = self.tiers if self.tiers is not None else (None, None)
        migration = tuple(map(tuple, self.migration.tolist())) if self.tiers is not None else None
        return TypeOutcome(
            skill_type=skill_type,
            records=self.records.totals(order),
            quality=self.quality.totals(order) if self.has_quality else None,
            emission=self.emission.totals(order) if self.has_emission else None,
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

    def _add_measure(self, name: str, more: Total) -> None:
        records, total = self.measures.get(name, (0, 0))
        self.measures[name] = records + more[0], total + more[1]


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
            return Target(bound, values, bound.tracked(rules[position].thresholds[name]))

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

    def totals(self) -> dict[int, TypeTotals]:
        """Return totals for each candidate, with nothing counted."""
        totals = dict[int, TypeTotals]()
        for position, bound in self.bounds.items():
            tiers = self.flip_rules[position].tiers
            totals[position] = TypeTotals(tiers, bound.has_quality, bound.emission is not None)
        return totals


def totals_of(spans: Sequence[TypeCandidates]) -> dict[int, TypeTotals]:
    """Return empty totals for each candidate, for a type whose rules change from span to span.

    Raises:
        TallystickError: a candidate has other tiers in some epochs than in others.
    """
    whole: dict[int, TypeTotals] = {}
    for by_position in (span.totals() for span in spans):
        for position, totals in by_position.items():
            earlier = whole.setdefault(position, totals)
            if earlier.tiers != totals.tiers:
                raise TallystickError(
                    f"found the tiers {totals.tiers} in epochs after those with {earlier.tiers}, "
                    "expected the same in all: compare the rule sets without an adoption"
                )
            earlier.has_quality |= totals.has_quality
            earlier.has_emission |= totals.has_emission
    return whole


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


@attrs.frozen(eq=False)
class _Flips:
    """The flips of one candidate in a block: rows of the batch, and the scores of each side."""

    rows: Rows
    before: ScoreColumns
    after: ScoreColumns


class BatchTotals:
    """Adds a batch of records of one type to the totals of every candidate.

    Attributes:
        totals: by the position of the candidate.
    """

    def __init__(
        self,
        candidates: TypeCandidates,
        rows: FactRows,
        miners: Rows,
        *,
        keeps_flips: bool,
    ) -> None:
        """Begin with nothing counted.

        Args:
            candidates: those that have the type.
            rows: the batch, of one row at least.
            miners: the position of the miner of each row.
            keeps_flips: whether flips are kept for `flips`.
        """
        self.totals = candidates.totals()
        self._candidates, self._rows, self._miners = candidates, rows, miners
        self._flips: defaultdict[int, list[_Flips]] | None = (
            defaultdict(list) if keeps_flips else None
        )
        # the tiers that candidates share with the baseline are counted once
        self._level: Column | None = None
        self._levels: Column = np.zeros(0, np.int64)
        for totals in self.totals.values():
            totals.reserve(int(miners.max()) + 1)

    def count(self, tracked: Sequence[TrackedThresholds] | None) -> None:
        """Score the batch and count it.

        Args:
            tracked: of each candidate, the thresholds of each epoch; None for the seeds.
        """
        valid = [self._accepted(group, tracked) for group in self._candidates.groups]
        for block in self._blocks():
            self._add_block(block, valid)

    def flips(self) -> Iterator[FlipRows]:
        """Yield the flips of the batch once, by candidate and then by line."""
        flips: dict[int, list[_Flips]] = self._flips or {}
        for candidate in sorted(flips):
            parts = flips.pop(candidate)
            rows = np.concatenate([part.rows for part in parts])
            order = np.argsort(rows)
            before = joined([part.before for part in parts]).take(order)
            after = joined([part.after for part in parts]).take(order)
            rules = self._candidates.flip_rules[candidate]
            yield rules.rows(candidate, self._rows, rows[order], before, after)

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
        codes = Counter(reject.code for reject in rejects)
        missed = int(np.count_nonzero(valid & ~self._rows.answered))
        for candidate in group.positions:
            totals = self.totals[candidate]
            totals.missed += missed
            totals.rejected.update(codes)
        return None if valid.all() else valid

    def _blocks(self) -> Iterator[Rows]:
        """Yield the rows that are answered, in blocks of about one size, each sorted by miner."""
        count = len(self._rows)
        number = -(-count // _ROWS)
        for begin, end in pairwise(count * block // number for block in range(number + 1)):
            rows = begin + np.flatnonzero(self._rows.answered[begin:end])
            if len(rows):
                yield rows[np.argsort(self._miners[rows], kind="stable")]

    def _add_block(self, block: Rows, valid: Sequence[Truths | None]) -> None:
        """Score the rows of a block that each group of candidates accepts, and count them."""
        baseline: _Scored | None = None
        for group, truths in zip(self._candidates.groups, valid, strict=True):
            accepted = None if truths is None else np.flatnonzero(truths[block])
            rows = block if accepted is None else block[accepted]
            if not len(rows):
                continue
            groups = MinerGroups.of(self._miners[rows])
            facts = self._facts(rows, group.first.variant)
            scores = group.plan.run(facts, len(rows))
            for candidate, columns in zip(group.positions, scores, strict=True):
                self.totals[candidate].add(columns, groups)
                scored = _Scored(columns, accepted)
                if candidate == 0:
                    baseline = scored
                # where the baseline accepts no row of the block, there is nothing to compare with
                if baseline is not None:
                    self._compare(candidate, block, baseline, scored)

    def _facts(self, rows: Rows, variant: int) -> Facts:
        facts = under(self._rows, variant).facts
        return lambda digest: facts[digest].take(rows)

    def _compare(self, candidate: int, block: Rows, baseline: _Scored, scored: _Scored) -> None:
        """Count the tiers and the flips of the rows of a block that both score."""
        totals, rules = self.totals[candidate], self._candidates.flip_rules[candidate]
        before, after, rows = baseline.columns, scored.columns, scored.rows
        if baseline.rows is not scored.rows:
            old, new = baseline.positions, scored.positions
            rows, first, second = np.intersect1d(old, new, assume_unique=True, return_indices=True)
            before, after = before.take(first), after.take(second)
        totals.compared += len(after.quality)
        tiers = rules.tier_flips(before.level, after.level)
        gates = rules.gate_flips(before.gate, after.gate)
        if tiers is None or gates is None:
            either = tiers if gates is None else gates
        else:
            either = tiers | gates
        flipped = np.zeros(0, np.intp) if either is None else np.flatnonzero(either)
        self._migrate(totals, before, after, flipped if rules.same_tiers else None)
        if len(flipped):
            totals.tier_flips += 0 if tiers is None else int(np.count_nonzero(tiers))
            totals.gate_flips += 0 if gates is None else int(np.count_nonzero(gates))
            totals.flips += len(flipped)
            if self._flips is not None:
                where = block[flipped if rows is None else rows[flipped]]
                flips = _Flips(where, before.take(flipped), after.take(flipped))
                self._flips[candidate].append(flips)

    def _migrate(
        self, totals: TypeTotals, before: ScoreColumns, after: ScoreColumns, flipped: Rows | None
    ) -> None:
        """Count tiers; ``flipped`` is None where the two rule sets name their tiers otherwise."""
        if totals.tiers is None or before.level is None or after.level is None:
            return
        if flipped is None:
            totals.migrate(before.level, after.level)
            return
        if before.level is not self._level:
            self._level = before.level
            self._levels = np.bincount(self._level, minlength=len(totals.tiers[0]))
        totals.keep_tiers(self._levels)
        if len(flipped):
            totals.keep_tiers(-totals.migrate(before.level[flipped], after.level[flipped]))
