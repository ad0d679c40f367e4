"""Products of published values, such as an emission, where most factors are shared.

An emission formula is usually one product over a constant. The factors that candidates share are
multiplied once, in doubles; each candidate multiplies in its own. The quotient in doubles decides a
row that is clearly off every half; the others, ties among them, are settled by the remainder modulo
2⁶⁴, as in `formula.columns`, whose bounds do not depend on the order
of the factors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import gcd, prod

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.formula.columns import Column, ColumnProgram, corrected, wrapped
from tallystick.formula.condition import Always
from tallystick.numbers.nano import NANO

Doubles = npt.NDArray[np.float64]

_LARGEST = 2.0**40
_SURE = 1 / 2 - 2.0**-7
"""A double below 2⁴⁰ that went through at most 2⁵ roundings is nearer than 2⁻⁷ to what it is of."""
_MOST_FACTORS = 1 << 3


@attrs.frozen
class Product:
    """One product over a constant: coefficient · Π (input / unit) · 10⁹ / divisor, in nano.

    Attributes:
        inputs: positions of the inputs of the program, one for each factor; they may repeat.
        units: what the integer of each factor counts.
        coefficient: a whole number, reduced with the divisor.
        divisor: below 2⁶¹.
    """

    inputs: tuple[int, ...]
    units: tuple[int, ...]
    coefficient: int
    divisor: int


@attrs.frozen(eq=False)
class PartialProduct:
    """The product of some factors and the coefficient over the divisor and every unit.

    Attributes:
        double: of each row.
        factors: the factors with their units.
    """

    double: Doubles
    factors: tuple[tuple[Column, int], ...]


def product_of(columns: Callable[..., Column]) -> Product | None:
    """The product that a program is; None when it is anything else, or not proved to be near."""
    if not isinstance(columns, ColumnProgram):
        return None
    program = columns.program
    if len(columns.proposals) != 1 or columns.proposals[0].is_whole or program.cells:
        return None
    arm = program.arms[0]
    if arm.when != Always(holds=True) or len(arm.numerator) != 1:
        return None
    (monomial, coefficient) = next(iter(arm.numerator.items()))
    low, high = program.low, program.high
    if not 0 < len(monomial) <= _MOST_FACTORS or max(abs(low), abs(high)) * NANO >= _LARGEST:
        return None
    places = {index: position for position, (index, _) in enumerate(program.inputs)}
    units = {index: atom.unit for index, atom in program.inputs}
    shared = gcd(NANO, arm.denominator[()])
    return Product(
        tuple(places[index] for index in monomial),
        tuple(units[index] for index in monomial),
        coefficient * (NANO // shared),
        arm.denominator[()] // shared,
    )


def partial_product(
    product: Product, units: Sequence[int], columns: Sequence[Column]
) -> PartialProduct:
    """Return the product of the coefficient and shared factors over the divisor and all units."""
    ratio = Fraction(product.coefficient, product.divisor * prod(product.units))
    double = np.array([float(ratio)])
    for column in columns:
        double = double * column
    return PartialProduct(double, tuple(zip(columns, units, strict=True)))


def finished(
    product: Product,
    shared: PartialProduct,
    units: Sequence[int],
    columns: Sequence[Column | Doubles],
    rows: int,
) -> Column:
    """Return the published product of every row.

    Args:
        product: which.
        shared: of the factors that are shared.
        units: of the other factors.
        columns: the other factors: whole numbers, also as doubles that hold them.
        rows: how many rows there are.
    """
    double = np.empty(rows)
    double[:] = shared.double
    for column in columns:
        np.multiply(double, column, out=double)
    nearest = np.rint(double)
    result = nearest.astype(np.int64)
    np.subtract(double, nearest, out=double)
    np.abs(double, out=double)
    unsure = np.flatnonzero(double >= _SURE)
    if len(unsure):
        numerator = np.array([wrapped(product.coefficient)], np.int64)
        for column, unit in (*shared.factors, *zip(columns, units, strict=True)):
            numerator = numerator * (column.take(unsure).astype(np.int64) // unit)
        result[unsure] = corrected(result[unsure], numerator, product.divisor)
    return result
