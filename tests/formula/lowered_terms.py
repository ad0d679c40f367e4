"""A lowered formula as terms of the solver, to be compared with those of its tree."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import reduce

import attrs
import z3

from tallystick.formula.facts import scale_of
from tallystick.formula.polynomial import Compare, Condition, Polynomial
from tallystick.formula.program import Arm, Cell, Input, Program
from tallystick.formula.smt import Term, Truth, Unknowns, as_number, number
from tallystick.numbers.nano import NANO

RELATIONS = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne}


@attrs.frozen(eq=False)
class LoweredArm:
    """One arm of a lowered formula: its ratio, and where it is the one that counts."""

    reached: Truth
    numerator: Term
    denominator: Term


def lowered_arms(program: Program, facts: Unknowns, published: Unknowns) -> list[LoweredArm]:
    """The arms of a lowered formula over the same unknowns as its tree."""
    reading = _Lowered(program, facts, published)
    return list(reading.arms(program.arms))


class _Lowered:
    def __init__(self, program: Program, facts: Unknowns, published: Unknowns) -> None:
        self.program, self.facts, self.published = program, facts, published
        self.done: dict[int, Term] = {}

    def arms(self, arms: Iterable[Arm]) -> Iterator[LoweredArm]:
        before: Truth = z3.BoolVal(True)
        for arm in arms:
            here = self.condition(arm.when)
            ratio = (self.polynomial(arm.numerator), self.polynomial(arm.denominator))
            yield LoweredArm(z3.And(before, here), *ratio)
            before = z3.And(before, z3.Not(here))

    def atom(self, index: int) -> Term:
        if index not in self.done:
            what = self.program.atoms[index]
            self.done[index] = self.given(what) if isinstance(what, Input) else self.cell(what)
        return self.done[index]

    def given(self, what: Input) -> Term:
        if what.node.op == "published":
            return self.published[str(what.node.data[0])] * number(Fraction(NANO, what.unit))
        return as_number(self.facts[what.node.digest]) * scale_of(what.node)

    def cell(self, cell: Cell) -> Term:
        values = [self.polynomial(part) for part in cell.values]
        found = values[-1]
        for arm, value in reversed(list(zip(cell.arms, values, strict=True))[:-1]):
            found = z3.If(self.condition(arm.when), value, found)
        return found

    def polynomial(self, polynomial: Polynomial) -> Term:
        terms = [
            reduce(lambda product, index: product * self.atom(index), monomial, number(times))
            for monomial, times in polynomial.items()
        ]
        return z3.Sum([number(0), *terms])

    def condition(self, condition: Condition) -> Truth:
        if isinstance(condition, Compare):
            value = self.polynomial(condition.polynomial)
            return RELATIONS[condition.relation](value, 0)
        junction = z3.And if condition.every else z3.Or
        return junction([self.condition(part) for part in condition.parts])
