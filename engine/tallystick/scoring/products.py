"""Products of published values, such as an emission, where candidates share most factors.

An emission formula is usually one product over a constant. The factors that candidates share are
multiplied once, in doubles; each candidate multiplies in its own. The product in doubles decides a
row that is clearly off every half; the formula's own program settles the others, ties among them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.formula.columns import Column, ColumnProgram
from tallystick.formula.condition import TRUE
from tallystick.numbers.nano import NANO

Doubles = npt.NDArray[np.float64]

_MOST_FACTORS = 1 << 3
_ROUNDINGS = 2.0**-48
"""Relative error of a double that went through at most 2⁵ roundings.

Eight factors go through 17: of the constant, of each factor, and of each product.
"""
_MOST_ERROR = 2.0**-7


@attrs.frozen
class Product:
    """A formula that is one product over a constant: scale · Π input, in nano.

    Attributes:
        inputs: the position of the input of the program that each factor is; they may repeat.
        scale: the constant.
        error: the largest error of the product in doubles, in nano.
    """

    inputs: tuple[int, ...]
    scale: Fraction
    error: float

    def partial(self, columns: Sequence[Column]) -> Doubles:
        """Return the constant times some factors, in doubles; of one row without any factor."""
        result = np.array([float(self.scale)])
        for column in columns:
            result = result * column
        return result


def product_of(columns: Callable[..., Column]) -> Product | None:
    """The product that a program is; None when it is anything else, or not proved to be near."""
    if not isinstance(columns, ColumnProgram):
        return None
    program = columns.program
    if len(columns.proposals) != 1 or columns.proposals[0].is_whole or program.cells:
        return None
    arm = program.arms[0]
    if arm.when != TRUE or len(arm.numerator) != 1:
        return None
    (monomial, coefficient) = next(iter(arm.numerator.items()))
    error = _ROUNDINGS * float(max(abs(program.low), abs(program.high)) * NANO)
    if not 0 < len(monomial) <= _MOST_FACTORS or error >= _MOST_ERROR:
        return None
    places = {index: position for position, (index, _) in enumerate(program.inputs)}
    units = {index: atom.unit for index, atom in program.inputs}
    divisor = arm.denominator[()] * prod(units[index] for index in monomial)
    scale = Fraction(coefficient * NANO, divisor)
    return Product(tuple(places[index] for index in monomial), scale, error)


def rounded_products(
    product: Product,
    partial: Doubles,
    own: Sequence[Column],
    exact: Callable[[Sequence[Column], int], Column],
    columns: Sequence[Column],
) -> Column:
    """Return the published product of every row.

    Args:
        product: which.
        partial: that of the constant and the other factors.
        own: the factors that are multiplied in.
        exact: the program of the formula, for the rows that doubles do not decide.
        columns: its inputs.
    """
    double = np.empty(len(columns[0]))
    double[:] = partial
    for column in own:
        np.multiply(double, column, out=double)
    nearest = np.rint(double)
    result = nearest.astype(np.int64)
    np.abs(np.subtract(double, nearest, out=double), out=double)
    unsure = np.flatnonzero(double >= 1 / 2 - product.error)
    if len(unsure):
        result[unsure] = exact([column.take(unsure) for column in columns], len(unsure))
    return result
