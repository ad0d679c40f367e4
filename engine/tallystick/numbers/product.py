"""The product of nano factors, exact, rounded half-even once.

The product of k factors n_i is Π n_i / 10**(9 (k - 1)) nano. Products have real ties: half of an
odd number of nano is one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tallystick.errors import NumberError
from tallystick.numbers.nano import NANO, round_half_even

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tallystick.numbers._columns.column import Column, Integers


def product(factors: Sequence[int]) -> int:
    """The product of nano factors, rounded once.

    Args:
        factors: one or more nano values of any size and sign.

    Raises:
        NumberError: there is no factor.
    """
    if not factors:
        raise NumberError("found no factor, expected at least one")
    return round_half_even(math.prod(factors), NANO ** (len(factors) - 1))


def product_columns(columns: Sequence[Column]) -> Integers:
    """The product of each row of nano columns, equal to `product`.

    Args:
        columns: one or more int32 or int64 columns of nano in [0, 8e9], of one length.

    Raises:
        NumberError: a factor is outside its range, a product is 2**62 nano or more, or the
            columns differ in length.
    """
    from tallystick.numbers._columns import product  # noqa: PLC0415  # loads NumPy

    return product.products(columns)
