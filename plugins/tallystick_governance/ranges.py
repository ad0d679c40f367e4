"""Ranges of formulas over the records that something is asked about, narrowed by boxes.

Conditions on the records narrow what a formula can be, and cutting the ranges of what it reads into
boxes narrows it further. Every range is sound after any number of cuts, so that their number is a
budget and decides nothing but how narrow the range is.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import count
from math import isqrt

import attrs

from tallystick.errors import FormulaError, UndecidedError
from tallystick.formula.domain import Domain
from tallystick.formula.evaluate import evaluate
from tallystick.formula.lowering import is_possible, lower
from tallystick.formula.tree import Node, leaves, published
from tallystick.scoring.bound import BoundType
from tallystick.scoring.compiled import compile_tree

_PATIENCE = 12
"""Cuts in a row that narrow nothing, after which no further box is cut."""
_WIDE = 4
"""Ranges of positive numbers whose ends have a larger ratio are cut at their geometric mean."""
MOST = Fraction(10**40)
"""More than a formula can be, whose published values have 64 bits."""

Range = tuple[int, int]
"""The smallest and the largest value, in nano."""
Box = Mapping[str, Domain]
"""A range for each fact and each published value, by digest and by name."""


@attrs.frozen
class Interval:
    """The numbers from ``low`` to ``high``."""

    low: Fraction
    high: Fraction

    @classmethod
    def of(cls, low: Fraction | int, high: Fraction | int) -> Interval:
        """Return the interval between two numbers."""
        return cls(Fraction(low), Fraction(high))

    @property
    def is_zero(self) -> bool:
        """True if the interval is 0 alone."""
        return not self.low and not self.high

    def __iter__(self) -> Iterator[Fraction]:
        yield from (self.low, self.high)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, factor: Fraction) -> Interval:
        return Interval(*sorted((self.low * factor, self.high * factor)))

    @property
    def inverse(self) -> Interval:
        """The reciprocals of its numbers, which are above 0."""
        return Interval(1 / self.high, 1 / self.low)

    def times(self, other: Interval) -> Interval:
        """Return the products; no number of either is below 0."""
        return Interval(self.low * other.low, self.high * other.high)

    def power(self, exponent: int) -> Interval:
        """Return the powers of its numbers, none of which is below 0."""
        return Interval(self.low**exponent, self.high**exponent)

    def within(self, other: Interval) -> Interval:
        """Return the intersection; the intervals are known to meet."""
        return Interval(max(self.low, other.low), min(self.high, other.high))

    def around(self, other: Interval) -> Interval:
        """Return the smallest interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))


def hull(intervals: Iterable[Interval | None]) -> Interval | None:
    """Return the smallest interval that holds all of some; None with one that is not known."""
    union: Interval | None = None
    for interval in intervals:
        if interval is None:
            return None
        union = interval if union is None else union.around(interval)
    return union


ZERO = Interval.of(0, 0)
ONE = Interval.of(1, 1)


def _sorted(domains: Mapping[str, Domain]) -> tuple[tuple[str, Domain], ...]:
    return tuple(sorted(domains.items(), key=lambda item: item[0]))


def _digests(conditions: tuple[Node, ...]) -> tuple[str, ...]:
    return tuple(condition.digest for condition in conditions)


