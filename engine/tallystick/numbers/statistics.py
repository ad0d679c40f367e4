"""Statistics of a population, exact, rounded half-even once.

Values are integers of one unit, such as nano, and so is the result. An average without weight is 0
(E37 of docs/errata.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from tallystick.errors import NumberError
from tallystick.numbers.nano import round_half_even


def weighted_average(values: Sequence[int], weights: Sequence[int]) -> int:
    """Return the average Σ v w / Σ w, rounded once; 0 when the weights sum to zero.

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
