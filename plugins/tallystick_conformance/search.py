"""A seeded search for facts that make something as large as it can be, many at a time in columns.

It begins at given facts and at the boundary values of each, and moves the best that it has: to
boundary values, by steps of every size, to the value of another fact, to anywhere. What it finds is
a proposal: whoever needs a record has one built, and asks the engine.

It is bounded by counts and its choices follow from a seed alone, so a busy machine finds the same.
They are raw bits of PCG64, which NumPy keeps the same; only whole numbers are ranked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.errors import UndecidedError
from tallystick.formula.columns import Column, Truths
from tallystick.formula.domain import Domain
from tallystick.formula.facts import is_opaque, reader_of, scale_of
from tallystick.formula.tree import Kind, Node, leaves, value_of
from tallystick.numbers.nano import NANO
from tallystick.scoring.bound import BoundType
from tallystick.scoring.planner import Plan, Target
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.scores import walk
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick.scoring.value import Value
from tallystick_conformance.testing.concrete_record import concrete_record_of
from tallystick_conformance.testing.fact_conditions import FactConditions
from tallystick_conformance.testing.record_checker import FactReader

Bits = npt.NDArray[np.uint64]
"""Numbers of 64 random bits."""
Points = npt.NDArray[np.int64]
"""Values of the unknowns: a row for each unknown, a column for each point."""
Facts = Mapping[str, Column]
"""Columns of facts, by digest."""

_FEW = 16
"""Largest span of a fact of which every value is a boundary value."""
_LARGEST = 1 << 61
"""Largest size of a fact that is tried: sums of two fit in int64."""
_MOST_CHANGES = 3
"""Maximum number of unknowns that one move changes."""
_KINDS = 4
"""Number of kinds of moves of one unknown."""


@attrs.frozen
class Effort:
    """The bounds of a search.

    Attributes:
        points: the points of one round, at least 1.
        rounds: the rounds of moves after the first points.
        parents: the best points that are moved.
    """

    points: int
    rounds: int
    parents: int = 24


@attrs.frozen(eq=False)
class Unknown:
    """A whole number that the search chooses.

    Attributes:
        domain: its range.
        scale: the integer that stands for 1; unknowns of one scale are compared.
        boundaries: the values that are tried before others.
        moves: whether it is changed at all.
    """

    domain: Domain
    scale: int
    boundaries: tuple[int, ...]
    moves: bool = True


@attrs.frozen(eq=False)
class Ranks:
    """The ranks of points.

    Attributes:
        faults: the number of conditions that each breaks; 0 is a point as it is wanted.
        merit: what is to be large; counts only between points with equal faults.
    """

    faults: Column
    merit: Column


@attrs.frozen(eq=False)
class Pool:
    """The best points by now, best first, each once."""

    points: Points
    ranks: Ranks

    @property
    def wanted(self) -> int:
        """The number of points without faults; they stand first."""
        return int(np.count_nonzero(self.ranks.faults == 0))


Rank = Callable[[Points], Ranks]


def climb(
    unknowns: Sequence[Unknown], starts: Points, rank: Rank, seed: int, effort: Effort
) -> Iterator[Pool]:
    """Yield the best points after each round.

    Args:
        unknowns: those that the points have, in order.
        starts: points to begin at, at least one.
        rank: ranks points; it is called once a round.
        seed: what the choices follow from.
        effort: the bounds.
    """
    bits = _Source(seed)
    near = _at_boundaries(unknowns, starts, effort.points)
    first = (starts, near, _moved(unknowns, starts, effort.points, bits))
    pool = _best(np.concatenate(first, axis=1), rank, effort.parents)
    yield pool
    for _ in range(effort.rounds):
        moved = _moved(unknowns, pool.points, effort.points, bits)
        pool = _best(moved, rank, effort.parents, pool)
        yield pool


def unknown_of(
    fact: Node, domain: Domain, constants: Iterable[Fraction], *, moves: bool = True
) -> Unknown:
    """Return a fact as an unknown; one that only code knows does not move.

    Args:
        fact: the fact.
        domain: its range.
        constants: numbers that it may be compared with.
        moves: whether it is changed.
    """
    low, high = max(domain.low, -_LARGEST), min(domain.high, _LARGEST)
    unit, scale = domain.unit, scale_of(fact)
    if high - low <= _FEW * unit:
        values = {*range(low, high + 1, unit)}
    else:
        middle = (low + high) // 2
        around = {int(constant * scale) for constant in {*constants, Fraction(0), Fraction(1)}}
        values = {low, high, middle, low + unit, high - unit}
        values |= {value + step for value in around for step in (-unit, 0, unit)}
    boundaries = sorted({v // unit * unit for v in values if low <= v // unit * unit <= high})
    # a truth is no number that another fact could equal
    return Unknown(
        attrs.evolve(domain, low=low, high=high),
        0 if fact.kind is Kind.TRUTH else scale,
        tuple(boundaries),
        moves and len(boundaries) > 1 and not is_opaque(fact),
    )


def constants_in(trees: Iterable[Node]) -> frozenset[Fraction]:
    """Return the numbers that stand in some trees."""
    return frozenset(Fraction(value_of(node)) for tree in trees for node in leaves(tree, "const"))


def _at_boundaries(unknowns: Sequence[Unknown], starts: Points, most: int) -> Points:
    """Return each start with one unknown at each of its boundaries; evenly chosen, if too many."""
    changes = [
        (start, index, value)
        for start in range(starts.shape[1])
        for index, unknown in enumerate(unknowns)
        if unknown.moves
        for value in unknown.boundaries
    ]
    changes = changes[:: max(1, -(-len(changes) // most))]
    if not changes:
        return starts[:, :0]
    which, index, value = np.array(changes, np.int64).T
    points = starts[:, which].copy()
    points[index, np.arange(len(changes))] = value
    return points


def _moved(unknowns: Sequence[Unknown], parents: Points, count: int, bits: _Source) -> Points:
    """Return points that differ from one of the parents in one to three unknowns."""
    points = parents[:, bits.below(parents.shape[1], count)].copy()
    moving = [index for index, unknown in enumerate(unknowns) if unknown.moves]
    if not moving:
        return points[:, :0]
    changes = bits.below(_MOST_CHANGES, count)
    for turn in range(_MOST_CHANGES):
        chosen = bits.below(len(moving), count)
        kinds, numbers = bits.below(_KINDS, count), bits.raw(count)
        for position, index in enumerate(moving):
            here = np.flatnonzero((chosen == position) & (turn <= changes))
            if len(here):
                change = kinds[here], numbers[here]
                points[index, here] = _changed(unknowns, index, points[:, here], *change)
    return points


def _changed(
    unknowns: Sequence[Unknown], index: int, points: Points, kinds: Column, numbers: Bits
) -> Column:
    """Return another value of an unknown at some points, by the kind of move of each."""
    unknown, value = unknowns[index], points[index]
    domain, boundaries = unknown.domain, np.array(unknown.boundaries, np.int64)
    span = (domain.high - domain.low) // domain.unit
    # the low bits choose, the high ones say by how much
    choice, amount = numbers & np.uint64(0xFFFFFFFF), numbers >> np.uint64(32)
    to_boundary = boundaries[(choice % np.uint64(len(boundaries))).astype(np.int64)]
    power = (amount % np.uint64(max(1, span.bit_length()))).astype(np.int64)
    sign = np.where(choice & np.uint64(1), 1, -1)
    by_step = value + sign * domain.unit * (np.int64(1) << power)
    peers = np.array([i for i, u in enumerate(unknowns) if u.scale == unknown.scale], np.int64)
    peer = peers[(choice % np.uint64(len(peers))).astype(np.int64)]
    near = (amount % np.uint64(3)).astype(np.int64) - 1
    to_peer = points[peer, np.arange(len(value))] + near * domain.unit
    anywhere = domain.low + (numbers % np.uint64(span + 1)).astype(np.int64) * domain.unit
    moved = np.choose(kinds, (to_boundary, by_step, to_peer, anywhere))
    inside = np.clip(moved // domain.unit * domain.unit, domain.low, domain.high)
    return np.asarray(inside, np.int64)


def _best(points: Points, rank: Rank, count: int, before: Pool | None = None) -> Pool:
    """Return the best of some points and those of before; of equals the new, so that they drift."""
    ranks = rank(points)
    if before is not None:
        points = np.concatenate((points, before.points), axis=1)
        old = before.ranks
        faults = np.concatenate((ranks.faults, old.faults))
        ranks = Ranks(faults, np.concatenate((ranks.merit, old.merit)))
    order = np.lexsort((-ranks.merit, ranks.faults))
    kept: dict[bytes, int] = {}
    for point in order.tolist():
        kept.setdefault(points[:, point].tobytes(), point)
        if len(kept) == count:
            break
    chosen = np.array([*kept.values()], np.int64)
    return Pool(points[:, chosen], Ranks(ranks.faults[chosen], ranks.merit[chosen]))


class _Source:
    """Bits that follow from a seed."""

    def __init__(self, seed: int) -> None:
        self._source = np.random.PCG64(seed)

    def raw(self, count: int) -> Bits:
        """Return numbers of 64 bits."""
        return np.asarray(self._source.random_raw(count), np.uint64)

    def below(self, limit: int, count: int) -> Column:
        """Return whole numbers from 0 to below a limit."""
        return np.asarray(self.raw(count) % np.uint64(limit), np.int64)


@attrs.frozen(eq=False)
class ScoredRows:
    """The values of rows that a search asks for; a row that nobody can decide has none.

    Attributes:
        decided: whether the values of each row are known.
        columns: the values, in nano; 0 where they are not known.
    """

    decided: Truths
    columns: Mapping[Value, Column]


@attrs.frozen(eq=False, slots=False)
class Space:
    """The facts of one skill type among which is searched.

    Attributes:
        bound: the skill type.
        thresholds: by which tiers begin.
        facts: those between which constraints hold, and which requirements read.
        values: the values that are computed.
    """

    bound: BoundType
    thresholds: Thresholds
    facts: tuple[Node, ...]
    values: tuple[Value, ...]
    plan: Plan = attrs.field(init=False)

    @cached_property
    def _conditions(self) -> FactConditions:
        return FactConditions({fact.digest: fact for fact in self.facts}, self.bound.domains, ())

    @plan.default
    def _planned(self) -> Plan:
        return Plan([Target(self.bound, self.values, self.bound.cuts(self.thresholds))])

    def faults(self, columns: Facts, count: int) -> Column:
        """Return the number of constraints and requirements that each row breaks."""
        faults = self._conditions.fault_columns(columns, count)
        # formulas are proved for what keeps the constraints alone
        sound = np.flatnonzero(faults == 0)
        for own in self.bound.requirements if len(sound) else ():
            read = {node.digest: columns[node.digest][sound] for node in own.compiled.reads}
            faults[sound] += own.compiled.nano_columns(read, {}, len(sound)) == 0
            sound = np.flatnonzero(faults == 0)
            if not len(sound):
                break
        return faults

    def scores(self, columns: Facts, count: int) -> ScoredRows:
        """Return the values of rows without faults."""
        try:
            (scores,) = self.plan.run(columns.__getitem__, count)
        except UndecidedError:
            return self._each(columns, count)
        named = {value: np.asarray(scores.columns[value], np.int64) for value in self.values}
        return ScoredRows(np.ones(count, np.bool_), named)

    def _each(self, columns: Facts, count: int) -> ScoredRows:
        """Return the same, half by half until the rows that nobody can decide stand alone."""
        if count == 1:
            return ScoredRows(
                np.zeros(1, np.bool_), dict.fromkeys(self.values, np.zeros(1, np.int64))
            )
        parts = []
        for rows in (slice(0, count // 2), slice(count // 2, count)):
            part = {digest: column[rows] for digest, column in columns.items()}
            parts.append(self.scores(part, len(range(count)[rows])))
        named = {
            value: np.concatenate([part.columns[value] for part in parts]) for value in self.values
        }
        return ScoredRows(np.concatenate([part.decided for part in parts]), named)


SUBMISSION = "submission"
"""The part of a record that its miner writes."""


def is_submitted(fact: Node) -> bool:
    """Return whether a fact reads something that the miner writes."""
    return any(path.split(".")[0] == SUBMISSION for path in reader_of(fact).paths(fact))


@attrs.frozen
class Move:
    """A record that a miner can bring about in place of another.

    Attributes:
        record: the record, as `score` takes it.
        value: what it scores, in nano, by the engine.
    """

    record: Mapping[str, Any]
    value: int


def best_moves(
    scorer: Scorer, record: Mapping[str, Any], value: Value, seed: int, effort: Effort
) -> tuple[Move, ...]:
    """Return what a miner can submit in place of a record that scores more, the best first.

    All that is not in the submission stays as it is. That there is nothing better is not said: it
    is a search.

    Args:
        scorer: the rule set, bound.
        record: a valid record with a submission.
        value: a value of its skill type, such as ``bound.quality`` or ``bound.emission``.
        seed: what the choices follow from.
        effort: the bounds.
    """
    bound = scorer.types[record["skill_type"]]
    reader = FactReader(bound.schema, bound.facts)
    facts = reader.integers(record)
    if facts is None:
        return ()
    thresholds = scorer.thresholds[bound.name]
    space = Space(bound, thresholds, bound.facts, (value,))
    constants = constants_in(
        tree for each in bound.values for tree in getattr(each, "trees", ())
    ) | {Fraction(gate.below, NANO) for gate in bound.gates}
    unknowns = [
        unknown_of(fact, bound.domains[fact.digest], constants, moves=is_submitted(fact))
        for fact in bound.facts
    ]
    starts = np.array([[number] for number in facts.values()], np.int64)
    before = _value_of(space, facts)
    pools = climb(unknowns, starts, lambda points: _ranked(space, points), seed, effort)
    *_, pool = pools
    reached = dict[int, Move]()
    for point in pool.points.T[: pool.wanted].tolist():
        asked = dict(zip(facts, point, strict=True))
        move = _built(space, reader, asked, record)
        if move is not None and move.value > before:
            reached.setdefault(move.value, move)
    return tuple(reached[gain] for gain in sorted(reached, reverse=True))


def _ranked(space: Space, points: Points) -> Ranks:
    """Return the ranks of rows of facts by the one value of a space."""
    digests, count = [fact.digest for fact in space.bound.facts], points.shape[1]
    faults = space.faults(dict(zip(digests, points, strict=True)), count)
    merit = np.zeros(count, np.int64)
    sound = np.flatnonzero(faults == 0)
    if len(sound):
        chosen = points[:, sound]
        scores = space.scores(dict(zip(digests, chosen, strict=True)), len(sound))
        faults[sound] += ~scores.decided
        merit[sound] = scores.columns[space.values[0]]
    return Ranks(faults, merit)


def _built(
    space: Space, reader: FactReader, asked: Mapping[str, int], record: Mapping[str, Any]
) -> Move | None:
    """Return the record with a submission that has the facts, as far as the rest allows it."""
    made = concrete_record_of(reader, asked, record)
    if made is None:
        return None
    # items that the submission shares with the task were written anew in both
    items = list(_rewritten({**made, SUBMISSION: None}, {**record, SUBMISSION: None}))
    moved = {**record, SUBMISSION: _with_items(made[SUBMISSION], items)}
    facts = reader.integers(moved)
    return None if facts is None else Move(moved, _value_of(space, facts))


def _rewritten(made: Any, record: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401  # JSON values
    """Yield the items of lists of one record with those in their places in another."""
    if isinstance(made, dict) and isinstance(record, dict):
        for name in made.keys() & record.keys():
            yield from _rewritten(made[name], record[name])
    elif isinstance(made, list) and isinstance(record, list):
        yield from zip(made, record, strict=False)


def _with_items(value: Any, items: Sequence[tuple[Any, Any]]) -> Any:  # noqa: ANN401  # JSON values
    """Return a value with other items in place of those that are written anew."""
    if isinstance(value, list):
        return [_with_items(inner, items) for inner in value]
    if not isinstance(value, dict):
        return next((old for new, old in items if new == value), value)
    for new, old in items:
        if isinstance(new, dict) and isinstance(old, dict) and new.items() <= value.items():
            return {**value, **old}
    return {name: _with_items(inner, items) for name, inner in value.items()}


def _value_of(space: Space, facts: Mapping[str, int]) -> int:
    """Return the value of one record by the engine; what does not apply counts as 1."""
    (value,) = space.values
    nano = walk(space.bound.values, facts, space.bound.cuts(space.thresholds))[value]
    return NANO if nano is None else nano
