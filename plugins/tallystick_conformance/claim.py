"""A claim: that a formula with given parameters stays in its range, and never divides by zero."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import attrs

from tallystick.formula.domain import Domain
from tallystick.formula.formula import Formula, Requirement
from tallystick.formula.text import decimal_text
from tallystick.formula.tree import Node, bind, facts_in
from tallystick.numbers.nano import NANO
from tallystick.plugins.skill_type import SkillType
from tallystick.records.schema import load_schema
from tallystick.scoring.compiled import check_range, compile_tree
from tallystick_conformance.records import domains_of

_EIGHTH = NANO // 8
UNIT_VALUES = (0, NANO, *range(_EIGHTH, NANO, _EIGHTH), 1, NANO - 1)
"""Published values in [0, 1] that a search tries, in nano: the ends first."""


@attrs.frozen(eq=False)
class Premise:
    """A formula whose published value the claimed one reads."""

    name: str
    formula: Formula
    tree: Node


@attrs.frozen(eq=False)
class Claim:
    """A claim that is to be proved, or refuted by an example.

    Attributes:
        formula: the formula.
        parameters: the values of its parameters.
        skill_type: whose records it reads; None if it reads none.
        requirements: what holds for every record.
        premises: the formulas that it reads, each after those that it reads itself.
        given: what is published without a formula, such as a base weight: the values to try, in
            nano.
        unrounded: the bound trees of what it reads before that is published.
    """

    formula: Formula
    parameters: Mapping[str, Fraction]
    skill_type: SkillType | None = None
    requirements: tuple[Requirement, ...] = ()
    premises: tuple[Premise, ...] = ()
    given: Mapping[str, tuple[int, ...]] = attrs.field(factory=dict)
    unrounded: Mapping[str, Node] = attrs.field(factory=dict)

    @property
    def tree(self) -> Node:
        """The formula with its parameters bound."""
        return bind(self.formula.tree, self.parameters, self.unrounded)

    @property
    def facts(self) -> tuple[Node, ...]:
        """The facts that the formula, its premises and the requirements read, each once."""
        trees = [self.tree, self.formula.applies]
        trees += [
            tree for premise in self.premises for tree in (premise.tree, premise.formula.applies)
        ]
        trees += [requirement.condition for requirement in self.requirements]
        return tuple(facts_in(*trees).values())


def prove(claim: Claim) -> None:
    """Prove a claim without premises by the bounds of what it reads.

    Raises:
        FormulaError: the bounds do not show it.
    """
    facts: Mapping[str, Domain] = {}
    if claim.skill_type is not None:
        facts = domains_of(claim.facts, load_schema(claim.skill_type.schema)) or {}
    published = {name: Domain(min(values), max(values)) for name, values in claim.given.items()}
    conditions = [requirement.condition for requirement in claim.requirements]
    program = compile_tree(claim.tree, facts, published, conditions).program
    check_range(program, claim.formula.low, claim.formula.high)


def range_of(formula: Formula) -> str:
    """Return the declared range of a formula, as text."""
    return f"{decimal_text(formula.low)} to {decimal_text(formula.high)}"
