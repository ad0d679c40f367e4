"""Borders: where the smallest change of one fact turns a comparison in a formula.

A fact is *continuous* when it is a decimal in nano; of a whole number the smallest change is a
whole step, which no border is needed to feel. A border is a pair of records that differ in one
continuous fact by one nano, such that a comparison holds for one of them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice, pairwise, product
from operator import eq, le, lt

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.evaluate import evaluate
from tallystick.formula.facts import scale_of
from tallystick.formula.tree import Node, arms_of, leaves, value_of, walk
from tallystick.governance.lint.type_probe import TypeProbe
from tallystick.numbers.nano import NANO

_MEANING: Mapping[str, Callable[[Fraction, Fraction], bool]] = {"lt": lt, "le": le, "eq": eq}
_SURROUNDINGS = 64
"""So many combinations of the other facts of a comparison are tried."""
_BORDERS = 6
"""So many borders of one comparison and one fact are enough."""


@attrs.frozen(eq=False)
class Discontinuity:
    """Two neighbouring records on both sides of a comparison.

    Attributes:
        comparison: the node that turns.
        place: of the fact that differs.
        below: the facts before.
        above: the same with one nano more.
        fixed: the places of all facts that the comparison reads.
    """

    comparison: Node
    place: int
    below: tuple[int, ...]
    above: tuple[int, ...]
    fixed: tuple[int, ...]

    def moved(self, place: int, value: int) -> Discontinuity:
        """The same border with another value of a fact that the comparison does not read."""
        sides = (list(self.below), list(self.above))
        for side in sides:
            side[place] = value
        return attrs.evolve(self, below=tuple(sides[0]), above=tuple(sides[1]))


def comparisons_of(tree: Node) -> Iterator[Node]:
    """The comparisons that choose between the arms of a formula."""
    for node in walk(tree):
        if node.op == "cases":
            for condition, _ in arms_of(node)[0]:
                yield from (n for n in walk(condition) if n.op in _MEANING)


def discontinuities_of(
    scene: TypeProbe, comparison: Node, start: Sequence[int]
) -> Iterator[Discontinuity]:
    """Some borders of a comparison; facts that it does not read are as at the start."""
    fixed = scene.reads(comparison)
    for place in fixed:
        if scale_of(scene.bound.facts[place]) == NANO:
            every = _along(scene, comparison, place, fixed, start)
            yield from islice(every, _BORDERS)


def sides(
    scene: TypeProbe, comparison: Node, facts: Sequence[int]
) -> tuple[Fraction, Fraction] | None:
    """The two values that a comparison compares; None where a division is by zero."""
    given = dict(zip(scene.places, facts, strict=True))
    published: dict[str, int] = {}
    try:
        for axis in scene.axes_of(comparison):
            published[axis.name] = axis.compiled.nano(facts, published)
        left, right = (evaluate(side, given, published) for side in comparison.args)
    except (FormulaError, ZeroDivisionError):  # no record comes there, or it is not asked there
        return None
    return left, right


def _along(
    scene: TypeProbe, comparison: Node, place: int, fixed: Sequence[int], start: Sequence[int]
) -> Iterator[Discontinuity]:
    others = [other for other in fixed if other != place]
    tried = product(*(_tried(scene, other) for other in others))
    for chosen in islice(tried, _SURROUNDINGS):
        facts = list(start)
        for other, value in zip(others, chosen, strict=True):
            facts[other] = value
        for low, high in pairwise(_anchors(scene, comparison, place)):
            found = _turn(scene, comparison, facts, place, (low, high))
            if found is not None:
                below, above = (_with(facts, place, value) for value in (found, found + 1))
                yield Discontinuity(comparison, place, below, above, tuple(fixed))


def _tried(scene: TypeProbe, place: int) -> list[int]:
    domain = scene.domains[place]
    middle = (domain.low + domain.high) // 2
    few = {domain.high, min(domain.low + 1, domain.high), middle} - {domain.low}
    # a border where something is nothing is the least telling
    return [*sorted(few), domain.low]


def _anchors(scene: TypeProbe, comparison: Node, place: int) -> list[int]:
    """Values of a fact between which a comparison may turn: the ends, and near its constants."""
    domain = scene.domains[place]
    near = {domain.low, domain.high}
    for constant in leaves(comparison, "const"):
        middle = int(value_of(constant) * NANO)
        near |= {middle - 1, middle, middle + 1}
    return sorted(value for value in near if domain.low <= value <= domain.high)


def _turn(
    scene: TypeProbe, comparison: Node, facts: list[int], place: int, ends: tuple[int, int]
) -> int | None:
    """The last value of a fact at which a comparison is as at the lower end, if it turns."""
    low, high = ends
    first, last = (_holds(scene, comparison, _with(facts, place, value)) for value in ends)
    if first is None or last is None or first == last:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        holds = _holds(scene, comparison, _with(facts, place, middle))
        if holds is None:
            return None
        low, high = (middle, high) if holds == first else (low, middle)
    return low


def _holds(scene: TypeProbe, comparison: Node, facts: Sequence[int]) -> bool | None:
    compared = sides(scene, comparison, facts)
    if compared is None:
        return None
    left, right = compared
    return _MEANING[comparison.op](left, right)


def _with(facts: Sequence[int], place: int, value: int) -> tuple[int, ...]:
    return (*facts[:place], value, *facts[place + 1 :])
