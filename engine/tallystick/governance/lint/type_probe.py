"""A skill type as a function of its facts, to try records that nobody has sent.

Facts are integers, one for each of ``BoundType.facts``, as extraction gives them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property

import attrs

from tallystick.formula.domain import Domain, relations
from tallystick.formula.facts import arguments_of, path_of, reader_of, scale_of
from tallystick.formula.text import decimal_text
from tallystick.formula.tree import Node, leaves, names
from tallystick.governance.lint.reach import positions_of
from tallystick.scoring.bound import BoundType
from tallystick.scoring.value import Value


@attrs.frozen(eq=False, slots=False)
class TypeProbe:
    """One skill type, to be tried."""

    bound: BoundType

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each fact, by digest."""
        return positions_of(self.bound)

    @cached_property
    def domains(self) -> tuple[Domain, ...]:
        """The range of each fact."""
        return tuple(self.bound.domains.values())

    @cached_property
    def read(self) -> frozenset[str]:
        """The digests of the facts that axes or requirements read."""
        trees = [axis.compiled.tree for axis in self.bound.axes]
        trees += [requirement.condition for requirement, _ in self.bound.requirements]
        return frozenset(fact.digest for tree in trees for fact in leaves(tree, "fact"))

    @cached_property
    def _ordered(self) -> tuple[tuple[int, int], ...]:
        pairs = relations(self.bound.facts)
        return tuple((self.places[s.digest], self.places[g.digest]) for s, g in pairs)

    @cached_property
    def _absent(self) -> tuple[tuple[int, int, int], ...]:
        """Where a value is not given: its presence, the number that reads it, what that is then."""
        presence = {path_of(f): f for f in self.bound.facts if reader_of(f) == "given"}
        return tuple(
            (self.places[presence[path_of(f)].digest], self.places[f.digest], arguments_of(f)[0])
            for f in self.bound.facts
            if reader_of(f) in ("number", "integer") and arguments_of(f)
            if path_of(f) in presence
        )

    def reads(self, node: Node) -> tuple[int, ...]:
        """The places of the facts that decide a node, also through published axes."""
        found = {self.places[fact.digest] for fact in leaves(node, "fact")}
        for axis in self.axes_of(node):
            found |= {self.places[fact.digest] for fact in leaves(axis.compiled.tree, "fact")}
        return tuple(sorted(found))

    def axes_of(self, node: Node) -> tuple[Value, ...]:
        """The axes that decide a node, each after those that it reads."""
        needed = set(names(node, "published"))
        for axis in reversed(self.bound.axes):
            if axis.name in needed:
                needed |= set(axis.formula.published)
        return tuple(axis for axis in self.bound.axes if axis.name in needed)

    def faults(self, facts: Sequence[int]) -> int:
        """How much keeps a valid record from having these facts, as far as they say; 0: nothing."""
        return (
            sum(facts[small] > facts[large] for small, large in self._ordered)
            + sum(not facts[there] and facts[n] != none for there, n, none in self._absent)
            + sum(not compiled.holds(facts) for _, compiled in self.bound.requirements)
        )

    def allows(self, facts: Sequence[int]) -> bool:
        """Whether a valid record may have these facts, as far as they say."""
        return not self.faults(facts)

    def axes(self, facts: Sequence[int]) -> dict[str, int]:
        """The published axes, in nano."""
        found: dict[str, int] = {}
        for axis in self.bound.axes:
            found[axis.name] = axis.compiled.nano(facts, found)
        return found

    def quality(self, facts: Sequence[int]) -> int:
        """The composite after its gates, in nano."""
        return self.bound.composite.quality(self.axes(facts))

    def shown(self, facts: Sequence[int]) -> dict[str, str]:
        """The facts that count, for people: reader and path with the value."""
        return {
            name_of(fact): decimal_text(Fraction(facts[place], scale_of(fact)))
            for place, fact in enumerate(self.bound.facts)
            if fact.digest in self.read
        }


def name_of(fact: Node) -> str:
    """A fact as an author writes it, such as ``number(checks.seconds)``."""
    rest = arguments_of(fact)[:1] if reader_of(fact) in ("overlap", "excess", "equal") else ()
    return f"{reader_of(fact)}({', '.join(map(str, (path_of(fact), *rest)))})"
