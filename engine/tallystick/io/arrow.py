"""Arrow arrays of columns, and rows taken of them, without what pyarrow loads at its leisure.

``Array.take`` imports ``pyarrow.compute``, which writes hundreds of functions that nobody here
calls; ``pyarrow.array`` of a NumPy array imports ``numpy.ma``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

try:
    # what pyarrow.compute calls itself
    from pyarrow._compute import TakeOptions, call_function
except ImportError:  # another release of pyarrow
    from pyarrow.compute import TakeOptions, call_function

if TYPE_CHECKING:
    import numpy.typing as npt


def integers(column: npt.NDArray[np.integer[Any]]) -> pa.Array:
    """Return a column of 64-bit integers, over its memory where that is in one piece."""
    values = np.ascontiguousarray(column, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


def take(values: pa.Array, places: npt.NDArray[np.integer[Any]]) -> pa.Array:
    """Return the values at some places, counted from 0.

    Raises:
        pyarrow.ArrowIndexError: there are fewer values.
    """
    return call_function("take", [values, integers(places)], TakeOptions())


def decoded(values: pa.Array) -> pa.Array:
    """Return an array without a dictionary."""
    if not isinstance(values, pa.DictionaryArray):
        return values
    return call_function("take", [values.dictionary, values.indices], TakeOptions())
