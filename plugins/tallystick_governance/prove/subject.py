"""The subject of questions: one skill type of a rule set, with every fact that they read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any

import attrs

from tallystick.formula.domain import Domain
from tallystick.formula.facts import domain_of
from tallystick.formula.tree import Node, facts_in, leaves, value_of
from tallystick.numbers.nano import NANO
from tallystick.plugins.skill_type import SkillType
from tallystick.scoring.bound import BoundType
from tallystick.scoring.computation import needed
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.value import Value
from tallystick_conformance.testing.concrete_record import bases
from tallystick_conformance.testing.record_checker import FactReader

_BASES = 3
"""Maximum number of records that are tried as the start of a counterexample."""


@attrs.frozen(eq=False, slots=False)
class Subject:
    """One skill type.

    Attributes:
        scorer: the rule set; its type takes the facts of questions, too.
        name: the skill type.
        read: the digests of the facts that formulas and requirements read.
    """

    scorer: Scorer
    name: str
    read: frozenset[str]

    @property
    def bound(self) -> BoundType:
        """The bound type."""
        return self.scorer.types[self.name]

    @property
    def skill_type(self) -> SkillType:
        """The skill type as its plugin offers it."""
        return self.scorer.registry.skill_types[self.name]

    @cached_property
    def facts(self) -> Mapping[str, Node]:
        """The facts, by digest."""
        return {fact.digest: fact for fact in self.bound.facts}

    @property
    def domains(self) -> Mapping[str, Domain]:
        """The range of every fact, by digest."""
        return self.bound.domains

    @cached_property
    def values(self) -> Mapping[str, Value]:
        """The axes and the measures, each after those that it reads, then the factors.

        A measure that can be null is no number of every record, so nothing is claimed of it.
        """
        measures = (measure for measure in self.bound.measures if measure.applies is None)
        values = (*self.bound.axes, *measures, *self.bound.factors)
        return {value.name: value for value in values}

    @cached_property
    def terms(self) -> Mapping[str, Value]:
        """The same, then the composite and the quality: what has a term of the solver."""
        composed = (self.bound.composite, self.bound.quality)
        return {**self.values, **{value.name: value for value in composed}}

    @property
    def has_geometric_mean(self) -> bool:
        """True if the quality reads a geometric mean, of which the solver has no term."""
        return self.bound.mean is not None and self.bound.mean.kind == "geometric"

    @cached_property
    def marks(self) -> frozenset[Fraction]:
        """The numbers that formulas and gates may compare published values with."""
        trees = [value.tree for value, _ in self.bound.formulas if value.role != "emission"]
        constants = {value_of(node) for tree in trees for node in leaves(tree, "const")}
        gates = {Fraction(gate.below, NANO) for gate in self.bound.gates}
        bounds = {
            promise.bound for promise in self.skill_type.properties if promise.bound is not None
        }
        return frozenset({Fraction(0), Fraction(1)} | constants | gates | bounds)

    @cached_property
    def reader(self) -> FactReader:
        """The reader that takes every fact of a record."""
        return FactReader(self.bound.schema, self.bound.facts)

    @cached_property
    def bases(self) -> tuple[Mapping[str, Any], ...]:
        """Valid records to start a counterexample from."""
        return tuple(islice(bases(self.skill_type, self.reader), _BASES))

    def trees(self, name: str) -> tuple[Node, ...]:
        """Return the trees of a value: its formula, and where it applies."""
        return self.terms[name].trees

    def needed(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return some values and those that they read, each after what it reads."""
        sinks = [self.terms[name] for name in names if name in self.terms]
        return tuple(value.name for value in needed(self.terms.values(), sinks))

    def facts_of(self, names: Iterable[str]) -> frozenset[str]:
        """Return the digests of the facts that some values read, also through other values."""
        return frozenset(facts_in(*(t for name in self.needed(names) for t in self.trees(name))))


def subject_of(scorer: Scorer, name: str) -> Subject:
    """Return a skill type with the facts of what its author promises.

    Raises:
        FormulaError: a promise reads a fact that the records of the type do not have.
    """
    bound = scorer.types[name]
    read = frozenset(fact.digest for fact in bound.facts)
    promised = _promised(scorer.registry.skill_types[name])
    further = tuple(fact for digest, fact in promised.items() if digest not in read)
    domains = {fact.digest: domain_of(fact, bound.schema) for fact in further}
    wider = attrs.evolve(
        bound, facts=(*bound.facts, *further), domains={**bound.domains, **domains}
    )
    return Subject(attrs.evolve(scorer, types={**scorer.types, name: wider}), name, read)


def _promised(skill_type: SkillType) -> dict[str, Node]:
    """Return the facts of directions and promises, by digest."""
    of_directions = (tree for d in skill_type.directions for tree in (d.fact, d.where))
    of_promises = (t for p in skill_type.properties for t in (*p.changes, p.where, p.instead))
    return facts_in(*of_directions, *of_promises)
