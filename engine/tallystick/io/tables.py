"""Tables: the rows of Parquet or Arrow data as records.

A column is a field, a struct an object and a map a map. Null means left out, at every level; the
elements of a list stay where they are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from tallystick.errors import InputError
from tallystick.io.lines import MAX_LINE_BYTES, LongLine

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

LARGEST_ROW = 32 * MAX_LINE_BYTES
"""The size of a row, as ``row_sizes`` counts, above which its line counts as too long."""

_ROWS, _MEASURED_ROWS = 1 << 10, 1 << 12
"""Number of rows that are made at a time, and that are measured."""
_SHORT = MAX_LINE_BYTES // 8
"""The size of a row up to which its line is short enough, whatever it holds."""
_PART = 8 << 20
"""The size of the rows that are made at a time."""

_STARTS = 100
"""Bytes of a line that is too long which are kept for its message."""

_Cleaner = Callable[[Any], Any]
Row: TypeAlias = "dict[str, Any] | LongLine"
"""A row as a record: without nulls; or the line that it would be, if that is too long."""


class Rows(Sequence[Row]):
    """The rows of a batch, made when they are asked for, in parts of bounded memory."""

    def __init__(self, data: pa.RecordBatch, first: int = 1, path: Path | None = None) -> None:
        """Make none yet.

        Args:
            data: a column for each field.
            first: the number of the first row.
            path: where they are from, for what is said of a bad one.
        """
        self._data, self._first, self._path = data, first, path
        self._made: tuple[int, list[Row]] = (-1, [])

    @cached_property
    def _parts(self) -> list[tuple[int, pa.RecordBatch, npt.NDArray[np.floating[Any]]]]:
        """The parts, each with the place of its first row and the sizes of its rows."""
        numbered, start = [], 0
        with self._told():
            for part, sizes in parts(self._data, _PART, _ROWS, self._first):
                numbered.append((start, part, sizes))
                start += part.num_rows
        return numbered

    def __len__(self) -> int:
        return int(self._data.num_rows)

    def __iter__(self) -> Iterator[Row]:
        for number in range(len(self._parts)):
            yield from self._rows(number)

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401  # a row, by its place
        index = range(len(self))[index]
        number = bisect_right(self._parts, index, key=itemgetter(0)) - 1
        return self._rows(number)[index - self._parts[number][0]]

    def _rows(self, number: int) -> list[Row]:
        """Return the rows of a part; those that were made last stay at hand."""
        if self._made[0] != number:
            start, part, sizes = self._parts[number]
            with self._told():
                self._made = number, _rows(part, sizes, self._first + start)
        return self._made[1]

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Name the file in an error of the block."""
        try:
            yield
        except InputError as error:
            raise error if self._path is None else InputError(f"{self._path}: {error}") from error


def rows(data: pa.Table | pa.RecordBatch, first: int = 1) -> Iterator[Row]:
    """Yield the rows, in order, for ``Decoder.convert``, which judges what they hold.

    Args:
        data: a column for each field.
        first: the number of the first row, for what is said of a bad one.

    Raises:
        InputError: a value has no equal in Python, such as a time after the year 9999; or a column
            has a type that no record has.
    """
    import pyarrow as pa  # takes longer to load than most commands run

    for batch in data.to_batches() if isinstance(data, pa.Table) else [data]:
        yield from Rows(batch, first)
        first += batch.num_rows


def parts(
    data: pa.RecordBatch, size: int, most: int, first: int = 1
) -> Iterator[tuple[pa.RecordBatch, npt.NDArray[np.floating[Any]]]]:
    """Yield consecutive rows that come to no more than a size, or one row, with the size of each.

    Args:
        data: a column for each field.
        size: as ``row_sizes`` counts.
        most: how many rows there are at most in a part.
        first: the number of the first row, for errors.

    Raises:
        InputError: as ``row_sizes``.
    """
    from tallystick.io.row_sizes import row_sizes

    for place in range(0, data.num_rows, _MEASURED_ROWS):
        batch = data.slice(place, _MEASURED_ROWS)
        sizes = row_sizes(batch, first + place)
        sums = sizes.cumsum()
        start, before = 0, 0.0
        while start < len(sizes):
            fitting = int(sums.searchsorted(before + size, side="right"))
            end = min(max(fitting, start + 1), start + most)
            yield batch.slice(start, end - start), sizes[start:end]
            start, before = end, float(sums[end - 1])


