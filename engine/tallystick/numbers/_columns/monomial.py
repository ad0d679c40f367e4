"""Monomials in doubles: products of powers of columns, and powers of one column.

A monomial of degree D is evaluated by simultaneous squaring: from the highest bit of the exponents
to the lowest, square, then multiply by every column whose exponent has the bit.

*Error.* Let u = 2**-53. A product of factors of degrees p and q that carry p - 1 and q - 1
roundings carries p + q - 1. By induction the result is the exact one times D - 1 factors (1 + d),
|d| <= u, in whatever order, provided that nothing overflows or underflows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tallystick.numbers._columns.column import Doubles


def evaluate(columns: Sequence[Doubles], exponents: Sequence[int], out: Doubles) -> None:
    """Write the product of ``columns[i] ** exponents[i]`` to ``out``; exponents are at least 1."""
    highest, *levels = _levels(exponents)
    product = _product([columns[index] for index in highest], out)
    for level in levels:
        product = np.square(product, out=out)
        for index in level:
            np.multiply(out, columns[index], out=out)
    if product is not out:
        np.copyto(out, product)


def _levels(exponents: Sequence[int]) -> list[list[int]]:
    """For each bit from the highest on, the indices of the exponents that have it."""
    bits = range(max(exponents).bit_length() - 1, -1, -1)
    return [[index for index, e in enumerate(exponents) if e >> bit & 1] for bit in bits]


def _product(columns: Sequence[Doubles], out: Doubles) -> Doubles:
    """The product of one or more columns: the column itself, or written to ``out``."""
    product = columns[0]
    for column in columns[1:]:
        product = np.multiply(product, column, out=out)
    return product
