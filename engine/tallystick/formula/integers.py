"""The lowered form as one generated Python function of integers, of any size.

It scores a single record fast, and settles the rows that ``columns`` leaves open.
"""

from __future__ import annotations

from collections.abc import Callable

from tallystick.formula.program import Arm, Program
from tallystick.formula.source import NUMBERS
from tallystick.numbers.nano import NANO, publish

IntegerFunction = Callable[..., int]
"""Takes the integer of each input of the program, in order; returns nano."""
RatioFunction = Callable[..., tuple[int, int]]
"""An `IntegerFunction` that returns a numerator and a denominator above 0, perhaps not in lowest
terms.
"""


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
