"""The named values of a record: an ordered list, each a tree over facts and earlier values.

A skill type is such a list: axes, measures, composite, quality, tier, multiplier, base weight,
factors, emission. There is one kind of value. What distinguishes a mean, a gate or a tier is its
tree (`composite`, `tiers`), so whatever reads trees knows all of them: the reference, the generated
functions of integers, columns, ranges, the solver and the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from math import gcd
from typing import Any, Literal

import attrs

from tallystick.errors import UndecidedError
from tallystick.formula.domain import Domain
from tallystick.formula.evaluate import Facts, Trace, evaluate
from tallystick.formula.facts import scale_of
from tallystick.formula.formula import Formula
from tallystick.formula.text import decimal_text, lines, render, substituted
from tallystick.formula.tree import Node, leaves, names, published, value_of
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact, publish
from tallystick.scoring.compiled import Compiled, compile_tree
from tallystick.scoring.computation import NamedValue

Role = Literal[
    "axis",
    "composite",
    "gate",
    "quality",
    "tier",
    "tier_multiplier",
    "base_weight",
    "factor",
    "emission",
    "threshold",
    "measure",
    "component",
]
"""The role of a value in its list; a type may have several of one role, each with its name."""
_NAMED_FIELDS = frozenset({"axis", "measure", "factor"})


@attrs.frozen(eq=False, slots=False)
class Value(NamedValue):
    """A named value of a record. What it publishes is nano; a tier is its position, from 0.

    Attributes:
        name: the name under which it is published and read.
        role: its role in the skill type.
        inputs: the earlier values that it reads, each by its name.
        tree: what it is, parameters bound.
        compiled: the tree with its proof, and what runs it.
        formula: the formula that the rule set names; None where the rule set itself says the tree.
        applies: where it is published at all; None is everywhere. Others read 1 elsewhere.
        is_exact: whether results show the ratio in place of nano.
    """

    name: str
    role: Role
    inputs: tuple[Value, ...]
    tree: Node
    compiled: Compiled
    formula: Formula | None = None
    applies: Compiled | None = None
    is_exact: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        role: Role,
        tree: Node,
        read: Mapping[str, Value],
    ) -> Value:
        """Return a value that a rule set says without a formula; it reads no facts.

        Args:
            name: its name.
            role: its role.
            tree: what it is.
            read: by name at least the values that it reads.
        """
        inputs = tuple(read[each] for each in names(tree, "published"))
        domains = {each.name: each.domain for each in inputs}
        return cls(name, role, inputs, tree, compile_tree(tree, {}, domains))

    @classmethod
    def within(cls, name: str, role: Role, domain: Domain) -> Value:
        """Return a value of a range, of which nothing else is known: it has no inputs."""
        tree = published(name)
        return cls(name, role, (), tree, compile_tree(tree, {}, {name: domain}))

    @property
    def is_given(self) -> bool:
        """True of one of which only the range is known, see `within`."""
        return self.tree.op == "published" and not self.inputs

    @cached_property
    def field(self) -> str:
        """The field of a result that shows it: of axes, measures and factors its name."""
        return self.name if self.role in _NAMED_FIELDS else self.role

    @cached_property
    def domain(self) -> Domain:
        """The range of what others read of it."""
        domain = self.compiled.program.domain
        if self.applies is None:
            return domain
        unit = gcd(domain.unit, NANO)
        return Domain(min(domain.low, NANO), max(domain.high, NANO), unit)

    @property
    def trees(self) -> tuple[Node, ...]:
        """The tree, and the condition under which it applies."""
        return (self.tree,) if self.applies is None else (self.tree, self.applies.tree)

    @property
    def constant(self) -> int | None:
        """The number that it always is, in nano; None of one that varies."""
        return publish(value_of(self.tree)) if self.tree.op == "const" else None

    @property
    def symbol(self) -> str:
        """The sign that documents use for it; empty without one."""
        return "" if self.formula is None else self.formula.symbol

    @property
    def operation(self) -> list[Any]:
        """The digests of the trees, and whether it is exact."""
        applies = None if self.applies is None else self.applies.tree.digest
        exact = ["exact"] if self.is_exact else []
        return ["formula", self.tree.digest, applies, *exact]

    def nano(self, facts: Facts, values: Mapping[Value, int | None]) -> int | None:
        """Return the value of one record by the generated function of integers.

        Args:
            facts: at least those that it reads.
            values: at least the inputs; None where one does not apply.

        Returns:
            The nano; None where it does not apply, which others read as 1.
        """
        if self.applies is not None and not self.applies.holds(facts):
            return None
        try:
            return self.compiled.nano(facts, self.read(values))
        except UndecidedError as error:
            raise self.undecided(error) from error

    def ratio(self, facts: Facts, values: Mapping[Value, int | None]) -> Fraction | None:
        """Return the exact value of one record; None where it does not apply."""
        if self.applies is not None and not self.applies.holds(facts):
            return None
        return Fraction(*self.compiled.ratio(*self.compiled.inputs(facts, self.read(values))))

    def reference(self, facts: Facts, values: Mapping[Value, int | None]) -> int | None:
        """Return the value by exact fractions, rounded once; inputs may be outside their domain."""
        if self.applies is not None and not evaluate(self.applies.tree, facts, {}):
            return None
        try:
            return publish(self.exact(facts, values))
        except UndecidedError as error:
            raise self.undecided(error) from error

    def exact(
        self, facts: Facts, values: Mapping[Value, int | None], trace: Trace | None = None
    ) -> Exact:
        """Return the exact value of one record to which it applies."""
        return evaluate(self.tree, facts, self.read(values), trace)

    def read(self, values: Mapping[Value, int | None]) -> dict[str, int]:
        """Return its inputs among some values by name; 1 where one does not apply."""
        inputs = {value.name: values[value] for value in self.inputs}
        return {name: NANO if nano is None else nano for name, nano in inputs.items()}

    def undecided(self, error: UndecidedError) -> UndecidedError:
        """Return the error with the names of the value and of its formula."""
        formula = self.role if self.formula is None else self.formula.name
        return UndecidedError(str(error), value=self.name, formula=formula)

    def lines(self) -> list[str]:
        """Return the lines that show it in the text of a rule set."""
        if self.formula is None:
            return lines(self.name, self.tree)
        name = f"{self.name}: {self.formula.name}  {self.formula.digest}"
        if self.role == "measure":
            name += ", as a ratio" if self.is_exact else ""
            applies = self.formula.applies
            name += "" if applies is None else f", if {render(applies)}"
        text = lines(self.symbol or self.name, self.tree)
        return [name, *(f"    {line}" for line in text)]

    def substituted(self, facts: Facts, values: Mapping[Value, int | None]) -> str:
        """Return the tree with the values of one record, and the exact value of each label."""
        trace = dict[str, Exact]()
        self.exact(facts, values, trace)
        labels = ", ".join(f"{label} = {decimal_text(exact)}" for label, exact in trace.items())
        text = render(self.tree, substituted(input_texts(self.tree, facts, self.read(values))))
        return f"{text}, where {labels}" if labels else text


def nano_text(nano: int | None) -> str:
    """Return a value as a short exact decimal; 1 where it does not apply."""
    return decimal_text(Fraction(NANO if nano is None else nano, NANO))


def fact_value_text(fact: Node, integer: int) -> str:
    """Return the value of a fact for people: yes or no, a choice by its name, else a decimal."""
    if fact.kind == "truth":
        return "yes" if integer else "no"
    if fact.kind == "choice" and isinstance(fact.data[2], tuple):
        return str(fact.data[2][integer])
    return decimal_text(Fraction(integer, scale_of(fact)))


def input_texts(tree: Node, facts: Facts, published: Mapping[str, int]) -> dict[str, str]:
    """Return by the digest of each fact and published value of a tree the text put in for it.

    A condition is the 1 or 0 that it counts as.
    """
    texts = {
        fact.digest: str(facts[fact.digest])
        if fact.kind == "truth"
        else fact_value_text(fact, facts[fact.digest])
        for fact in leaves(tree, "fact")
    }
    for node in leaves(tree, "published"):
        texts[node.digest] = nano_text(published[str(node.data[0])])
    return texts
