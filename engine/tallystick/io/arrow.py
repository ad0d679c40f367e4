"""Arrow arrays of columns and of texts, without what pyarrow loads at its leisure.

``pyarrow.compute``, which methods such as ``Array.take`` import, writes hundreds of functions that
nobody here calls; ``pyarrow.array`` of a NumPy array imports ``numpy.ma``.
"""

from __future__ import annotations

from functools import lru_cache
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
    texts = [_scalar(each) if isinstance(each, str) else each for each in (*parts, between)]
    return compute.call_function("binary_join_element_wise", texts, options)


@lru_cache(maxsize=1 << 10)
def _scalar(text: str) -> pa.Scalar:
    # each time that Arrow makes one it looks for pandas
    return pa.scalar(text, pa.string())


def without_end(texts: pa.Array, characters: str) -> pa.Array:
    """Return texts without some characters at their ends."""
    return compute.call_function("utf8_rtrim", [texts], compute.TrimOptions(characters))


def where(rows: npt.NDArray[np.bool_], texts: pa.Array, others: pa.Array | None = None) -> pa.Array:
    """Return some rows of a column, and of others those of another; without one null."""
    other = pa.scalar(None, pa.string()) if others is None else others
    truths = pa.Array.from_buffers(pa.bool_(), len(rows), [None, _bits(rows)])
    return compute.call_function("if_else", [truths, texts, other])


def filled(texts: pa.Array, text: str) -> pa.Array:
    """Return texts, and one in the place of each null."""
    if not texts.null_count:
        return texts
    return compute.call_function("coalesce", [texts, _scalar(text)])


def whole_texts(column: npt.NDArray[np.integer[Any]]) -> pa.Array:
    """Return whole numbers as text."""
    return _text(integers(column))


def nano_texts(
    values: npt.NDArray[np.int64],
    given: npt.NDArray[np.bool_],
    before: str = "",
    after: str = "",
) -> pa.Array:
    """Return nano as decimals of nine places, between two texts; null where there is none."""
    magnitude = np.abs(values).view(np.uint64)  # the least of 64 bits has no opposite
    whole, rest = np.divmod(magnitude, np.uint64(10**_PLACES))
    fraction, negative = rest.astype(np.uint32), values < 0
    if whole.max(initial=0) < 10 and not negative.any():  # one digit
        return _digits(fraction, given, f"{before}0", after, whole)
    numbers = pa.Array.from_buffers(pa.uint64(), len(whole), [None, pa.py_buffer(whole)])
    texts = joined(_text(numbers), _digits(fraction, given, "", after))
    signed = where(negative, joined("-", texts), texts) if negative.any() else texts
    return joined(before, signed) if before else signed


def _digits(
    fraction: npt.NDArray[np.uint32],
    given: npt.NDArray[np.bool_],
    before: str,
    after: str,
    whole: npt.NDArray[np.uint64] | None = None,
) -> pa.Array:
    """Return nine digits behind a point, between two texts; the first may end with a digit."""
    pattern = np.frombuffer(f"{before}.{'0' * _PLACES}{after}".encode(), np.uint8)
    point = len(before.encode())
    texts = np.tile(pattern, (len(fraction), 1))
    if whole is not None:
        texts[:, point - 1] += whole.astype(np.uint8)
    for place in range(point + _PLACES, point, -1):
        tens = fraction // np.uint32(10)
        texts[:, place] += (fraction - tens * np.uint32(10)).astype(np.uint8)
        fraction = tens
    width = len(pattern)
    ends = np.arange(0, width * len(texts) + 1, width, dtype=np.int32)
    buffers = [None if given.all() else _bits(given), pa.py_buffer(ends), pa.py_buffer(texts)]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


def _bits(truths: npt.NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(truths, bitorder="little").tobytes())


def _text(numbers: pa.Array) -> pa.Array:
    return compute.call_function("cast", [numbers], compute.CastOptions.safe(pa.string()))


def content(texts: pa.Array) -> bytes:
    """Return all texts, one after the other; of a null nothing."""
    _, ends, data = texts.buffers()
    if data is None:
        return b""
    offsets = np.frombuffer(ends, np.int32, len(texts) + 1, texts.offset * 4)
    first, last = int(offsets[0]), int(offsets[-1])
    whole: bytes = data.slice(first, last - first).to_pybytes()
    return whole
