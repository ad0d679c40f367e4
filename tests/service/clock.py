"""Time that passes where a test says so, for event loops and for services."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_Value = TypeVar("_Value")
NEVER = 3600.0
"""Seconds of a deadline that passes only where a test skips it."""


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop whose deadlines come at once where a test skips time."""

    _skipped = 0.0

    def time(self) -> float:
        """Return the seconds, with those that were skipped."""
        return super().time() + self._skipped

    def skip(self, seconds: float = NEVER) -> None:
        """Let seconds pass."""
        self._skipped += seconds


def run(work: Coroutine[Any, Any, _Value]) -> _Value:
    """Run a coroutine on a loop whose time can be skipped."""
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(work)


def skip(seconds: float = NEVER) -> None:
    """Let seconds pass on the loop that runs."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    loop.skip(seconds)


class Clock:
    """A clock that stands still but where a test moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Return its seconds."""
        return self.now
