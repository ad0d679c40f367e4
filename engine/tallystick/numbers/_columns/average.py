"""Sums of products over groups of rows, exact, in limbs of 30 bits.

A weight below 2**63 is three limbs w_j of 30 bits. |v| < 2**33, so v * w_j fits int64; it is split
again into its low 30 bits and the rest, of magnitude below 2**33. Over fewer than 2**29 rows the
sums of both fit int64, and integers of any size put the sums of a group together.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tallystick.errors import NumberError
from tallystick.numbers._columns.column import (
    check_columns,
    check_magnitude,
    check_range,
    check_starts,
)
from tallystick.numbers.nano import round_half_even

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tallystick.numbers._columns.column import Column, Integers

_BITS = 30
_LIMB = (1 << _BITS) - 1
_VALUES = 1 << 33
_WEIGHTS = 1 << 63
_ROWS = 1 << 29


def averages(values: Column, weights: Sequence[Column], starts: Integers) -> Integers:
    """See `tallystick.numbers.average.grouped_weighted_average`."""
    weighted = sums(values, weights, starts)
    totals = sums(np.ones_like(values), weights, starts)
    pairs = zip(weighted, totals, strict=True)
    rounded = [round_half_even(part, total) if total else 0 for part, total in pairs]
    return np.array(rounded, np.int64)


def sums(values: Column, weights: Sequence[Column], starts: Integers) -> list[int]:
    """See `tallystick.numbers.average.grouped_sums`."""
    rows = check_columns([values, *weights])
    if rows >= _ROWS:
        raise NumberError(f"found {rows} rows, expected fewer than 2**29: average in parts")
    check_magnitude(values, _VALUES)
    sizes = check_starts(starts, rows)
    totals = [0] * len(sizes)
    for shift, piece in _pieces(values.astype(np.int64), _weight(weights)):
        for group, part in enumerate(_reduce(piece, starts, sizes).tolist()):
            totals[group] += part << shift
    return totals


def _weight(weights: Sequence[Column]) -> Integers | None:
    """The product of the weights of each row; None when there is none."""
    if not weights:
        return None
    check_range(weights, _WEIGHTS - 1)
    if math.prod(int(column.max(initial=0)) for column in weights) >= _WEIGHTS:
        raise NumberError("found weights whose largest product may reach 2**63, expected less")
    product = weights[0].astype(np.int64)
    for column in weights[1:]:
        product *= column
    return product


def _pieces(values: Integers, weight: Integers | None) -> Iterator[tuple[int, Integers]]:
    """Columns whose sums, shifted left and added, are the sum of ``values * weight``."""
    if weight is None:
        yield 0, values
        return
    for shift in (0, _BITS, 2 * _BITS):
        limb = weight >> shift & _LIMB
        if limb.any():
            part = values * limb
            yield shift, part & _LIMB
            yield shift + _BITS, part >> _BITS


def _reduce(column: Integers, starts: Integers, sizes: Integers) -> Integers:
    """The sum of each group; ``reduceat`` does not know empty groups."""
    result = np.zeros(len(sizes), np.int64)
    filled = sizes > 0
    if filled.any():
        result[filled] = np.add.reduceat(column, starts[filled])
    return result
