"""Columns of formulas with roots, powers, exp and log: doubles with a bound of their error.

A *ball* is a double, its middle, and a radius: the true value of a row is in [m − ρ, m + ρ]. Where
nothing is known the radius is infinite, or NaN; neither passes a test. With u = 2⁻⁵³ and
T = 2⁻¹⁰⁰⁰, which covers what is lost below the normal doubles:

========== =====================================================================================
x + y      ρ₁ + ρ₂ + the error of the sum, which is a double; so sums of whole numbers are exact
x · y      |m₁|ρ₂ + |m₂|ρ₁ + ρ₁ρ₂ + 2u|m| + T; none of whole numbers, or by an exact 0
x / y      (|m₁|ρ₂ + |m₂|ρ₁) / (|m₂|(|m₂| − ρ₂)) + 4u|m| + T, where |m₂| > 2ρ₂; none
           of whole numbers that divide each other
xᵉ         1.03 |e| ρ y/m + y(2⁻⁴⁷ + 2⁻⁵²|ln y|) + T, where ρ < 2⁻¹² m: |e| is at most 100, so
           that the slope changes by less than 3 % in the ball; ln y as the exponent is rounded
√x         the same, with 2u for the second term
exp x      2ρy + 2⁻⁴⁷y + T, where ρ < 1/2
log x      2ρ/m + 2⁻⁴⁷|y| + 2⁻⁵², where 2ρ < m
⌊x⌋        0, where no whole number is in the ball
round      2u|m|, where no half of the last place is in the ball
min, max   the radius of that which is taken, or the larger where the balls touch
========== =====================================================================================

Each radius is multiplied by 1 + 2⁻⁴⁰ for its own roundings. A comparison is decided where the balls
are apart, or both radii are 0. NumPy's power, exp and log are trusted to 2⁻⁴⁷ of the result, 64
units in the last place; libraries claim 4. They are measured at first use
(`doubles`).

With y = m · 10⁹ and k the nearest whole number, k is the nano if (|y − k| + 10⁹ρ)(1 + 2⁻⁴⁰) +
2⁻⁵²|y| < 1/2 and |y| < 2⁵¹. A row where that fails, or where a comparison is not decided that it
needs, is computed by the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.errors import FormulaError
from tallystick.formula.columns import CHUNK, Column, Truths
from tallystick.formula.evaluate import compile_reference
from tallystick.formula.facts import scale_of
from tallystick.formula.tree import OPERATORS, Node, arms_of, factors_of, value_of
from tallystick.numbers.doubles import exp_and_log_are_trusted, power_is_trusted
from tallystick.numbers.nano import NANO

Doubles = npt.NDArray[np.float64]

_U = 2.0**-53
_TINY = 2.0**-1000
_WIDER = 1 + 2.0**-40
_TRUSTED = 2.0**-47
_WHOLE = 2.0**53
_LARGEST = 2.0**51
_NARROW = 2.0**-12
_HALF = 1 / 2
_LN2 = 0.6931471805599454
"""A little more than ln 2."""


@attrs.frozen(eq=False)
class Balls:
    """A column of balls.

    Attributes:
        middle: of each row.
        radius: of each row; infinite or NaN where nothing is known.
    """

    middle: Doubles
    radius: Doubles

    @classmethod
    def of_integers(cls, column: Column, scale: int) -> Balls:
        """Whole numbers over a scale."""
        middle = column / scale
        exact = (column % scale == 0) & (np.abs(column) < _WHOLE)
        return cls(middle, np.where(exact, 0.0, np.abs(middle) * 4 * _U))

    @classmethod
    def of_fractions(cls, values: Sequence[Fraction]) -> Balls:
        """Exact numbers, each beside the nearest double."""
        nearest = [float(value) for value in values]
        exact = [double == value for double, value in zip(nearest, values, strict=True)]
        middle = np.array(nearest, np.float64)
        return cls(middle, np.where(exact, 0.0, np.abs(middle) * 2 * _U + _TINY))

    def take(self, rows: slice) -> Balls:
        """Return the balls of these rows."""
        return Balls(self.middle[rows], self.radius[rows])

    def published(self) -> tuple[Column, Truths]:
        """Return the nano of each row, and whether it is certain."""
        nearest, certain = _nearest(self, NANO)
        return np.where(certain, nearest, 0).astype(np.int64), certain


class BallProgram:
    """A bound tree over columns; called as a `ColumnProgram` is."""

    def __init__(self, tree: Node, inputs: Sequence[Node]) -> None:
        """Take a tree whose parameters are bound, and the facts and values that it reads."""
        self.tree, self.inputs = tree, tuple(inputs)
        self._reference = compile_reference(tree, self.inputs)

    def __call__(self, columns: Sequence[Column], rows: int) -> Column:
        """Return the value of every row, in nano.

        Args:
            columns: an int64 column for each input, published values in nano.
            rows: how many rows there are.

        Raises:
            UndecidedError: a row needs what the most bits do not decide.
        """
        return self.published(
            self.given(columns),
            rows,
            lambda row: self._reference(*(int(column[row]) for column in columns)),
        )

    def given(self, columns: Sequence[Column]) -> list[Balls]:
        """Return the balls of each input, from its integers."""
        return [
            Balls.of_integers(column, NANO if node.op == "published" else scale_of(node))
            for node, column in zip(self.inputs, columns, strict=True)
        ]

    def published(
        self, balls: Sequence[Balls], rows: int, reference: Callable[[int], int]
    ) -> Column:
        """The value of every row, in nano; those that the balls do not decide by a reference.

        Args:
            balls: those of each input.
            rows: how many rows there are.
            reference: gives the nano of a row.
        """
        result = np.empty(rows, np.int64)
        for start in range(0, rows, CHUNK):
            chunk = slice(start, min(start + CHUNK, rows))
            part = [ball.take(chunk) for ball in balls]
            nanos, certain = self.balls(part, chunk.stop - start).published()
            for row in np.flatnonzero(~certain).tolist():
                nanos[row] = reference(start + row)
            result[chunk] = nanos
        return result

    def balls(self, balls: Sequence[Balls], rows: int) -> Balls:
        """Return the value of every row, not rounded."""
        if not (exp_and_log_are_trusted() and power_is_trusted()):
            return Balls(np.zeros(rows), np.full(rows, np.inf))
        by_digest = {node.digest: ball for node, ball in zip(self.inputs, balls, strict=True)}
        with np.errstate(all="ignore"):
            return _Evaluator(by_digest, rows).value(self.tree)


class _Evaluator:
    """Computes every node once, for all rows; rows that do not reach it hold what is not read."""

    def __init__(self, given: Mapping[str, Balls], rows: int) -> None:
        self.given, self.rows = given, rows
        self._values: dict[str, Balls] = {}

    def value(self, node: Node) -> Balls:
        if node.digest not in self._values:
            self._values[node.digest] = self._value(node.unlabelled)
        return self._values[node.digest]

    def _value(self, node: Node) -> Balls:
        match node.op:
            case "const":
                one = Balls.of_fractions([value_of(node)])
                return Balls(np.repeat(one.middle, self.rows), np.repeat(one.radius, self.rows))
            case "fact" | "published":
                return self.given[node.digest]
            case "rank":
                return self.value(node.args[0])
            case "cases":
                return self._cases(node)
            case "power":
                return _power(self.value(node.args[0]), value_of(node.args[1]))
            case "geometric":
                return self._geometric_mean(node)
            case "round":
                return _rounded(self.value(node.args[0]), int(str(node.data[0])))
            case "lt" | "le" | "eq":
                return _compared(OPERATORS[node.op], *map(self.value, node.args))
        if node.op not in _FUNCTIONS:
            raise FormulaError(f"found {node!r}, expected a tree whose parameters are bound")
        ball = _FUNCTIONS[node.op](*map(self.value, node.args))
        return Balls(ball.middle, ball.radius * _WIDER)

    def _geometric_mean(self, node: Node) -> Balls:
        powers = [_power(self.value(base), exponent) for base, exponent in factors_of(node)]
        product = powers[0]
        for factor in powers[1:]:
            product = _product(product, factor)
            product = Balls(product.middle, product.radius * _WIDER)
        return product

    def _cases(self, node: Node) -> Balls:
        arms, otherwise = arms_of(node)
        rest = np.ones(self.rows, np.bool_)
        last = self.value(otherwise)
        middle, radius = last.middle.copy(), last.radius.copy()
        for condition, arm in arms:
            truth = self.value(condition)
            holds, decided = truth.middle == 1, truth.radius == 0
            chosen = rest & holds & decided
            value = self.value(arm)
            np.copyto(middle, value.middle, where=chosen)
            np.copyto(radius, value.radius, where=chosen)
            np.copyto(radius, np.inf, where=rest & ~decided)
            rest &= ~holds & decided
        return Balls(middle, radius)


def _compared(compare: Callable[[Doubles, Doubles], Truths], x: Balls, y: Balls) -> Balls:
    """Return 1 where a comparison holds, and 0 where it does not."""
    apart = np.abs(x.middle - y.middle)
    radius = (x.radius + y.radius) * _WIDER + (np.abs(x.middle) + np.abs(y.middle)) * 2 * _U
    exact = (x.radius == 0) & (y.radius == 0)
    decided = exact | (apart > radius)
    holds = compare(x.middle, y.middle).astype(np.float64)
    return Balls(holds, np.where(decided, 0.0, np.inf))


def _opposite(x: Balls) -> Balls:
    return Balls(1 - x.middle, x.radius)


def _both(x: Balls, y: Balls) -> Balls:
    """Return 1 where two conditions hold; one that is decided not to hold is enough to know."""
    fails = _is_zero(x) | _is_zero(y)
    return Balls(x.middle * y.middle, np.where(fails, 0.0, np.maximum(x.radius, y.radius)))


def _either(x: Balls, y: Balls) -> Balls:
    return _opposite(_both(_opposite(x), _opposite(y)))


def _sum(x: Balls, y: Balls) -> Balls:
    middle = x.middle + y.middle
    # what the sum of two doubles loses is a double itself
    part = middle - x.middle
    error = (x.middle - (middle - part)) + (y.middle - part)
    return Balls(middle, x.radius + y.radius + np.abs(error))


def _difference(x: Balls, y: Balls) -> Balls:
    return _sum(x, Balls(-y.middle, y.radius))


def _is_whole(x: Balls) -> Truths:
    whole: Truths = (x.radius == 0) & (np.rint(x.middle) == x.middle) & (np.abs(x.middle) < _WHOLE)
    return whole


def _is_zero(x: Balls) -> Truths:
    zero: Truths = (x.middle == 0) & (x.radius == 0)
    return zero


def _product(x: Balls, y: Balls) -> Balls:
    middle, size, other = x.middle * y.middle, np.abs(x.middle), np.abs(y.middle)
    radius = size * y.radius + other * x.radius + x.radius * y.radius
    radius += np.abs(middle) * 2 * _U + _TINY
    exact = _is_whole(x) & _is_whole(y) & (np.abs(middle) < _WHOLE)
    zero = _is_zero(x) | _is_zero(y)
    return Balls(np.where(zero, 0.0, middle), np.where(exact | zero, 0.0, radius))


def _quotient(x: Balls, y: Balls) -> Balls:
    middle, size, other = x.middle / y.middle, np.abs(x.middle), np.abs(y.middle)
    radius = (size * y.radius + other * x.radius) / (other * (other - y.radius))
    radius += np.abs(middle) * 4 * _U + _TINY
    whole = _is_whole(x) & _is_whole(y) & (np.rint(middle) == middle)
    exact = _is_zero(x) | (whole & (middle * y.middle == x.middle))
    return Balls(middle, np.where(other > 2 * y.radius, np.where(exact, 0.0, radius), np.inf))


def _least(x: Balls, y: Balls) -> Balls:
    sure = np.abs(x.middle - y.middle) > (x.radius + y.radius) * _WIDER + np.abs(x.middle) * 4 * _U
    radius = np.where(x.middle < y.middle, x.radius, y.radius)
    return Balls(
        np.minimum(x.middle, y.middle), np.where(sure, radius, np.maximum(x.radius, y.radius))
    )


def _negative(x: Balls) -> Balls:
    return Balls(-x.middle, x.radius)


def _greatest(x: Balls, y: Balls) -> Balls:
    return _negative(_least(_negative(x), _negative(y)))


def _absolute(x: Balls) -> Balls:
    return Balls(np.abs(x.middle), x.radius)


def _power(x: Balls, exponent: Fraction) -> Balls:
    slope = float(abs(exponent)) * 1.03
    if exponent == Fraction(1, 2):
        middle = np.sqrt(x.middle)
        error: Any = middle * 2 * _U
    else:
        middle = np.power(x.middle, float(exponent))
        logarithm = (np.abs(np.frexp(middle)[1]) + 1) * _LN2
        error = middle * (_TRUSTED + logarithm * 2 * _U)
    radius = slope * x.radius * (middle / x.middle) + error + _TINY
    zero = _is_zero(x) & (exponent > 0)
    root = np.rint(middle)
    exact = _is_whole(x) & (root == middle) & (root * root == x.middle)
    exact &= exponent == Fraction(1, 2)
    radius = np.where(x.radius < x.middle * _NARROW, radius * _WIDER, np.inf)
    return Balls(np.where(zero, 0.0, middle), np.where(zero | exact, 0.0, radius))


def _exp(x: Balls) -> Balls:
    middle = np.exp(x.middle)
    radius = 2 * x.radius * middle + middle * _TRUSTED + _TINY
    return Balls(middle, np.where(x.radius < _HALF, radius, np.inf))


def _log(x: Balls) -> Balls:
    middle = np.log(x.middle)
    radius = 2 * x.radius / x.middle + np.abs(middle) * _TRUSTED + 2 * _U
    return Balls(middle, np.where(2 * x.radius < x.middle, radius, np.inf))


def _floor(x: Balls) -> Balls:
    middle = np.floor(x.middle)
    inside = (x.middle - middle > x.radius) & (middle + 1 - x.middle > x.radius)
    decided = (inside | (x.radius == 0)) & (np.abs(x.middle) < _LARGEST)
    return Balls(middle, np.where(decided, 0.0, np.inf))


def _nearest(x: Balls, scale: float) -> tuple[Doubles, Truths]:
    """Return the whole number nearest to a ball times a scale, and whether it is certain."""
    scaled = x.middle * scale
    nearest = np.rint(scaled)
    off = (np.abs(scaled - nearest) + x.radius * scale) * _WIDER + np.abs(scaled) * 2 * _U
    certain: Truths = (off < _HALF) & (np.abs(scaled) < _LARGEST)
    return nearest, certain


def _rounded(x: Balls, places: int) -> Balls:
    nearest, certain = _nearest(x, 10.0**places)
    middle = nearest / 10.0**places
    radius = np.abs(middle) * 2 * _U if places else 0.0
    return Balls(middle, np.where(certain, radius, np.inf))


_FUNCTIONS: Mapping[str, Callable[..., Balls]] = {
    "add": _sum,
    "sub": _difference,
    "mul": _product,
    "div": _quotient,
    "min": _least,
    "max": _greatest,
    "abs": _absolute,
    "exp": _exp,
    "log": _log,
    "floor": _floor,
    "not": _opposite,
    "and": _both,
    "or": _either,
}
