"""What Arrow takes while something runs."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

_KEPT: list[pa.MemoryPool] = []
"""What was taken from a pool is given back to it, if later than the block ends."""


@contextmanager
def counting_pool() -> Iterator[pa.MemoryPool]:
    """A pool that knows how much was taken at most in the block."""
    before = pa.default_memory_pool()
    counting = pa.proxy_memory_pool(before)
    _KEPT.append(counting)
    pa.set_memory_pool(counting)
    try:
        yield counting
    finally:
        pa.set_memory_pool(before)
