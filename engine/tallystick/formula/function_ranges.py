"""The domains and the ranges of the operators that are no ratios: powers, means, exp, log, floor.

Each rises or falls all along, so that its ends are those of its arguments. An irrational end is
widened to the next of the numbers that are 2⁻⁶⁴ apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.program import Arm
from tallystick.formula.text import decimal_text, render
from tallystick.formula.tree import Node, value_of, weights_of
from tallystick.numbers import real
from tallystick.numbers.real import Exact

LEAST_TO_EXP, MOST_TO_EXP = Fraction(-(10**6)), Fraction(40)
"""The numbers that exp takes."""

_BITS = 64


@attrs.frozen
class Argument:
    """The range of an operator's argument.

    Attributes:
        low: the smallest.
        high: the largest.
        is_positive: whether it is above 0, however near it comes.
    """

    low: Fraction
    high: Fraction
    is_positive: bool


def argument_of(node: Node, of: Node, arms: Sequence[Arm]) -> Argument:
    """Return the range of an argument of an operator from its arms; held to the domain of that.

    Raises:
        FormulaError: it can be outside the domain.
    """
    bounds = [arm.bounds() for arm in arms]
    low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
    positive = low > 0 or all(
        arm.bounds()[0] >= 0 and arm.known.sign(arm.numerator) > 0 for arm in arms
    )
    argument = Argument(low, high, positive)
    _check_domain(node, of, argument)
    return argument


def range_of_function(node: Node, arguments: Sequence[Argument]) -> tuple[Fraction, Fraction]:
    """The range of an operator over those of its arguments; of `floor` and `round` it is exact."""
    lows, highs = [each.low for each in arguments], [each.high for each in arguments]
    ends = [_around(_value(node, numbers)) for numbers in (lows, highs)]
    return min(low for low, _ in ends), max(high for _, high in ends)


def _value(node: Node, arguments: Sequence[Fraction]) -> Exact:
    argument = arguments[0]
    match node.op:
        case "geometric":
            return real.geometric_mean(arguments, weights_of(node))
        case "power":
            return real.power(argument, value_of(node.args[1]))
        case "exp":
            return real.exp(argument)
        case "log":
            return real.log(argument)
        case "floor":
            return Fraction(real.floor(argument))
    return real.places(argument, int(str(node.data[0])))


def _check_domain(node: Node, of: Node, argument: Argument) -> None:
    low, high = argument.low, argument.high
    falls = node.op == "power" and value_of(node.args[1]) <= 0
    if node.op in {"power", "geometric"} and low < 0:
        raise _refused(node, of, argument, "be below 0")
    if (node.op == "log" or falls) and not argument.is_positive:
        raise _refused(node, of, argument, "be 0 or below" if low < 0 else "be 0")
    if (node.op == "log" or falls) and not low:
        raise _refused(node, of, argument, "come as near to 0 as one likes")
    if node.op == "exp" and (low < LEAST_TO_EXP or high > MOST_TO_EXP):
        expected = f"be outside {decimal_text(LEAST_TO_EXP)} to {decimal_text(MOST_TO_EXP)}"
        raise _refused(node, of, argument, expected)


def _refused(node: Node, of: Node, argument: Argument, can: str) -> FormulaError:
    names = {"log": "the logarithm of", "exp": "exp of", "geometric": "a geometric mean of"}
    name = names.get(node.op, "a power of")
    return FormulaError(
        f"found {name} {render(of)}, which can {can} where it is reached (range "
        f"{decimal_text(argument.low)} to {decimal_text(argument.high)}): put it in an earlier "
        "case, or require it of the record"
    )


def _around(value: Exact) -> tuple[Fraction, Fraction]:
    if isinstance(value, Fraction):
        return value, value
    low, high = value.enclosure(_BITS)
    return Fraction(low, 1 << _BITS), Fraction(high, 1 << _BITS)
