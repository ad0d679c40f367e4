"""Columns of integers: what a kernel accepts, and how it walks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tallystick.errors import NumberError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Column: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
Integers: TypeAlias = NDArray[np.int64]
Doubles: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

# Rows a pass: a few columns of them stay in the second-level cache.
ROWS = 1 << 14


def spans(rows: int) -> Iterator[slice]:
    """Consecutive slices that cover ``rows`` rows, each of at most `ROWS`."""
    for start in range(0, rows, ROWS):
        yield slice(start, min(start + ROWS, rows))


def check_columns(columns: Sequence[Column]) -> int:
    """The number of rows of columns of one length.

    Raises:
        NumberError: there is no column, one is not a one-dimensional array of int32 or int64, or
            one has another length than the first.
    """
    if not columns:
        raise NumberError("found no column, expected at least one")
    for index, column in enumerate(columns):
        _check_shape(f"column {index}", column, len(columns[0]))
    return len(columns[0])


def check_range(columns: Sequence[Column], high: int, start: int = 0) -> None:
    """Refuse columns that hold a value outside [0, high].

    Args:
        columns: integer columns, or one span of them.
        high: the largest value that is accepted.
        start: the row that the first value is in, for the message.

    Raises:
        NumberError: a value is outside the range.
    """
    for index, column in enumerate(columns):
        # Seen as unsigned, a negative number is above every other: one pass tests both ends.
        unsigned = column.view(f"u{column.dtype.itemsize}")
        if len(column) == 0 or unsigned.max() <= high:
            continue
        row = int(np.flatnonzero(unsigned > high)[0])
        raise NumberError(
            f"column {index}, row {start + row}: found {column[row]}, "
            f"expected an integer from 0 to {high}"
        )


def check_magnitude(column: Column, limit: int) -> None:
    """Refuse a column that holds a value outside (-limit, limit).

    Raises:
        NumberError: a value is outside the range.
    """
    outside = np.flatnonzero((column <= -limit) | (column >= limit))
    if len(outside):
        row = int(outside[0])
        raise NumberError(
            f"row {row}: found {column[row]}, expected an integer between -{limit} and {limit}"
        )


def check_starts(starts: Integers, rows: int) -> Integers:
    """The number of rows of each group, given the first row of each.

    Args:
        starts: ascending, the first 0; equal neighbours say that the first of them is empty.
        rows: how many rows there are in all.

    Raises:
        NumberError: the starts do not divide the rows into groups.
    """
    _check_shape("group starts", starts, len(starts))
    bounds = np.append(starts, rows).astype(np.int64)
    sizes = np.diff(bounds)
    if bounds[0] != 0 or (sizes < 0).any():
        raise NumberError(
            f"found group starts {starts[:9].tolist()} for {rows} rows, "
            "expected them to begin with 0 and ascend to at most the number of rows"
        )
    return sizes


def _check_shape(name: str, column: Column, rows: int) -> None:
    if column.dtype not in (np.dtype(np.int32), np.dtype(np.int64)) or column.ndim != 1:
        raise NumberError(
            f"{name}: found {column.ndim} dimensions of {column.dtype}, "
            "expected one dimension of int32 or int64"
        )
    if len(column) != rows:
        raise NumberError(f"{name}: found {len(column)} rows, expected {rows}")
