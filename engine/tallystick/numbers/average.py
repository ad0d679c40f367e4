"""Averages with weights that need not sum to one, exact, rounded half-even once.

The average of values v with weights w is Σ v w / Σ w; where the weights sum to zero it is 0
(E37 of docs/errata.md). A weight of a row may be the product of several columns. Sums are exact
integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.errors import NumberError
from tallystick.numbers.nano import round_half_even

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tallystick.numbers._columns.column import Column, Integers


def weighted_average(values: Sequence[int], weights: Sequence[int]) -> int:
    """The average of values with weights, rounded once; 0 when the weights sum to zero.

    Args:
        values: integers of one unit, such as nano; the result has that unit.
        weights: as many integers of any one unit, none negative.

    Raises:
        NumberError: a weight is negative, or there are more or fewer than values.
    """
    if len(values) != len(weights):
        raise NumberError(f"found {len(weights)} weights, expected {len(values)}")
    if min(weights, default=0) < 0:
        raise NumberError(f"found the weight {min(weights)}, expected at least 0")
    total = sum(weights)
    weighted = sum(v * w for v, w in zip(values, weights, strict=True))
    return round_half_even(weighted, total) if total else 0


def grouped_weighted_average(
    values: Column, weights: Sequence[Column], starts: Integers
) -> Integers:
    """The average of each group of consecutive rows, equal to `weighted_average`.

    Args:
        values: integers in (-2**33, 2**33), such as nano.
        weights: columns as long as the values, none negative; a row weighs their product, and
            that of their largest values is below 2**63. No column: every row weighs the same.
        starts: the first row of each group, int64, ascending from 0; an empty group gives 0.

    Raises:
        NumberError: a value or a product of weights is outside its range, the columns differ in
            length, the starts do not divide the rows, or there are 2**29 rows or more.
    """
    from tallystick.numbers._columns import average  # noqa: PLC0415  # loads NumPy

    return average.averages(values, weights, starts)


def grouped_sums(values: Column, weights: Sequence[Column], starts: Integers) -> list[int]:
    """The exact Σ v w of each group of consecutive rows; an empty group gives 0.

    Arguments and errors are those of `grouped_weighted_average`.
    """
    from tallystick.numbers._columns import average  # noqa: PLC0415  # loads NumPy

    return average.sums(values, weights, starts)
