"""What published values can be: the values of an axis, the range of a composite.

Everything here holds for every valid record; it may say more than records can reach, never less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

import attrs

from tallystick.formula.domain import Domain, relations
from tallystick.formula.tree import Node, leaves, names
from tallystick.numbers.nano import publish
from tallystick.scoring.bound import BoundType
from tallystick.scoring.compiled import compile_tree
from tallystick.scoring.value import Value

MOST = 1 << 12
"""So many combinations of facts are tried one by one; with more only the range is known."""

Range = tuple[int, int]
"""The smallest and the largest, in nano."""


@attrs.frozen
class Values:
    """The values that an axis can have, in nano.

    Attributes:
        low: the smallest.
        high: the largest.
        listed: all of them, ascending; None where they are too many to try.
    """

    low: int
    high: int
    listed: tuple[int, ...] | None

    def below(self, edge: int) -> tuple[Range, ...]:
        """The values below an edge: each by itself, or all as one range; often none."""
        if self.listed is not None:
            return tuple((value, value) for value in self.listed if value < edge)
        return ((self.low, min(self.high, edge - 1)),) if self.low < edge else ()


def values_of(bound: BoundType, axis: Value) -> Values:
    """What an axis of a type can be."""
    domain, tree = axis.domain, axis.compiled.tree
    facts = leaves(tree, "fact")
    ranges = [bound.domains[fact.digest] for fact in facts]
    if names(tree, "published") or prod(r.high - r.low + 1 for r in ranges) > MOST:
        return Values(domain.low, domain.high, None)
    found = {axis.compiled.nano(given, {}) for given in _combinations(bound, facts, ranges)}
    listed = tuple(sorted(found))
    return Values(listed[0], listed[-1], listed) if listed else Values(domain.low, domain.high, ())


def composite_range(bound: BoundType, given: Mapping[str, Range]) -> Range:
    """The range of the composite before its gates, where some axes have the given ranges."""
    ranges = {axis.name: (axis.domain.low, axis.domain.high) for axis in bound.axes} | dict(given)
    composite = bound.composite
    if composite.formula is not None:
        domains = {name: Domain(low, high) for name, (low, high) in ranges.items()}
        program = compile_tree(composite.formula.tree, {}, domains).program
        return publish(program.low), publish(program.high)
    # a weighted mean grows with every axis
    low, high = ({name: ends[end] for name, ends in ranges.items()} for end in (0, 1))
    return composite.ungated(low), composite.ungated(high)


def highest_quality(bound: BoundType) -> int:
    """The largest composite after its gates, in nano."""
    gated = [gate.composite for gate in bound.composite.gates]
    return max(composite_range(bound, {})[1], *gated, 0)


def positions_of(bound: BoundType) -> dict[str, int]:
    """The place of each fact among those of a type, by digest."""
    return {fact.digest: place for place, fact in enumerate(bound.facts)}


def _combinations(
    bound: BoundType, facts: Sequence[Node], ranges: Sequence[Domain]
) -> Iterator[list[int]]:
    """Every combination of some facts that what they count and the requirements allow."""
    places = positions_of(bound)
    own = [places[fact.digest] for fact in facts]
    order = [(places[s.digest], places[g.digest]) for s, g in relations(facts)]
    asked = [compiled for r, compiled in bound.requirements if _reads_only(r.condition, facts)]
    for chosen in product(*(range(r.low, r.high + 1) for r in ranges)):
        given = [0] * len(bound.facts)
        for place, value in zip(own, chosen, strict=True):
            given[place] = value
        if all(given[s] <= given[g] for s, g in order) and all(c.holds(given) for c in asked):
            yield given


def _reads_only(condition: Node, facts: Sequence[Node]) -> bool:
    known = {fact.digest for fact in facts}
    return all(fact.digest in known for fact in leaves(condition, "fact"))
