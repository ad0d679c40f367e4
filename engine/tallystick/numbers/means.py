"""The weighted means of nano values, exact, rounded half-even once.

The arithmetic mean is Σ a_i n_i / D, the geometric one (Π n_i**a_i)**(1/D) (`root.py`, where the
argument is). The functions of columns load NumPy when they are called; `mean_columns.py` has them,
with the proofs of their error bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.numbers.nano import round_half_even
from tallystick.numbers.root import decide
from tallystick.numbers.weights import check_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tallystick.numbers.mean_columns import Column, Integers
    from tallystick.numbers.weights import Weights


def arithmetic_mean(values: Sequence[int], weights: Weights) -> int:
    """Return the weighted arithmetic mean of nano values, rounded once.

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
    """Return the weighted arithmetic mean of each row of nano columns, equal to `arithmetic_mean`.

    Args:
        columns: one int32 or int64 column of nano in [0, 1e9] for each weight that was given.
        weights: their weights.

    Raises:
        NumberError: a value is outside [0, 1e9], or the columns do not fit the weights.
    """
    from tallystick.numbers import mean_columns  # loads NumPy

    return mean_columns.arithmetic_means(columns, weights)


def geometric_mean(values: Sequence[int], weights: Weights) -> int:
    """Return the weighted geometric mean of nano values, rounded once; 0 if a weighed value is 0.

    Args:
        values: nano in [0, 1e9], one for each weight that was given.
        weights: their weights.

    Raises:
        NumberError: a value is outside [0, 1e9], or there are more or fewer than weights.
    """
    check_values(values, weights)
    return decide(tuple(values[index] for index in weights.kept), weights)


def geometric_mean_columns(columns: Sequence[Column], weights: Weights) -> Integers:
    """Return the weighted geometric mean of each row of nano columns, equal to `geometric_mean`.

    Args:
        columns: one int32 or int64 column of nano in [0, 1e9] for each weight that was given.
        weights: their weights.

    Raises:
        NumberError: a value is outside [0, 1e9], or the columns do not fit the weights.
    """
    from tallystick.numbers import mean_columns  # loads NumPy

    return mean_columns.geometric_means(columns, weights)


def logarithms_are_trusted() -> bool:
    """Return whether NumPy's logarithm and exponential are as close as bounds assume.

    They are measured once, on a fixed sample: within 8 units in the last place, where a bound may
    take 64 for granted.
    """
    from tallystick.numbers import mean_columns  # loads NumPy

    return mean_columns.logarithms_are_trusted()