@attrs.frozen
class InputRanges:
    """The ranges of what formulas read, in the records that they are asked about.

    Attributes:
        facts: the range of each fact, by digest.
        published: the range of each published value, by name.
        required: conditions that every one of the records meets.
    """

    facts: Mapping[str, Domain] = attrs.field(eq=_sorted)
    published: Mapping[str, Domain] = attrs.field(eq=_sorted)
    required: tuple[Node, ...] = attrs.field(default=(), eq=_digests)

    def range_of(self, tree: Node) -> Interval | None:
        """Return the range of a tree; None where it cannot be bounded, or there is no record."""
        try:
            program = lower(tree, self.facts, self.published, self.required)
        except FormulaError:
            return None
        return Interval(program.low, program.high)

    @property
    def is_empty(self) -> bool:
        """True if ranges, or the conditions alone, show that no record meets all of them."""
        if _is_contradiction(self.required):
            return True
        return not is_possible(self.required, self.facts, self.published)

    def of(self, *trees: Node) -> InputRanges:
        """Return the same records by no more than trees read, and the conditions about that."""
        read = {node.digest for tree in trees for node in _read(tree)}
        conditions = {c.digest: (c, {node.digest for node in _read(c)}) for c in self.required}
        kept: set[str] = set()
        while more := [d for d, (_, own) in conditions.items() if d not in kept and own & read]:
            kept.update(more)
            read = read.union(*(conditions[digest][1] for digest in more))
        return InputRanges(
            {digest: domain for digest, domain in self.facts.items() if digest in read},
            {n: domain for n, domain in self.published.items() if published(n).digest in read},
            tuple(condition for digest, (condition, _) in conditions.items() if digest in kept),
        )

    def furthest(
        self,
        tree: Node,
        sign: int,
        cuts: int,
        is_enough: Callable[[Fraction], bool] = lambda _: False,
    ) -> Fraction | None:
        """Return the largest value of a tree, or for the sign −1 that of its negative, or more.

        The box that reaches furthest is cut next, so that what is left never reaches further.

        Args:
            tree: its parameters are bound.
            sign: 1 or −1.
            cuts: the maximum number of boxes that are cut.
            is_enough: says of a bound that no narrower one is asked for.

        Returns:
            The bound, `MOST` where none is found; None where there is no record.
        """
        whole: Box = {**self.facts, **self.published}
        order = count()
        boxes, parts = list[tuple[Fraction, int, Box]](), [whole]
        reach, in_vain = MOST, 0
        for left in range(cuts, -1, -1):
            for part in parts:
                inside = self._inside(part)
                interval = inside.range_of(tree)
                if interval is not None:
                    end = interval.high if sign > 0 else -interval.low
                    heapq.heappush(boxes, (-min(reach, end), next(order), part))
                elif not inside.is_empty:
                    heapq.heappush(boxes, (-reach, next(order), part))
            if not boxes:
                return None
            in_vain = in_vain + 1 if -boxes[0][0] == reach else 0
            reach, parts = -boxes[0][0], _halves(boxes[0][-1], whole)
            if not left or not parts or in_vain > _PATIENCE or is_enough(reach):
                break
            heapq.heappop(boxes)
        return reach

    def _inside(self, box: Box) -> InputRanges:
        """Return those of the records that are in a box."""
        facts, published = ({n: box[n] for n in of} for of in (self.facts, self.published))
        return attrs.evolve(self, facts=facts, published=published)


def _is_contradiction(conditions: Iterable[Node]) -> bool:
    """Return whether comparisons with numbers leave none for an expression, whatever it reads.

    The lowering does not see that of a quotient, whose divisor each comparison multiplies out.
    """
    # by expression the tightest end on each side; above with its sign turned, so both are greatest
    lows, highs = dict[str, tuple[Fraction, bool]](), dict[str, tuple[Fraction, bool]]()
    pending = [(condition, True) for condition in conditions]
    while pending:
        node, holds = pending.pop()
        if node.op == "label":
            pending.append((node.args[0], holds))
        elif node.op == "not":
            pending.append((node.args[0], not holds))
        elif node.op in {"and", "or"} and (node.op == "and") is holds:
            pending += [(part, holds) for part in node.args]
        elif node.op in {"lt", "le"}:
            is_open = (node.op == "lt") is holds
            left, right = (side.unlabelled for side in node.args)
            if (number := _number_of(right)) is not None:
                tree, is_above = left, not holds
            elif (number := _number_of(left)) is not None:
                tree, is_above = right, holds
            else:
                continue
            ends, end = (lows, number) if is_above else (highs, -number)
            ends[tree.digest] = max((end, is_open), ends.get(tree.digest, (end, is_open)))
    for name in lows.keys() & highs.keys():
        (low, low_open), (high, high_open) = lows[name], highs[name]
        if low > -high or (low == -high and (low_open or high_open)):
            return True
    return False


def _number_of(tree: Node) -> Fraction | None:
    """Return the number of an expression that reads nothing; None of an irrational one."""
    if leaves(tree, "fact") or leaves(tree, "published"):
        return None
    try:
        number = evaluate(tree, {}, {})
    except (FormulaError, UndecidedError, ZeroDivisionError):  # it is not asked there
        return None
    return number if isinstance(number, Fraction) else None


def _read(tree: Node) -> list[Node]:
    """Return the facts and published values that a tree reads."""
    return [*leaves(tree, "fact"), *leaves(tree, "published")]


def _halves(box: Box, whole: Box) -> list[Box]:
    """Return two boxes that make up a box, across the range that is widest beside its whole."""
    widths = {
        name: Fraction(domain.high - domain.low, whole[name].high - whole[name].low)
        for name, domain in box.items()
        if not domain.is_one
    }
    if not widths:
        return []
    name = max(widths, key=lambda each: widths[each])
    low, high = box[name].low, box[name].high
    middle = isqrt(low * high) if 0 < _WIDE * low < high else (low + high) // 2
    return [{**box, name: half} for half in box[name].cut(middle)]


def composite_range(bound: BoundType, given: Mapping[str, Range]) -> Range:
    """Return the range of the composite before its gates, where some axes have given ranges."""
    composite = bound.composite
    domains = {
        axis.name: Domain(*given[axis.name]) if axis.name in given else axis.domain
        for axis in composite.inputs
    }
    domain = compile_tree(composite.tree, {}, domains).program.domain
    return domain.low, domain.high
