"""Weights: exact shares of one.

Weights have at most three decimals, so they are integers over a denominator D that divides 1000.
In lowest terms D is as small as it can be, and D is what an exact weighted mean costs.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import attrs

from tallystick.errors import NumberError
from tallystick.numbers.nano import from_decimal, to_fraction
from tallystick.numbers.text import fraction

if TYPE_CHECKING:
    from collections.abc import Sequence

_FINEST = 1000


@attrs.frozen(cache_hash=True)
class Weights:
    """Weights in lowest terms that sum to exactly one; made by `Weights.of`.

    Attributes:
        numerators: the weights times `denominator`. One of zero takes no part, also when its value
            is zero: x**0 is 1.
        denominator: the least common denominator D, a divisor of 1000.
    """

    numerators: tuple[int, ...]
    denominator: int

    @classmethod
    def of(cls, values: Sequence[Fraction | Decimal | int]) -> Weights:
        """Return the weights with the given exact values, one for each axis.

        Raises:
            NumberError: a weight is a float, negative, or has more than three decimals; or the
                weights do not sum to exactly one.
        """
        exact = [_exact(index, value) for index, value in enumerate(values)]
        total = sum(exact)
        if total != 1:
            raise NumberError(f"found weights that sum to {fraction(total)}, expected exactly 1")
        denominator = math.lcm(*(weight.denominator for weight in exact))
        return cls(tuple(int(weight * denominator) for weight in exact), denominator)


def _exact(index: int, value: Fraction | Decimal | int) -> Fraction:
    weight = value if isinstance(value, Fraction) else _from_decimal(index, value)
    if weight < 0:
        raise NumberError(f"weight {index}: found {fraction(weight)}, expected at least 0")
    if _FINEST % weight.denominator:
        raise NumberError(
            f"weight {index}: found {fraction(weight)}, expected at most three decimals"
        )
    return weight


def _from_decimal(index: int, value: Decimal | int) -> Fraction:
    try:
        return to_fraction(from_decimal(value))
    except NumberError as error:
        raise NumberError(f"weight {index}: {error}") from None
