"""Generated Python functions of a lowered form: of integers of any size, or of columns of many.

That of integers scores a single record fast, and settles the rows that ``columns`` leaves open. The
source is made from polynomials and atom numbers only, never from text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from tallystick.formula.polynomial import Compare, Condition, Polynomial
from tallystick.formula.program import Arm, Cell, Program
from tallystick.numbers.nano import NANO, publish

IntegerFunction = Callable[..., int]
"""Takes the integer of each input of the program, in order; returns nano."""
RatioFunction = Callable[..., tuple[int, int]]
"""An `IntegerFunction` that returns a numerator and a denominator above 0, perhaps not in lowest
terms.
"""

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


def compile_integers(program: Program) -> IntegerFunction:
    """Return the function; its arguments are ``program.inputs``, published values in nano."""
    return NUMBERS.function(program, _body(program, _rounded))


def compile_ratio(program: Program) -> RatioFunction:
    """Return the function that gives the exact value, with the same arguments."""
    return NUMBERS.function(program, _body(program, _ratio))


def _body(program: Program, result: Callable[[Arm], list[str]]) -> list[str]:
    lines = list[str]()
    for arm in program.arms[:-1]:
        lines.append(f"if {NUMBERS.condition(arm.when)}:")
        lines += [f"    {line}" for line in result(arm)]
    return lines + result(program.arms[-1])


def _rounded(arm: Arm) -> list[str]:
    if arm.number is not None:
        return [f"return {publish(arm.number)}"]
    return [
        f"d = {NUMBERS.polynomial(arm.denominator)}",
        f"q, r = divmod({NUMBERS.polynomial(arm.numerator)} * {NANO}, d)",
        "r += r",
        "return q + (r > d or (r == d and q & 1))",
    ]


def _ratio(arm: Arm) -> list[str]:
    return [f"return {NUMBERS.polynomial(arm.numerator)}, {NUMBERS.polynomial(arm.denominator)}"]
