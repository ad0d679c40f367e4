"""Bounds on the move of each value of a skill type, from one rule set to another.

The values are walked in their order, so that what a value reads has been bounded before. A formula
is compared with the old one as one tree: what moved stands in it as the old value plus how far it
moved, so that whatever both have alike cancels. Levels of tiers go in pairs, each with its own
multipliers. What no structure is found in has no bound: the ranges of both values say no more.

Thresholds are those of a state: where none is given, no bound supposes any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from math import ceil, floor
from operator import truediv

import attrs

from tallystick.formula.domain import Domain
from tallystick.formula.program import Program
from tallystick.formula.tree import Node, cases, const, names, published
from tallystick.numbers.nano import NANO
from tallystick.scoring.bound import BoundType
from tallystick.scoring.composite import Gate, Mean
from tallystick.scoring.tiers import Tiers
from tallystick.scoring.value import Value
from tallystick_governance.diff.formula_difference import MOST_CUTS, difference_of, meetings_of
from tallystick_governance.diff.geometric_mean import moved, reweighted
from tallystick_governance.diff.outcome import Direction, joined
from tallystick_governance.ranges import ONE, ZERO, InputRanges, Interval, composite_range, hull

ThresholdPair = tuple[Mapping[str, int], Mapping[str, int]]
"""Thresholds in nano by name, under old rules and under new ones."""
Pair = tuple[int, int]
"""An old and a new level, or an old and a new multiplier in nano."""
_ANY = Interval.of(-1, 1)
"""The move of an axis of which nothing is known."""
_UNIT = Interval.of(0, 1)


@attrs.frozen
class Move:
    """Bounds on the move of a value.

    Attributes:
        difference: the new value less the old one; None where no bound is known.
        ratio: the new exact value over the old one, wherever that is not 0, and where it is, so is
            the new one; None where no bound is known.
        is_exact: whether the ratio holds of published values too, rounded as they are.
        pairs: of a tier the old and new levels that can meet, of its multiplier their numbers.
    """

    difference: Interval | None
    ratio: Interval | None = None
    is_exact: bool = True
    pairs: tuple[Pair, ...] = ()

    @property
    def is_none(self) -> bool:
        """True if the value cannot move."""
        return self.difference is not None and self.difference.is_zero


UNKNOWN = Move(None)
STILL = Move(ZERO, ONE)


def moves(
    old: BoundType,
    new: BoundType,
    thresholds: ThresholdPair | None = None,
) -> Mapping[str, Move]:
    """Return how far each value that both types have can move, by name.

    Args:
        old: the type before.
        new: the type after.
        thresholds: in nano by name, before and after; without them any can hold.
    """
    comparison = _Comparison(old, new, thresholds)
    for value in new.values:
        before = comparison.before.get(value.name)
        if before is not None:
            comparison.found[value.name] = comparison.move(before, value)
    return comparison.found


def has_same_thresholds(old: BoundType, new: BoundType) -> bool:
    """Return whether one quality reaches the same level in both, whatever the state tracks."""
    before, after = (
        tiers and (tiers.cuts, tiers.tracked, {n: v.digest for n, v in tiers.formulas.items()})
        for tiers in (old.tiers, new.tiers)
    )
    return before == after and old.seeds == new.seeds


def threshold_directions(old: BoundType, new: BoundType) -> Mapping[str, Direction]:
    """Return which way each threshold of both types moves, whatever tracked ones come to.

    A tracked threshold moves as what it begins with does.
    """
    first, second = old.tiers, new.tiers
    if first is None or second is None:
        return {}
    steps = {name: new.seeds[name] - old.seeds[name] for name in first.tracked if name in new.seeds}
    directions = {name: Direction.of_step(0, step) for name, step in steps.items()}
    for name in {*first.formulas} & {*second.formulas}:
        before, after = first.formulas[name], second.formulas[name]
        trees = before.tree, after.tree
        read_names = {read for tree in trees for read in names(tree, "published")}
        if not read_names <= set(steps):
            directions[name] = Direction.BOTH  # a threshold of another threshold
            continue
        domains: dict[str, Domain] = {}
        for read in sorted(read_names):
            domains[read] = Domain(0, NANO)
            domains[f"{read}, moved"] = Domain(min(0, steps[read]), max(0, steps[read]))
        moved_tree = _replaced(
            after.tree, lambda read: published(read) + published(f"{read}, moved")
        )
        move = difference_of(moved_tree, before.tree, InputRanges({}, domains))
        directions[name] = Direction.of_interval(move)
    return directions


def _regions(
    tiers: Tiers, thresholds: Mapping[str, int], qualities: Interval
) -> dict[int, Interval]:
    """Return the qualities of each level that some quality has."""
    starts = tiers.starts(thresholds)
    ends = [0, *starts, NANO + 1]
    regions: dict[int, Interval] = {}
    for level, (begin, end) in enumerate(pairwise(ends)):
        low = max(Fraction(begin, NANO), qualities.low)
        high = min(Fraction(end - 1, NANO), qualities.high)
        if low <= high and begin < end:
            regions[level] = Interval(low, high)
    return regions


class _Comparison:
    def __init__(self, old: BoundType, new: BoundType, thresholds: ThresholdPair | None) -> None:
        self.old, self.new, self.thresholds = old, new, thresholds
        self.before = {value.name: value for value in old.values}
        self.after = {value.name: value for value in new.values}
        self.found: dict[str, Move] = {}

    def move(self, old: Value, new: Value) -> Move:
        """Return how far a value can move, after those that it reads."""
        if old.role != new.role:
            return UNKNOWN
        match new.role:
            case "tier":
                return self._tier()
            case "tier_multiplier":
                return self._multiplier(new)
        if old.operation == new.operation and self._has_same_inputs(old, new):
            return STILL
        if old.constant is not None and new.constant is not None:
            return _constant(old.constant, new.constant)
        if new.role == "quality":
            return self._known(old, new, self._gated())
        before, after = self.old.mean, self.new.mean
        if new.role == "composite" and before and after and before.kind == after.kind:
            return self._known(old, new, _published(self._mean(before, after)))
        return self._formula(old, new)

    def _has_same_inputs(self, old: Value, new: Value) -> bool:
        return all(self._is_still(value.name) for value in (*old.inputs, *new.inputs))

    def _is_still(self, name: str) -> bool:
        move = self.found.get(name)
        return move is not None and move.is_none

    def _axis(self, name: str) -> Interval:
        """Return the move of an axis; 0 for one that only one type has."""
        if name not in self.before or name not in self.after:
            return ZERO
        return self.found[name].difference or _ANY

    def _known(self, old: Value, new: Value, most: Interval | None) -> Move:
        """Return a move within an interval, if that is narrower than the ranges."""
        apart = range_of(new) - range_of(old)
        if most is None:
            return UNKNOWN
        narrowed = most.within(apart)
        if narrowed == apart and apart.low != apart.high:
            return UNKNOWN
        return Move(narrowed, _ratio_of(narrowed, range_of(old)))

    # tiers

    def _tier(self) -> Move:
        before, after = self.old.tiers, self.new.tiers
        if before is None or after is None:
            return UNKNOWN
        levels = range(len(before.levels)), range(len(after.levels))
        quality, same = self._quality_difference, has_same_thresholds(self.old, self.new)
        if self.thresholds is not None:
            return Move(None, pairs=tuple(self._pairs_by(self.thresholds, before, after)))
        rises, falls = (quality is None or quality.high > 0), (quality is None or quality.low < 0)
        if not same:
            way = self._thresholds_way(before, after)
            rises, falls = rises or Direction.FALL in way, falls or Direction.RISE in way
        pairs = [
            (first, second)
            for first, second in product(*levels)
            if (first <= second or falls) and (first >= second or rises)
        ]
        return Move(None, pairs=tuple(pairs))

    def _thresholds_way(self, old: Tiers, new: Tiers) -> Direction:
        """Return which way the thresholds of the levels move; both where that is not known."""
        if old.cuts != new.cuts or old.tracked != new.tracked:
            return Direction.BOTH
        directions = threshold_directions(self.old, self.new)
        return joined(directions.get(name, Direction.BOTH) for name in new.cuts)

    def _pairs_by(self, thresholds: ThresholdPair, old: Tiers, new: Tiers) -> Iterator[Pair]:
        """Yield the levels that a quality can have before and after, by thresholds that hold."""
        difference = self._quality_difference
        before = _regions(old, thresholds[0], range_of(self.old.quality))
        after = _regions(new, thresholds[1], range_of(self.new.quality))
        for (first, low), (second, high) in product(before.items(), after.items()):
            reached = low if difference is None else low + difference
            if difference is None or not (reached.high < high.low or high.high < reached.low):
                yield first, second

    @property
    def _quality_difference(self) -> Interval | None:
        """How far the quality moves; None where no bound is known."""
        return self.found["quality"].difference

    def _multiplier(self, new: Value) -> Move:
        before, after = self.old.tiers, self.new.tiers
        if before is None or after is None:
            return UNKNOWN
        numbers = before.multipliers, after.multipliers
        levels = self.found[new.inputs[0].name].pairs
        pairs = tuple(dict.fromkeys((numbers[0][i], numbers[1][j]) for i, j in levels))
        steps = [Fraction(after - before, NANO) for before, after in pairs]
        ratios = [_of_pair(pair) for pair in pairs if pair != (0, 0)]
        return Move(Interval(min(steps), max(steps)), hull(ratios), pairs=pairs)

    # means and gates

    def _mean(self, old: Mean, new: Mean) -> Interval:
        before, after = old.shares, new.shares
        ways = {name: self._axis(name) for name in {**before, **after}}
        if old.kind == "geometric":
            return reweighted(before, after) + moved(after, ways)
        apart = ZERO
        for name, way in ways.items():
            share = after.get(name, Fraction(0))
            apart += way * share + _UNIT * (share - before.get(name, Fraction(0)))
        return apart

    def _gated(self) -> Interval | None:
        """Bound each pair of cases: both open, both closed, or one gate closes or opens."""
        gates, gates_now = self.old.gates, self.new.gates
        free = self.found["composite"].difference
        if free is None:
            free = range_of(self.new.composite) - range_of(self.old.composite)
        closed, closed_now = _closed(gates), _closed(gates_now)
        outcomes = [free]
        if closed is not None and closed_now is not None:
            same = gates == gates_now and all(self._axis(g.axis).is_zero for g in gates)
            outcomes.append(ZERO if same else closed_now - closed)
        for axis in {gate.axis for gate in (*gates, *gates_now)}:
            below, below_now = _below(gates, axis), _below(gates_now, axis)
            way = self._axis(axis) if axis in self.before and axis in self.after else _ANY
            falls, rises = _nano(-way.low), _nano(way.high)
            if closed_now is not None and below_now and below < below_now + falls:
                lost = _composite_range(self.old, axis, below, below_now + falls - 1)
                outcomes.append(closed_now - lost)
            if closed is not None and below and below_now < below + rises:
                won = _composite_range(self.new, axis, below_now, below + rises - 1)
                outcomes.append(won - closed)
        return hull(outcomes)

    # formulas

    def _formula(self, old: Value, new: Value) -> Move:
        """Bound the new tree less the old one, over the inputs of both."""
        exact, product = self._difference(old, new), self._product(old, new)
        if product is not None and product.ratio is not None and product.is_exact:
            scaled = [(end - 1) * value for end in product.ratio for value in range_of(old)]
            most = Interval(min(scaled), max(scaled))
            exact = most if exact is None else exact.within(most)
        move = self._known(old, new, None if exact is None else _published(exact))
        if product is not None and product.ratio is not None:
            return attrs.evolve(move, ratio=product.ratio, is_exact=product.is_exact)
        quotient = self._quotient(old, new)
        return move if quotient is None else attrs.evolve(move, ratio=quotient, is_exact=False)

    def _difference(self, old: Value, new: Value) -> Interval | None:
        intervals = []
        first, second = _whole(old), _whole(new)
        for numbers in self._multipliers(first, second):
            domains: dict[str, Domain] = {}
            before = _replaced(first, partial(self._old, second, domains, numbers))
            after = _replaced(second, partial(self._new, first, domains, numbers))
            # of products of many pairs of levels one is as good as its parts
            cuts = 0 if numbers else MOST_CUTS
            intervals.append(difference_of(after, before, self._ranges(domains), cuts=cuts))
        return hull(intervals)

    def _ranges(self, published: Mapping[str, Domain]) -> InputRanges:
        """Return the ranges in records of both types, with those of published values."""
        facts = {**self.old.domains, **self.new.domains}
        required = tuple(r.condition for b in (self.old, self.new) for r in b.required)
        return InputRanges(facts, published, required)

    def _multipliers(self, old: Node, new: Node) -> Iterator[Mapping[str, Pair]]:
        """Yield each pair of multipliers, by name of the value; an empty one if none is read."""
        read = [n for n in names(old, "published") if n in names(new, "published")]
        paired = [n for n in read if n in self.found and self.found[n].pairs]
        for pairs in product(*(self.found[name].pairs for name in paired)):
            yield dict(zip(paired, pairs, strict=True))

    def _old(
        self, other: Node, domains: dict[str, Domain], numbers: Mapping[str, Pair], name: str
    ) -> Node:
        """Return the node for a value in the old tree: itself, or 1 and more where it went away."""
        if name in numbers:
            return const(Fraction(numbers[name][0], NANO))
        if name not in names(other, "published"):
            return _one_and_more(name, self.before[name].domain, domains)
        domains[name] = self.before[name].domain
        return published(name)

    def _new(
        self, other: Node, domains: dict[str, Domain], numbers: Mapping[str, Pair], name: str
    ) -> Node:
        """Return the node for a value in the new tree: the old one, and its move."""
        if name in numbers:
            return const(Fraction(numbers[name][1], NANO))
        if name not in names(other, "published"):
            return _one_and_more(name, self.after[name].domain, domains)
        old, new = self.before[name], self.after[name]
        domains[name] = old.domain
        way = self.found[name].difference
        if way is None:
            way = range_of(new) - range_of(old)
        if way.is_zero:
            return published(name)
        domains[f"{name}, moved"] = Domain(-_nano(-way.low), _nano(way.high))
        return published(name) + published(f"{name}, moved")

    def _quotient(self, old: Value, new: Value) -> Interval | None:
        """Return the factor of a formula, case by case, where all its inputs are as they were."""
        if any(not self._is_still(value.name) for value in (*old.inputs, *new.inputs)):
            return None
        domains = {value.name: value.domain for value in (*old.inputs, *new.inputs)}
        first, second = _whole(old), _whole(new)
        ranges = self._ranges(domains)

        def of_cases(join: Callable[[Node, Node], Node]) -> Interval | None:
            meetings = meetings_of(second, first, ranges)
            return hull(inside.range_of(join(one, other)) for inside, one, other in meetings)

        quotient = of_cases(truediv)
        if quotient is not None and quotient.low >= 0:
            return quotient
        scale = _scale(old.compiled.program, new.compiled.program)
        if scale is None:  # the old one can be 0
            return None
        rest = of_cases(lambda one, other: one - scale * other)
        return Interval(scale, scale) if rest is not None and rest.is_zero else None

    def _product(self, old: Value, new: Value) -> Move | None:
        """Return a product of published values: its ratio is the product of theirs."""
        first, second = _factors(old), _factors(new)
        if first is None or second is None or old.applies is not None or new.applies is not None:
            return None
        (before, coefficient), (after, coefficient_now) = first, second
        ratio, is_exact = ONE * (coefficient_now / coefficient), True
        for name in {**before, **after}:
            further = self._ratio_of_powers(name, before[name], after[name])
            if further is None:
                return Move(None)
            ratio = ratio.times(further)
            is_exact = is_exact and (name not in self.found or self.found[name].is_exact)
        return Move(None, ratio, is_exact)

    def _ratio_of_powers(self, name: str, before: int, after: int) -> Interval | None:
        if before == after:
            ratio = self.found[name].ratio if name in self.found else None
        elif not before and range_of(self.after[name]).low >= 0:
            ratio = range_of(self.after[name])
        elif not after and range_of(self.before[name]).low > 0:
            ratio = range_of(self.before[name]).inverse
        else:
            return None
        return None if ratio is None else ratio.power(max(before, after))


def _constant(old: int, new: int) -> Move:
    step = Fraction(new - old, NANO)
    return Move(Interval(step, step), _of_pair((old, new)))


def _of_pair(pair: Pair) -> Interval | None:
    """Return the ratio of two numbers; none of a number to 0."""
    if pair[0] == pair[1]:
        return ONE
    ratio = Fraction(pair[1], pair[0]) if pair[0] else None
    return None if ratio is None else Interval(ratio, ratio)


def _ratio_of(move: Interval, old: Interval) -> Interval | None:
    """Return the ratio of new to old of a positive value, from its move."""
    if old.low <= 0:
        return None
    ends = [1 + step / value for step in (move.low, move.high) for value in (old.low, old.high)]
    return Interval(max(min(ends), Fraction(0)), max(ends))


def _published(exact: Interval) -> Interval:
    """Return the move of published values from that of exact ones; rounding keeps the order."""
    low, high = (
        Fraction(floor(exact.low * NANO) - 1, NANO),
        Fraction(ceil(exact.high * NANO) + 1, NANO),
    )
    if exact.low >= 0:
        low = max(low, Fraction(0))
    if exact.high <= 0:
        high = min(high, Fraction(0))
    return Interval(low, high)


def range_of(value: Value) -> Interval:
    """Return the range of a value."""
    return Interval(Fraction(value.domain.low, NANO), Fraction(value.domain.high, NANO))


def _nano(value: Fraction) -> int:
    """Return a number in nano, rounded up."""
    return ceil(value * NANO)


def _below(gates: Iterable[Gate], axis: str) -> int:
    """Return the limit below which an axis closes a gate, in nano."""
    return max((gate.below for gate in gates if gate.axis == axis), default=0)


def _closed(gates: Iterable[Gate]) -> Interval | None:
    """Return the range of the quality where a gate is closed; None without gates."""
    composites = [Fraction(gate.composite, NANO) for gate in gates]
    return Interval(min(composites), max(composites)) if composites else None


def _composite_range(bound: BoundType, axis: str, low: int, high: int) -> Interval:
    """Return the range of a composite while one axis is in a range, in nano."""
    if bound.mean is None:
        return range_of(bound.composite)
    given = {
        read.name: (max(low, read.domain.low), max(min(high, read.domain.high), read.domain.low))
        for read in bound.composite.inputs
        if read.name == axis
    }
    least, most = composite_range(bound, given)
    return Interval(Fraction(least, NANO), Fraction(most, NANO))


def _whole(value: Value) -> Node:
    """Return the tree of a formula; 1 where it does not apply."""
    if value.applies is None:
        return value.tree
    return cases((value.applies.tree, value.tree), otherwise=1)


def _one_and_more(name: str, domain: Domain, domains: dict[str, Domain]) -> Node:
    """Return a value that only one tree reads, as 1 and what exceeds it."""
    domains[f"{name}, less 1"] = Domain(domain.low - NANO, domain.high - NANO)
    return 1 + published(f"{name}, less 1")


def _replaced(tree: Node, value: Callable[[str], Node]) -> Node:
    """Return a tree with other nodes in the place of published values."""
    if tree.op == "published":
        return value(str(tree.data[0]))
    if not names(tree, "published"):
        return tree
    return attrs.evolve(tree, args=tuple(_replaced(arg, value) for arg in tree.args))


def _scale(old: Program, new: Program) -> Fraction | None:
    """Return the factor by which a formula may have been scaled, by a term of an arm."""
    for before, after in zip(old.arms, new.arms, strict=False):
        for monomial, coefficient in before.numerator.items():
            below, above = before.denominator, after.denominator
            number = after.numerator.get(monomial)
            shared = next((term for term in below if term in above), None)
            if number and shared is not None:
                return Fraction(number * below[shared], coefficient * above[shared])
    return None


def _factors(value: Value) -> tuple[Counter[str], Fraction] | None:
    """Return the powers of a product of published values, and its number; None otherwise.

    None of them is below 0, so the product is 0 only where a factor is.
    """
    factors, scale = value.compiled.program.product or ((), Fraction())
    inputs = {read.name: read for read in value.inputs}
    read = [inputs[str(node.data[0])] for node in factors if node.op == "published"]
    if not factors or len(read) < len(factors) or any(each.domain.low < 0 for each in read):
        return None
    return Counter(each.name for each in read), scale * NANO ** len(factors)
