"""The ratio of two integers of one unit, in nano, exact: 1e9 * a / b, rounded half-even once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.errors import NumberError
from tallystick.numbers.nano import NANO, round_half_even

if TYPE_CHECKING:
    from tallystick.numbers._columns.column import Column, Integers


def ratio(numerator: int, denominator: int) -> int:
    """``numerator / denominator`` in nano, rounded once.

    Raises:
        NumberError: the denominator is not positive.
    """
    if denominator <= 0:
        raise NumberError(f"found the denominator {denominator}, expected at least 1")
    return round_half_even(numerator * NANO, denominator)


def ratio_columns(numerators: Column, denominators: Column) -> Integers:
    """The ratio of each row of two integer columns, in nano, equal to `ratio`.

    Args:
        numerators: int32 or int64; of either sign.
        denominators: int32 or int64 in [1, 2**61).

    Raises:
        NumberError: a denominator is outside its range, a ratio is not within ±562 949 (2**49
            nano), or the columns differ in length.
    """
    from tallystick.numbers._columns import ratio  # noqa: PLC0415  # loads NumPy

    return ratio.ratios(numerators, denominators)
