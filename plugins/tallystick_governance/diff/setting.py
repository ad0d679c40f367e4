"""Records by the ranges of what is read of them, and bounds on a formula over these.

The ranges are cut into boxes, such that what a formula reads twice is the same in both places, or
nearly. Every bound is sound after any number of cuts, so that their number is a budget and decides
nothing but how narrow the bound is.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import count
from math import isqrt

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.lowering import lower
from tallystick.formula.tree import Node, const, leaves, names, published
from tallystick_governance.diff.interval import Interval

_PATIENCE = 12
"""Cuts in a row that narrow nothing, after which no further box is cut."""
_WIDE = 4
"""Ranges of positive numbers whose ends have a larger ratio are cut at their geometric mean."""
MOST = Fraction(10**40)
"""More than a difference of formulas can be, whose published values have 64 bits."""

Box = Mapping[str, Domain]
"""A range for each fact and each published value, by digest and by name."""


@attrs.frozen
class Setting:
    """The records that two formulas are compared over.

    Attributes:
        facts: the range of each fact, by digest.
        published: the range of each published value, by name.
        required: conditions that every record meets.
    """

    facts: Mapping[str, Domain]
    published: Mapping[str, Domain]
    required: tuple[Node, ...] = ()

    def range_of(self, tree: Node) -> Interval | None:
        """Return the range of a tree; None where it cannot be bounded."""
        further = {n: None for c in self.required for n in names(c, "published")}
        try:
            # lowering knows the published values that the tree reads, not those of conditions
            for name in further:
                if name not in names(tree, "published"):
                    tree = tree + 0 * published(name)
            program = lower(tree, self.facts, self.published, self.required)
        except FormulaError:
            return None
        return Interval(program.low, program.high)

    def of(self, *trees: Node) -> Setting:
        """Return the same records by no more than trees read, and the conditions about that."""
        read = {node.digest for tree in trees for node in inputs_of(tree)}
        conditions = {c.digest: (c, {node.digest for node in inputs_of(c)}) for c in self.required}
        kept: set[str] = set()
        while more := [d for d, (_, own) in conditions.items() if d not in kept and own & read]:
            kept.update(more)
            read = read.union(*(conditions[digest][1] for digest in more))
        return Setting(
            {digest: domain for digest, domain in self.facts.items() if digest in read},
            {n: domain for n, domain in self.published.items() if published(n).digest in read},
            tuple(condition for digest, (condition, _) in conditions.items() if digest in kept),
        )

    def _inside(self, box: Box) -> Setting:
        """Return the records of these that are in a box."""
        facts, published = ({n: box[n] for n in of} for of in (self.facts, self.published))
        return attrs.evolve(self, facts=facts, published=published)

    @property
    def key(self) -> tuple[object, ...]:
        """The key that tells settings apart."""
        return (
            tuple(sorted(self.facts.items(), key=lambda item: item[0])),
            tuple(sorted(self.published.items(), key=lambda item: item[0])),
            tuple(condition.digest for condition in self.required),
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
                elif inside.range_of(const(0)) is not None:  # else no record is in it
                    heapq.heappush(boxes, (-reach, next(order), part))
            if not boxes:
                return None
            in_vain = in_vain + 1 if -boxes[0][0] == reach else 0
            reach, parts = -boxes[0][0], _halves(boxes[0][-1], whole)
            if not left or not parts or in_vain > _PATIENCE or is_enough(reach):
                break
            heapq.heappop(boxes)
        return reach


def inputs_of(tree: Node) -> list[Node]:
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
