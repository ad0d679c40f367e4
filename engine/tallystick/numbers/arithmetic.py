"""The weighted arithmetic mean, exact: Σ a_i n_i / D, rounded half-even once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.numbers.nano import round_half_even
from tallystick.numbers.weights import check_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tallystick.numbers._columns.column import Column, Integers
    from tallystick.numbers.weights import Weights


def arithmetic_mean(values: Sequence[int], weights: Weights) -> int:
    """The weighted arithmetic mean of nano values, rounded once.

    Args:
        values: nano in [0, 1e9], one for each weight that was given.
        weights: their weights.

    Raises:
        NumberError: a value is outside [0, 1e9], or there are more or fewer than weights.
    """
    check_values(values, weights)
    terms = zip(weights.kept, weights.numerators, strict=True)
    return round_half_even(sum(a * values[index] for index, a in terms), weights.denominator)


def arithmetic_mean_columns(columns: Sequence[Column], weights: Weights) -> Integers:
    """The weighted arithmetic mean of each row of nano columns, equal to `arithmetic_mean`.

    Args:
        columns: one int32 or int64 column of nano in [0, 1e9] for each weight that was given.
        weights: their weights.

    Raises:
        NumberError: a value is outside [0, 1e9], or the columns do not fit the weights.
    """
    from tallystick.numbers._columns import arithmetic  # noqa: PLC0415  # loads NumPy

    return arithmetic.means(columns, weights)
