"""The lowered form as one generated Python function of integers, of any size.

It scores a single record fast, and it is the fallback of ``columns`` where a value cannot be proved
to fit 64 bits. Its source is made from polynomials and atom numbers only, never from text.
"""

from __future__ import annotations

from collections.abc import Callable

from tallystick.formula.condition import Always, Both, Compare, Condition, Either, Opposite
from tallystick.formula.polynomial import Polynomial
from tallystick.formula.program import Arm, Cell, Program
from tallystick.numbers.nano import NANO, publish

IntegerFunction = Callable[..., int]
"""Takes the integer of each input of the program, in order; returns nano."""
RatioFunction = Callable[..., tuple[int, int]]
"""An `IntegerFunction` that returns a numerator and a denominator above 0, perhaps not in lowest
terms.
"""


def compile_integers(program: Program) -> IntegerFunction:
    """Return the function; its arguments are ``program.inputs``, published values in nano."""
    namespace: dict[str, IntegerFunction] = {}
    exec(_source(program, _rounded), namespace)  # noqa: S102  # made of integers and atom numbers only
    return namespace["value"]


def compile_ratio(program: Program) -> RatioFunction:
    """Return the function that gives the exact value, with the same arguments."""
    namespace: dict[str, RatioFunction] = {}
    exec(_source(program, _ratio), namespace)  # noqa: S102  # as above
    return namespace["value"]


def _source(program: Program, result: Callable[[Arm], list[str]]) -> str:
    names = ", ".join(f"x{index}" for index, _ in program.inputs)
    lines = [f"def value({names}):"]
    lines += [f"    x{i} //= {a.unit}" for i, a in program.inputs if a.unit != 1]
    lines += [f"    x{index} = {_cell(cell)}" for index, cell in program.cells]
    for arm in program.arms[:-1]:
        lines.append(f"    if {_condition(arm.when)}:")
        lines += [f"        {line}" for line in result(arm)]
    lines += [f"    {line}" for line in result(program.arms[-1])]
    return "\n".join(lines)


def _rounded(arm: Arm) -> list[str]:
    if arm.number is not None:
        return [f"return {publish(arm.number)}"]
    divisor = _polynomial(arm.denominator)
    return [
        f"d = {divisor}",
        f"q, r = divmod(({_polynomial(arm.numerator)}) * {NANO}, d)",
        "r += r",
        "return q + (r > d or (r == d and q & 1))",
    ]


def _ratio(arm: Arm) -> list[str]:
    return [f"return {_polynomial(arm.numerator)}, {_polynomial(arm.denominator)}"]


def _cell(cell: Cell) -> str:
    *first, last = [_polynomial(value) for value in cell.values]
    conditions = [_condition(arm.when) for arm in cell.arms[:-1]]
    arms = [f"({v}) if {c} else " for v, c in zip(first, conditions, strict=True)]
    return "".join(arms) + f"({last})"


def _polynomial(polynomial: Polynomial) -> str:
    terms = ["*".join([str(c), *(f"x{i}" for i in m)]) for m, c in polynomial.items()]
    return " + ".join(terms) or "0"


def _condition(condition: Condition) -> str:
    match condition:
        case Always(holds):
            return str(holds)
        case Opposite(inner):
            return f"not ({_condition(inner)})"
        case Both(first, second):
            return f"({_condition(first)} and {_condition(second)})"
        case Either(first, second):
            return f"({_condition(first)} or {_condition(second)})"
        case Compare(polynomial, relation):
            sign = "==" if relation == "=" else relation
            return f"({_polynomial(polynomial)} {sign} 0)"
