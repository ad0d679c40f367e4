"""Columns of the weighted arithmetic mean, in doubles and exact.

*Error.* Every a_i * n_i and every partial sum is an integer of at most 1e9 * D <= 1e12, so the sum
is exact. The quotient is at most 1e9 < 2**30 and one rounding moves it by at most 2**-24. A
quotient that is no tie is at least 1/(2D) >= 1/2000 from the nearest k + 1/2, so it stays on its
side; a tie is a double, so the division is exact and ``rint`` rounds it to even.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tallystick.errors import NumberError
from tallystick.numbers._columns.column import check_columns, check_range, spans
from tallystick.numbers.nano import NANO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tallystick.numbers._columns.column import Column, Doubles, Integers
    from tallystick.numbers.weights import Weights


def means(columns: Sequence[Column], weights: Weights) -> Integers:
    """See `tallystick.numbers.arithmetic.arithmetic_mean_columns`."""
    if len(columns) != weights.count:
        raise NumberError(f"found {len(columns)} columns, expected {weights.count}")
    out = np.empty(check_columns(columns), np.int64)
    for span in spans(len(out)):
        check_range([column[span] for column in columns], NANO, span.start)
        total = _sum([columns[index][span] for index in weights.kept], weights.numerators)
        np.divide(total, float(weights.denominator), out=total)
        np.rint(total, out=total)
        np.copyto(out[span], total, casting="unsafe")
    return out


def _sum(columns: Sequence[Column], numerators: Sequence[int]) -> Doubles:
    """Σ a_i n_i of each row, in doubles."""
    total = np.multiply(columns[0], float(numerators[0]))
    term = np.empty_like(total)
    for column, numerator in zip(columns[1:], numerators[1:], strict=True):
        np.multiply(column, float(numerator), out=term)
        np.add(total, term, out=total)
    return total
