"""One skill type under all candidates: who scores it, and how each differs from the baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import attrs
import numpy as np

from tallystick.formula.columns import Truths
from tallystick.formula.facts import is_opaque
from tallystick.governance.backtest.candidates import Candidate
from tallystick.governance.backtest.flips import Sides, side_of
from tallystick.governance.backtest.tally import Tally
from tallystick.scoring.bound import BoundType
from tallystick.scoring.facts.batch import FactRows
from tallystick.scoring.facts.results import judged
from tallystick.scoring.planner import Plan, Target, plan_of
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.threshold_snapshots import Thresholds


@attrs.frozen(eq=False)
class Part:
    """Candidates that accept the same records of a type.

    Attributes:
        scorer: the first of them, which judges the records for all.
        plan: how they score.
    """

    scorer: Scorer
    plan: Plan


@attrs.frozen(eq=False)
class Compared:
    """One type under all candidates that have it.

    Attributes:
        parts: the candidates by which records they accept; the baseline is in the first.
        sides: by the position of the candidate, the baseline and the candidate.
        tallies: by the position of the candidate, what was counted.
    """

    parts: tuple[Part, ...]
    sides: Mapping[int, Sides]
    tallies: Mapping[int, Tally]

    def emptied(self) -> Compared:
        """The same plans with nothing counted."""
        tallies = {place: Tally(t.most, t.tiers) for place, t in self.tallies.items()}
        return attrs.evolve(self, tallies=tallies)


def compared_of(candidates: Sequence[Candidate], name: str) -> Compared:
    """A type of the baseline, with nothing counted."""
    bounds = {
        place: each.scorer.types[name]
        for place, each in enumerate(candidates)
        if name in each.scorer.types
    }
    thresholds = {place: candidates[place].scorer.thresholds[name] for place in bounds}
    alike: dict[tuple[str, ...], dict[int, BoundType]] = {}
    for place, bound in bounds.items():
        alike.setdefault(_accepting(bound), {})[place] = bound
    gates = {gate.axis for gate in bounds[0].quality.gates}
    parts = tuple(
        Part(
            candidates[min(group)].scorer,
            plan_of(_target(p, bound, thresholds[p], gates) for p, bound in group.items()),
        )
        for group in alike.values()
    )
    sides = {p: side_of(bound, thresholds[p]) for p, bound in bounds.items()}
    tiers = {p: (sides[0].tiers, side.tiers) for p, side in sides.items()}
    return Compared(
        parts,
        {place: Sides(sides[0], side) for place, side in sides.items()},
        {
            place: Tally(_most(bound), tiers[place] if all(tiers[place]) else None)
            for place, bound in bounds.items()
        },
    )


def _target(
    place: int, bound: BoundType, thresholds: Thresholds, gates: AbstractSet[str]
) -> Target:
    """What is compared of a candidate: with its gates' axes, and those of the baseline's."""
    read = gates | {gate.axis for gate in bound.quality.gates}
    axes = [axis for axis in bound.axes if axis.name in read]
    scores = [each for each in (bound.quality, bound.tier, bound.emission) if each is not None]
    return Target(place, bound, thresholds, (*axes, *scores), gate=True)


def _most(bound: BoundType) -> int | None:
    """The largest emission, either way; None without one."""
    if bound.emission is None:
        return None
    return max(abs(bound.emission.domain.low), abs(bound.emission.domain.high))


def _accepting(bound: BoundType) -> tuple[str, ...]:
    """What decides whether a record is accepted: requirements, and facts that can fail."""
    failing = (fact.digest for fact in bound.facts if is_opaque(fact))
    return (*(requirement.digest for requirement, _ in bound.requirements), *sorted(failing))


def accepted(compared: Compared, part: Part, rows: FactRows) -> Truths | None:
    """Which rows the candidates of a part accept, None for all; the others are counted."""
    valid, rejects = judged(rows, part.scorer)
    codes = Counter(reject.code for reject in rejects)
    missed = int(np.count_nonzero(valid & ~rows.answered))
    for work in part.plan.works:
        tally = compared.tallies[work.candidate]
        tally.missed += missed
        tally.rejected.update(codes)
    return None if valid.all() else valid
