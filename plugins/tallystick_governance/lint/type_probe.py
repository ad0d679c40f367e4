"""A skill type as a function of its facts, to try records that nobody has sent.

What published values can be holds for every valid record; it may say more than records can reach,
never less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod

import attrs

from tallystick.formula.domain import Domain
from tallystick.formula.evaluate import Facts
from tallystick.formula.facts import path_of, reader_of, scale_of
from tallystick.formula.text import decimal_text
from tallystick.formula.tree import Node, facts_in, leaves, names
from tallystick.scoring.bound import BoundType
from tallystick.scoring.computation import needed
from tallystick.scoring.scores import walk
from tallystick.scoring.value import Value
from tallystick_conformance.testing.fact_conditions import FactConditions
from tallystick_governance.ranges import Range

MOST = 1 << 12
"""Maximum number of combinations of facts that are tried one by one; beyond it the range."""


@attrs.frozen(eq=False, slots=False)
class TypeProbe:
    """One skill type, to be tried."""

    bound: BoundType

    @cached_property
    def facts(self) -> Mapping[str, Node]:
        """The facts that records are scored by, by digest."""
        return {fact.digest: fact for fact in self.bound.facts}

    @property
    def domains(self) -> Mapping[str, Domain]:
        """The range of each fact, by digest."""
        return self.bound.domains

    @cached_property
    def read(self) -> frozenset[str]:
        """The digests of the facts that axes or requirements read."""
        trees = [axis.tree for axis in self.bound.axes]
        trees += [requirement.condition for requirement in self.bound.required]
        return frozenset(facts_in(*trees))

    @cached_property
    def _to_quality(self) -> tuple[Value, ...]:
        return self.bound.values[: self.bound.values.index(self.bound.quality) + 1]

    @cached_property
    def _conditions(self) -> FactConditions:
        required = tuple(requirement.condition for requirement in self.bound.required)
        return FactConditions(self.facts, self.domains, required)

    def reads(self, node: Node) -> tuple[str, ...]:
        """Return the digests of the facts that decide a node, also through published axes."""
        read = facts_in(node, *(axis.tree for axis in self.axes_of(node)))
        return tuple(digest for digest in self.domains if digest in read)

    def axes_of(self, node: Node) -> tuple[Value, ...]:
        """Return the axes that decide a node, each after those that it reads."""
        read = names(node, "published")
        return needed(self.bound.axes, [axis for axis in self.bound.axes if axis.name in read])

    def faults(self, facts: Facts) -> int:
        """Return the number of conditions of a valid record that these facts break."""
        return self._conditions.faults(facts)

    def allows(self, facts: Facts) -> bool:
        """Return whether these facts break no condition of a valid record."""
        return not self.faults(facts)

    def axes(self, facts: Facts) -> dict[str, int]:
        """Return the published axes, in nano."""
        values = walk(self.bound.axes, facts)
        return {axis.name: values[axis] or 0 for axis in self.bound.axes}

    def quality(self, facts: Facts) -> int:
        """Return the composite after its gates, in nano."""
        return walk(self._to_quality, facts)[self.bound.quality] or 0

    def shown(self, facts: Facts) -> dict[str, str]:
        """Return the facts that count, for people: reader and path with the value."""
        return {
            name_of(fact): decimal_text(Fraction(facts[digest], scale_of(fact)))
            for digest, fact in self.facts.items()
            if digest in self.read
        }


def name_of(fact: Node) -> str:
    """Return a fact as an author writes it, such as ``number(checks.seconds)``."""
    reader = reader_of(fact)
    return f"{reader.name}({', '.join(reader.paths(fact) or (path_of(fact),))})"


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
        """Return the values below an edge: each by itself, or all as one range; often none."""
        if self.listed is not None:
            return tuple((value, value) for value in self.listed if value < edge)
        return ((self.low, min(self.high, edge - 1)),) if self.low < edge else ()


def values_of(bound: BoundType, axis: Value) -> Values:
    """Return the values that an axis of a type can have."""
    domain, tree = axis.domain, axis.tree
    facts = leaves(tree, "fact")
    domains = [bound.domains[fact.digest] for fact in facts]
    if names(tree, "published") or prod(d.high - d.low + 1 for d in domains) > MOST:
        return Values(domain.low, domain.high, None)
    results = {axis.compiled.nano(integers, {}) for integers in _combinations(bound, facts)}
    listed = tuple(sorted(results))
    return Values(listed[0], listed[-1], listed) if listed else Values(domain.low, domain.high, ())


def _combinations(bound: BoundType, facts: Sequence[Node]) -> Iterator[Facts]:
    """Yield combinations of some facts that their relations and the requirements allow."""
    domains = {fact.digest: bound.domains[fact.digest] for fact in facts}
    required = tuple(requirement.condition for requirement in bound.required)
    conditions = FactConditions(facts_in(*facts), domains, required)
    for chosen in product(*(range(domain.low, domain.high + 1) for domain in domains.values())):
        integers = dict(zip(domains, chosen, strict=True))
        if not conditions.faults(integers):
            yield integers
