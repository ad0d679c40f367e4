"""Arrow arrays of columns and of texts, without what pyarrow loads at its leisure.

``pyarrow.compute``, which methods such as ``Array.take`` import, writes hundreds of functions that
nobody here calls; ``pyarrow.array`` of a NumPy array imports ``numpy.ma``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

try:
    # what pyarrow.compute calls itself
    from pyarrow import _compute as compute
except ImportError:  # another release of pyarrow
    from pyarrow import compute

if TYPE_CHECKING:
    import numpy.typing as npt

_POINT, _ZERO = b".0"
_PLACES = 9


def integers(column: npt.NDArray[np.integer[Any]]) -> pa.Array:
    """Return a column of 64-bit integers, over its memory where that is in one piece."""
    values = np.ascontiguousarray(column, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


def take(values: pa.Array, places: npt.NDArray[np.integer[Any]]) -> pa.Array:
    """Return the values at some places, counted from 0.

    Raises:
        pyarrow.ArrowIndexError: there are fewer values.
    """
    return compute.call_function("take", [values, integers(places)], compute.TakeOptions())


def decoded(values: pa.Array) -> pa.Array:
    """Return an array without a dictionary."""
    if not isinstance(values, pa.DictionaryArray):
        return values
    places = [values.dictionary, values.indices]
    return compute.call_function("take", places, compute.TakeOptions())


def joined(*parts: pa.Array | str, between: str = "", null: str | None = None) -> pa.Array:
    """Return the texts of each row, one after the other.

    Args:
        parts: columns of texts, and texts that are the same in each row.
        between: a text between two of them.
        null: stands in the place of a null; None makes the whole row null.
    """
    options = compute.JoinOptions("emit_null" if null is None else "replace", null or "")
    texts = [pa.scalar(each) if isinstance(each, str) else each for each in (*parts, between)]
    return compute.call_function("binary_join_element_wise", texts, options)


def without_end(texts: pa.Array, characters: str) -> pa.Array:
    """Return texts without some characters at their ends."""
    return compute.call_function("utf8_rtrim", [texts], compute.TrimOptions(characters))


def matching(texts: pa.Array, pattern: str) -> npt.NDArray[np.bool_]:
    """Return the rows whose texts have a part that a pattern matches."""
    options = compute.MatchSubstringOptions(pattern)
    matches = compute.call_function("match_substring_regex", [texts], options)
    known: npt.NDArray[np.bool_] = compute.call_function("coalesce", [matches, False]).to_numpy(
        zero_copy_only=False
    )
    return known


def where(rows: npt.NDArray[np.bool_], texts: pa.Array, others: pa.Array | None = None) -> pa.Array:
    """Return some rows of a column, and of others those of another; without one null."""
    other = pa.scalar(None, pa.string()) if others is None else others
    truths = pa.Array.from_buffers(pa.bool_(), len(rows), [None, _bits(rows)])
    return compute.call_function("if_else", [truths, texts, other])


def whole_texts(column: npt.NDArray[np.integer[Any]]) -> pa.Array:
    """Return whole numbers as text."""
    return _text(integers(column))


def nano_texts(values: npt.NDArray[np.int64], given: npt.NDArray[np.bool_]) -> pa.Array:
    """Return nano as decimals of nine places; null where there is none."""
    magnitude = np.abs(values).view(np.uint64)  # the least of 64 bits has no opposite
    whole, rest = np.divmod(magnitude, np.uint64(10**_PLACES))
    negative = values < 0
    if whole.max(initial=0) < 10 and not negative.any():  # one digit
        return _digits(rest.astype(np.uint32), given, whole)
    numbers = pa.Array.from_buffers(pa.uint64(), len(whole), [None, pa.py_buffer(whole)])
    texts = joined(_text(numbers), _digits(rest.astype(np.uint32), given))
    return where(negative, joined("-", texts), texts) if negative.any() else texts


def _digits(
    fraction: npt.NDArray[np.uint32],
    given: npt.NDArray[np.bool_],
    whole: npt.NDArray[np.uint64] | None = None,
) -> pa.Array:
    """Return a point and nine digits, perhaps behind a digit: texts of one width."""
    width = _PLACES + (1 if whole is None else 2)
    digits = np.empty((len(fraction), width), np.uint8)
    if whole is not None:
        digits[:, 0] = whole + np.uint64(_ZERO)
    digits[:, -_PLACES - 1] = _POINT
    for place in range(1, _PLACES + 1):
        tens = fraction // np.uint32(10)
        digits[:, -place] = fraction - tens * np.uint32(10) + np.uint32(_ZERO)
        fraction = tens
    ends = np.arange(0, width * len(digits) + 1, width, dtype=np.int32)
    buffers = [None if given.all() else _bits(given), pa.py_buffer(ends), pa.py_buffer(digits)]
    return pa.Array.from_buffers(pa.string(), len(digits), buffers)


def _bits(truths: npt.NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(truths, bitorder="little").tobytes())


def _text(numbers: pa.Array) -> pa.Array:
    return compute.call_function("cast", [numbers], compute.CastOptions.safe(pa.string()))


def content(texts: pa.Array) -> bytes:
    """Return all texts, none of them null, one after the other."""
    ends = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, texts.offset * 4)
    first, last = int(ends[0]), int(ends[-1])
    data: bytes = texts.buffers()[2].slice(first, last - first).to_pybytes()
    return data
