"""Statistics of a population, exact, rounded half-even once.

Values are integers of one unit, such as nano, and so is the result.
"""

from __future__ import annotations

from collections.abc import Sequence

from tallystick.errors import NumberError
from tallystick.numbers.nano import round_half_even


def median(values: Sequence[int]) -> int:
    """Return the median of one or more integers of one unit, such as nano, rounded once.

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
