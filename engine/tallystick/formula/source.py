"""Python source of the parts of a lowered form, for one record or for columns of many.

It is made from polynomials and atom numbers only, never from text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from tallystick.formula.condition import Compare, Condition
from tallystick.formula.polynomial import Polynomial
from tallystick.formula.program import Cell, Program

_INT64 = 1 << 63


@attrs.frozen
class Dialect:
    """The difference between numbers and columns.

    Attributes:
        every: the operator of conditions that must hold together.
        some: the operator of conditions of which one is enough.
        choice: one of two values by a condition.
        coefficient: the number that is written for a coefficient.
    """

    every: str
    some: str
    choice: str
    coefficient: Callable[[int], int] = int

    def polynomial(self, polynomial: Polynomial) -> str:
        """Return a polynomial."""
        terms = [
            "*".join([repr(self.coefficient(coefficient)), *(f"x{index}" for index in monomial)])
            for monomial, coefficient in polynomial.items()
        ]
        return f"({' + '.join(terms) or '0'})"

    def condition(self, condition: Condition) -> str:
        """Return a condition."""
        if isinstance(condition, Compare):
            return f"({self.polynomial(condition.polynomial)} {condition.relation} 0)"
        operator = self.every if condition.every else self.some
        return f"({operator.join(map(self.condition, condition.parts))})"

    def function(self, program: Program, body: list[str], **names: object) -> Callable[..., Any]:
        """Return the function of the inputs of a program, in order, with some lines as its body.

        The lines may read every atom of the program as ``x`` and its number, and the names.
        """
        arguments = ", ".join(f"x{index}" for index, _ in program.inputs)
        lines = [f"x{i} = x{i} // {a.unit}" for i, a in program.inputs if a.unit != 1]
        lines += [f"x{index} = {self._cell(cell)}" for index, cell in program.cells]
        source = "\n    ".join([f"def value({arguments}):", *lines, *body])
        namespace: dict[str, Any] = dict(names)
        exec(source, namespace)  # noqa: S102  # made of integers and atom numbers only
        function: Callable[..., Any] = namespace["value"]
        return function

    def _cell(self, cell: Cell) -> str:
        *values, text = map(self.polynomial, cell.values)
        for arm, value in zip(reversed(cell.arms[:-1]), reversed(values), strict=True):
            text = self.choice.format(self.condition(arm.when), value, text)
        return text


def _wrapped(value: int) -> int:
    """Return the value modulo 2⁶⁴; a term of a larger coefficient is proved to be 0."""
    return (value + _INT64) % (2 * _INT64) - _INT64


NUMBERS = Dialect(" and ", " or ", "({1} if {0} else {2})")
COLUMNS = Dialect(" & ", " | ", "chosen({0}, {1}, {2})", _wrapped)
