"""Geometric means of columns under many weights: the logarithms are taken once for all of them.

The proposal and its margin are those of the logarithmic form of `numbers.mean_columns`, whose
proof does not depend on where the logarithms come from. The few rows that it does not accept are
decided by correctly rounded decimal logarithms where those settle it, and else by integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tallystick.formula.columns import Column
from tallystick.numbers.means import geometric_mean_columns, logarithms_are_trusted
from tallystick.numbers.root import decide_remembered
from tallystick.numbers.weights import Weights

Doubles = npt.NDArray[np.float64]

_SCALE = 2.0**-30
_MARGIN = 2.0**-16
_AXES = 2.0**-8
_CHEAP = 1 << 7
"""Up to this degree integers decide a row faster than decimals do."""
_CONTEXT = Context(prec=50)
_NEAR = Decimal(10) ** -40
"""Bound of the error of a sum of 1000 logarithms below 30, each off by less than 1e-48."""


def logarithms(columns: Sequence[Column]) -> Doubles:
    """Return the logarithms of axes, a row for each: of nano times 2⁻³⁰, minus infinity for 0."""
    result = np.empty((len(columns), len(columns[0])))
    for column, row in zip(columns, result, strict=True):
        np.multiply(column, _SCALE, out=row)
    with np.errstate(divide="ignore"):
        np.log(result, out=result)
    return result


def geometric_means(columns: Sequence[Column], logs: Doubles, weights: Weights) -> Column:
    """The weighted geometric mean of every row, in nano: what `geometric_mean_columns` gives.

    Args:
        columns: an axis for each weight that is not 0.
        logs: their `logarithms`.
        weights: the weights.
    """
    if not logarithms_are_trusted():
        return _by_the_kernel(columns, weights)
    shares = np.array(weights.numerators) / weights.denominator
    total = np.einsum("a,ar->r", shares, logs)
    np.exp(total, out=total)
    np.multiply(total, 1 / _SCALE, out=total)
    nearest = np.rint(total)
    result: Column = nearest.astype(np.int64)
    np.subtract(total, nearest, out=total)
    np.abs(total, out=total)
    margin = (1 + len(columns) * _AXES) * _MARGIN
    # a value that is not a number is not accepted
    hard = np.flatnonzero(~(total <= 1 / 2 - margin))
    if len(hard):
        rows = zip(*(column[hard].tolist() for column in columns), strict=True)
        guesses = result[hard].tolist()
        result[hard] = [_decided(row, weights, g) for row, g in zip(rows, guesses, strict=True)]
    return result


def _by_the_kernel(columns: Sequence[Column], weights: Weights) -> Column:
    by_index = dict(zip(weights.kept, columns, strict=True))
    every = [by_index.get(index, columns[0]) for index in range(weights.count)]
    return geometric_mean_columns(every, weights)


def _decided(row: tuple[int, ...], weights: Weights, guess: int) -> int:
    if weights.denominator > _CHEAP and 0 not in row:
        powers = zip(row, weights.numerators, strict=True)
        power = sum((_logarithm(2 * n) * a for n, a in powers), Decimal(0))
        for k in (guess, guess - 1, guess + 1):
            low, high = (_logarithm(max(2 * k + side, 1)) for side in (-1, 1))
            degree = weights.denominator
            if k > 0 and degree * low + _NEAR < power < degree * high - _NEAR:
                return k
    return decide_remembered(row, weights)


@lru_cache(maxsize=1 << 14)
def _logarithm(value: int) -> Decimal:
    """Correctly rounded in fifty digits, as decimal arithmetic promises of ``ln``."""
    return Decimal(value).ln(_CONTEXT)
