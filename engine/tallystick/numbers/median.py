"""The median, exact: of an even count the mean of the two in the middle, rounded half-even."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.errors import NumberError
from tallystick.numbers.nano import round_half_even

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tallystick.numbers._columns.column import Column, Integers


def median(values: Sequence[int]) -> int:
    """The median of one or more integers of one unit, such as nano, rounded once.

    Raises:
        NumberError: there is no value.
    """
    if not values:
        raise NumberError("found no value, expected at least one")
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return round_half_even(ordered[middle - 1] + ordered[middle], 2)


def grouped_median(values: Column, starts: Integers) -> Integers:
    """The median of each group of consecutive rows, equal to `median`.

    Args:
        values: integers in (-2**33, 2**33), such as nano.
        starts: the first row of each group, int64, ascending from 0; no group is empty.

    Raises:
        NumberError: a value is outside its range, the starts do not divide the rows, a group is
            empty, or there are 2**29 groups or more.
    """
    from tallystick.numbers._columns import median  # noqa: PLC0415  # loads NumPy

    return median.medians(values, starts)
