"""Sizes of the rows of Arrow data, computed without making the rows.

A few bytes of Arrow can stand for any number of rows as long as one likes: lists may share their
items, dictionaries and runs repeat a value. So the size of a row is added up from the sizes of the
values that it has, each counted wherever it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tallystick.errors import InputError

SLOT = 64
"""Bytes that a value counts beside those of its text, or of the name of its field."""

_Ints: TypeAlias = npt.NDArray[np.int64]
_Sizes: TypeAlias = npt.NDArray[np.floating[Any]]
"""Whole numbers; doubles, as they cannot overflow, and are exact as far as sizes matter."""
_Sums: TypeAlias = Callable[[_Ints], _Sizes]
"""The size of the first n values of an array as a function of n, for billions of values too."""
_MOST = 1 << 31
"""Larger sizes are this, so that small ones beside them stay exact."""


def row_sizes(data: pa.RecordBatch, first: int = 1) -> _Sizes:
    """Return the size of each row: ``SLOT`` bytes a value, and those of its texts and field names.

    Nulls, and the fields of objects that are null, count as values.

    Args:
        data: a column for each field; not many more rows than can be looked at at once.
        first: the number of the first row, for errors.

    Raises:
        InputError: a column has a type that no record has, or places outside of its values.
    """
    edges = np.arange(data.num_rows + 1, dtype=np.int64)
    total = np.zeros(data.num_rows)
    for name, column in zip(data.schema.names, data.columns, strict=True):
        try:
            total += np.diff(_sums(column)(edges)) + len(name)
        except _Unlike as error:
            raise InputError(
                f"row {first}: {name}: found {error}, expected JSON values: leave the column out, "
                "or write it with another type"
            ) from error
    return total


class _Unlike(Exception):  # noqa: N818  # told as an InputError
    """Data that no record has."""


def _sums(array: pa.Array) -> _Sums:
    """Return the sums of the sizes of the values of an array."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return _sums(array.storage)
    if pa.types.is_dictionary(kind):
        return _dense(_picked(array))
    if pa.types.is_run_end_encoded(kind):
        return _runs(array)
    if pa.types.is_struct(kind):
        return _struct(array)
    if _is_listed(kind):
        return _dense(_lists(array))
    if _is_text(kind):
        return _dense(_texts(array) + SLOT)
    if pa.types.is_nested(kind):
        raise _Unlike(f"the type {kind}")
    return _uniform(SLOT + _width(kind))


def _uniform(size: int) -> _Sums:
    return lambda edges: edges * float(size)


def _dense(sizes: npt.NDArray[Any]) -> _Sums:
    sums = np.zeros(len(sizes) + 1)
    np.cumsum(np.minimum(sizes, _MOST), out=sums[1:])
    return lambda edges: sums[edges]


def _width(kind: pa.DataType) -> int:
    """Return the bytes of a value of fixed width."""
    return 0 if pa.types.is_null(kind) else -(-int(kind.bit_width) // 8)


def _is_text(kind: pa.DataType) -> bool:
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    others = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
    return any(test(kind) for test in (*tests, *others))


def _texts(array: pa.Array) -> _Ints:
    """Return the bytes of each text."""
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        # a view is of 16 bytes, of which the first four are its length
        views = np.frombuffer(array.buffers()[1], np.int32)
        lengths = views[array.offset * 4 : (array.offset + len(array)) * 4 : 4]
        valid = _flags(array.is_valid())
        return np.where(valid, lengths, 0).astype(np.int64)
    return _numbers(pc.fill_null(pc.binary_length(array), 0))


def _picked(array: pa.DictionaryArray) -> _Sizes:
    values = np.diff(_sums(array.dictionary)(_edges(array.dictionary)))
    places = _numbers(pc.fill_null(array.indices.cast(pa.int64()), -1))
    if len(places) and not -1 <= places.min() <= places.max() < len(values):
        raise _Unlike("a place outside of the dictionary")
    return np.append(values, SLOT)[places]


def _runs(array: pa.RunEndEncodedArray) -> _Sums:
    ends = np.concatenate([[0], _numbers(array.run_ends.cast(pa.int64()))])
    sizes = np.diff(_sums(array.values)(_edges(array.values)))
    whole = np.concatenate([[0], np.cumsum(np.diff(ends) * np.minimum(sizes, _MOST))])

    def upto(edges: _Ints) -> _Sizes:
        run = np.searchsorted(ends, edges, side="right") - 1
        rest = edges - ends[run]
        return np.asarray(whole[run] + rest * np.append(sizes, 0.0)[run])

    return lambda edges: upto(edges + array.offset) - upto(np.array([array.offset]))


def _struct(array: pa.StructArray) -> _Sums:
    names = sum(len(field.name) for field in array.type)
    parts = [_sums(part) for part in array.flatten()]
    own = float(SLOT + names)
    return lambda edges: sum((part(edges) for part in parts), edges * own)


def _is_listed(kind: pa.DataType) -> bool:
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    views = (pa.types.is_list_view, pa.types.is_large_list_view, pa.types.is_map)
    return any(test(kind) for test in (*tests, *views))


def _lists(array: Any) -> _Sizes:  # noqa: ANN401  # a kind of list
    """Return the sizes of lists, their items included."""
    kind = array.type
    if pa.types.is_fixed_size_list(kind):
        starts = (np.arange(len(array)) + array.offset) * kind.list_size
        ends = starts + kind.list_size
    else:
        offsets = _numbers(array.offsets.cast(pa.int64()))
        if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
            starts = offsets[: len(array)]
            ends = starts + _numbers(array.sizes.cast(pa.int64()))
        else:
            starts, ends = offsets[:-1], offsets[1:]
    parts = [array.keys, array.items] if pa.types.is_map(kind) else [array.values]
    valid = _flags(array.is_valid())
    starts, ends = np.where(valid, starts, 0), np.where(valid, ends, 0)
    if (starts < 0).any() or (ends < starts).any() or (ends > len(parts[0])).any():
        raise _Unlike("a list of items that are not there")
    sums = [_sums(part) for part in parts]
    return sum(
        (sums_of(ends) - sums_of(starts) for sums_of in sums), np.full(len(array), float(SLOT))
    )


def _edges(array: pa.Array) -> _Ints:
    return np.arange(len(array) + 1, dtype=np.int64)


def _numbers(array: pa.Array) -> _Ints:
    return np.asarray(array.to_numpy(zero_copy_only=False)).astype(np.int64, copy=False)


def _flags(array: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(array.to_numpy(zero_copy_only=False), np.bool_)
