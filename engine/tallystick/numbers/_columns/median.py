"""Medians of groups of rows: one sort for all groups.

The sort key is the group, 29 bits, above the value plus 2**33, 34 bits: it fits int64, and sorting
it sorts within each group. Only integers take part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tallystick.errors import NumberError
from tallystick.numbers._columns.column import check_columns, check_magnitude, check_starts

if TYPE_CHECKING:
    from tallystick.numbers._columns.column import Column, Integers

_VALUES = 1 << 33
_BITS = 34
_GROUPS = 1 << 29


def medians(values: Column, starts: Integers) -> Integers:
    """See `tallystick.numbers.median.grouped_median`."""
    check_magnitude(values, _VALUES)
    sizes = check_starts(starts, check_columns([values]))
    if len(sizes) >= _GROUPS:
        raise NumberError(f"found {len(sizes)} groups, expected fewer than 2**29")
    if not sizes.all():
        group = int(np.flatnonzero(sizes == 0)[0])
        raise NumberError(f"group {group}: found no value, expected at least one")
    ordered = _sorted_in_groups(values, sizes)
    first = starts.astype(np.int64)
    return _half(ordered[first + (sizes - 1) // 2] + ordered[first + sizes // 2])


def _sorted_in_groups(values: Column, sizes: Integers) -> Integers:
    """The values, ascending within each group."""
    groups = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    key = (groups << _BITS) + (values.astype(np.int64) + _VALUES)
    key.sort()
    return (key & ((1 << _BITS) - 1)) - _VALUES


def _half(total: Integers) -> Integers:
    """Half of each, rounded half-even."""
    half = total >> 1
    return half + (total & half & 1)
