"""What Arrow takes while something runs."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa


@contextmanager
def counting_pool() -> Iterator[pa.MemoryPool]:
    """A pool that knows how much was taken at most in the block."""
    before = pa.default_memory_pool()
    counting = pa.proxy_memory_pool(before)
    pa.set_memory_pool(counting)
    try:
        yield counting
    finally:
        pa.set_memory_pool(before)
