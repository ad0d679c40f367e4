"""The weighted geometric mean, exact.

Scalars are decided by integers (`root.py`, where the algorithm is); columns decide so what doubles
leave open (`_columns/geometric.py`, where their tests are).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.numbers.root import decide
from tallystick.numbers.weights import check_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tallystick.numbers._columns.column import Column, Integers
    from tallystick.numbers.weights import Weights


def geometric_mean(values: Sequence[int], weights: Weights) -> int:
    """The weighted geometric mean of nano values, rounded once; 0 if a weighed value is 0.

    Args:
        values: nano in [0, 1e9], one for each weight that was given.
        weights: their weights.

    Raises:
        NumberError: a value is outside [0, 1e9], or there are more or fewer than weights.
    """
    check_values(values, weights)
    return decide(tuple(values[index] for index in weights.kept), weights)


def geometric_mean_columns(columns: Sequence[Column], weights: Weights) -> Integers:
    """The weighted geometric mean of each row of nano columns, equal to `geometric_mean`.

    Args:
        columns: one int32 or int64 column of nano in [0, 1e9] for each weight that was given.
        weights: their weights.

    Raises:
        NumberError: a value is outside [0, 1e9], or the columns do not fit the weights.
    """
    from tallystick.numbers._columns import geometric  # noqa: PLC0415  # loads NumPy

    return geometric.means(columns, weights)


def logarithms_are_trusted() -> bool:
    """Whether the logarithm and the exponential of NumPy are as close as bounds assume.

    They are measured once, on a fixed sample: within 8 units in the last place, where a bound may
    take 64 for granted.
    """
    from tallystick.numbers._columns import libm  # noqa: PLC0415  # loads NumPy

    return libm.is_trusted()
