"""One skill type under all candidates: who accepts its records, how they score, what flips.

A record *flips* when its tier or the gate that decides it differs between the baseline and a
candidate. How the two compare is worked out once for a candidate and a type (`FlipRules`); its
methods then take columns of rows that both score, in one order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import attrs
import numpy as np
import pyarrow as pa

from tallystick.errors import TallystickError
from tallystick.formula.columns import Column, Truths
from tallystick.formula.facts import is_opaque
from tallystick.scoring.bound import BoundType
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.composite import Gate
from tallystick.scoring.facts.batch import FactRows
from tallystick.scoring.facts.results import judge
from tallystick.scoring.planner import Plan, ScoreColumns, Small, Target, plan_of
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick_governance.backtest.candidates import Candidate
from tallystick_governance.backtest.tally import Tally


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

    @property
    def deciding(self) -> list[str | None]:
        """The axis of the gate that decides, by its number; None for none."""
        return [None, *(gate.axis for gate in self.gates)]


class FlipRules:
    """How records flip between the cliffs of the baseline and those of one candidate."""

    def __init__(self, before: Cliffs, after: Cliffs) -> None:
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

    @property
    def tiers(self) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """The tiers of the baseline and of the candidate; None where either has none."""
        return (self.before.tiers, self.after.tiers) if self.has_tiers else None

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
        starts = np.array([*self.after.starts, 0], np.int64)
        nearest = np.where(went > came, starts[went - 1], starts[went])
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


@attrs.frozen(eq=False)
class AcceptanceGroup:
    """Candidates that accept the same records of a type.

    Attributes:
        rules: the first of them, which validate the records for all.
        plan: how they score.
    """

    rules: BoundRules
    plan: Plan


@attrs.frozen(eq=False)
class ComparisonSet:
    """One type under all candidates that have it.

    Attributes:
        groups: the candidates by which records they accept; the baseline is in the first.
        flip_rules: by the position of the candidate, against the baseline.
        most: by the position of the candidate, the largest emission, either way; None without one.
        has_quality: by the position of the candidate, whether its records have a quality.
    """

    groups: tuple[AcceptanceGroup, ...]
    flip_rules: Mapping[int, FlipRules]
    most: Mapping[int, int | None]
    has_quality: Mapping[int, bool]

    def tallies(self) -> dict[int, Tally]:
        """A tally for each candidate, with nothing counted."""
        return {
            place: Tally(self.most[place], rules.tiers, self.has_quality[place])
            for place, rules in self.flip_rules.items()
        }

    def accepted(
        self,
        group: AcceptanceGroup,
        rows: FactRows,
        tallies: Mapping[int, Tally],
        displaced: Truths | None = None,
    ) -> Truths | None:
        """Which rows the candidates of a group accept, None for all; what they refuse is counted.

        Args:
            group: the candidates.
            rows: of the type.
            tallies: of each candidate.
            displaced: the rows that repeat an earlier record; None for none.
        """
        valid, rejects = judge(rows, group.rules)
        if displaced is not None:
            valid &= ~displaced
        codes = Counter(reject.code for reject in rejects)
        missed = int(np.count_nonzero(valid & ~rows.answered))
        for work in group.plan.works:
            tally = tallies[work.candidate]
            tally.missed += missed
            tally.rejected.update(codes)
        return None if valid.all() else valid


def all_tallies(sets: Sequence[ComparisonSet]) -> dict[int, Tally]:
    """A tally for each candidate, for a type whose rules change from one set to the next.

    Raises:
        TallystickError: a candidate has other tiers in some epochs than in others.
    """
    found: dict[int, Tally] = {}
    for tally_by_place in (each.tallies() for each in sets):
        for place, tally in tally_by_place.items():
            known = found.setdefault(place, tally)
            if known.tiers != tally.tiers:
                raise TallystickError(
                    f"found the tiers {tally.tiers} in epochs after those with {known.tiers}, "
                    "expected the same in all: compare the rule sets without an adoption"
                )
            if tally.most is not None:
                most, has_quality = max(known.most or 0, tally.most), known.has_quality
                found[place] = Tally(most, known.tiers, has_quality or tally.has_quality)
    return found


def comparison_set(candidates: Sequence[Candidate], name: str) -> ComparisonSet:
    """A type of the baseline under all candidates that have it."""
    bounds = {
        place: each.rules.types[name]
        for place, each in enumerate(candidates)
        if name in each.rules.types
    }
    thresholds = {place: candidates[place].rules.thresholds[name] for place in bounds}
    alike: dict[tuple[str, ...], dict[int, BoundType]] = {}
    for place, bound in bounds.items():
        alike.setdefault(_acceptance(bound), {})[place] = bound
    gates = {gate.axis for gate in bounds[0].gates}
    groups = tuple(
        AcceptanceGroup(
            candidates[min(group)].rules,
            plan_of(_target(p, bound, thresholds[p], gates) for p, bound in group.items()),
        )
        for group in alike.values()
    )
    cliffs = {p: _cliffs(bound, thresholds[p]) for p, bound in bounds.items()}
    return ComparisonSet(
        groups,
        {place: FlipRules(cliffs[0], each) for place, each in cliffs.items()},
        {place: _most(bound) for place, bound in bounds.items()},
        {place: bound.has_quality for place, bound in bounds.items()},
    )


def _acceptance(bound: BoundType) -> tuple[str, ...]:
    """What decides whether a record is accepted: requirements, and facts that can fail."""
    failing = (fact.digest for fact in bound.facts if is_opaque(fact))
    return (*(requirement.digest for requirement, _ in bound.requirements), *sorted(failing))


def _target(
    place: int, bound: BoundType, thresholds: Thresholds, gates: AbstractSet[str]
) -> Target:
    """What is compared of a candidate: with its gates' axes, and those of the baseline's."""
    read = gates | {gate.axis for gate in bound.gates}
    axes = [axis for axis in bound.axes if axis.name in read]
    scores = [each for each in (bound.quality, bound.tier, bound.emission) if each is not None]
    return Target(place, bound, thresholds, (*axes, *bound.measures, *scores), gate=True)


def _cliffs(bound: BoundType, thresholds: Thresholds) -> Cliffs:
    tiers = bound.tiers
    if tiers is None:
        return Cliffs((), (), bound.gates)
    return Cliffs(tiers.levels, tiers.starts(thresholds), bound.gates)


def _most(bound: BoundType) -> int | None:
    """The largest emission, either way; None without one."""
    if bound.emission is None:
        return None
    return max(abs(bound.emission.domain.low), abs(bound.emission.domain.high))


def _axis(gate: Small | None, axes: Small) -> Small:
    """The number of the axis of each gate; one value, where there are no gates."""
    return axes[:1] if gate is None else axes[gate]


def _measure(after: ScoreColumns, gate: Gate, chosen: Truths, found: Column, given: Truths) -> None:
    if gate.axis in after.axes:
        np.copyto(found, after.axes[gate.axis] - gate.below, where=chosen)
        given |= chosen
