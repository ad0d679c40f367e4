"""How much work something is, on any machine: loaded or old ones give other times."""

import sys
from collections.abc import Callable
from types import FrameType


def calls(work: Callable[[], object]) -> int:
    """How many functions a piece of work calls, of Python and of C."""
    found = 0

    def count(_frame: FrameType, event: str, _function: object) -> None:
        nonlocal found
        found += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found