def _rows(part: pa.RecordBatch, sizes: npt.NDArray[np.floating[Any]], first: int) -> list[Row]:
    """Return the rows of a part; of one that is too long, the start of its line."""
    import pyarrow as pa

    clean = _cleaner(pa.struct(list(part.schema)))
    if sizes[0] > LARGEST_ROW:
        return [_start(part, clean, first)]
    records = _cleaned(part, clean, first)
    return list(records) if sizes.max() <= _SHORT else [_in_a_line(row) for row in records]


def _in_a_line(row: dict[str, Any]) -> Row:
    """Return a row, or the start of its line if that is too long."""
    line = _line(row)
    return LongLine(line[:_STARTS]) if len(line) > MAX_LINE_BYTES else row


def _start(row: pa.RecordBatch, clean: _Cleaner, first: int) -> LongLine:
    """Return the start of the line of a row that is not made, by its short columns."""
    from tallystick.io.row_sizes import row_sizes

    short = [n for n in range(row.num_columns) if row_sizes(row.select([n]))[0] <= _SHORT]
    (record,) = _cleaned(row.select(short), clean, first)
    return LongLine(_line(record)[:_STARTS])


def _line(row: dict[str, Any]) -> bytes:
    """Return the line of a row; None for a row with a value that no record has."""
    try:
        return msgspec.json.encode(row)
    except (TypeError, ValueError):
        return b""


def _cleaned(data: pa.RecordBatch, clean: _Cleaner, first: int) -> list[dict[str, Any]]:
    import pyarrow as pa

    # LookupError is of a time zone that is not known, TypeError of a map whose keys are lists
    refusals = (ArithmeticError, LookupError, TypeError, ValueError, pa.ArrowException)
    try:
        return [clean(row) for row in data.to_pylist()]
    except refusals as error:
        if data.num_rows > 1:
            singles = (
                _cleaned(data.slice(row, 1), clean, first + row) for row in range(data.num_rows)
            )
            return [row for (row,) in singles]
        if data.num_columns > 1:
            parts = (
                _cleaned(data.select([column]), clean, first) for column in range(data.num_columns)
            )
            return [{name: value for (part,) in parts for name, value in part.items()}]
        if isinstance(error, UnicodeDecodeError):
            # rejected as what it is, as lone surrogates are in no JSON: nobody else's row is bad
            return [{data.schema.names[0]: error.object.decode("utf-8", "surrogateescape")}]
        raise InputError(
            f"row {first}: {', '.join(data.schema.names)}: found a value that Python cannot hold "
            f"({' '.join(str(error).split())}), expected JSON values: leave the row out, or write "
            "the column with another type"
        ) from error


def _cleaner(kind: pa.DataType) -> _Cleaner:
    """Return the function that makes JSON values without nulls of values of an Arrow type."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return _struct({field.name: _cleaner(field.type) for field in fields})
    if pa.types.is_map(kind):
        return _map(_cleaner(kind.item_type))
    if _is_list(kind):
        return _list(_cleaner(kind.value_type))
    return _same


def _is_list(kind: pa.DataType) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(kind) for test in tests)


def _struct(cleaners: dict[str, _Cleaner]) -> _Cleaner:
    return lambda value: {k: cleaners[k](item) for k, item in value.items() if item is not None}


def _map(clean: _Cleaner) -> _Cleaner:
    return lambda pairs: {key: clean(item) for key, item in pairs if item is not None}


def _list(clean: _Cleaner) -> _Cleaner:
    return lambda items: [None if item is None else clean(item) for item in items]


def _same(value: Any) -> Any:  # noqa: ANN401  # whatever the column holds
    return value
