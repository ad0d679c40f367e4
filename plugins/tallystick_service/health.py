"""Health: whether a service or a daemon does its work, what is wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import attrs


@attrs.frozen
class Problem:
    """One thing that is wrong.

    Attributes:
        code: its stable name.
        message: what was found, and what was expected.
        remedy: what to do.
    """

    code: str
    message: str
    remedy: str


@attrs.frozen
class Health:
    """The health of a service or a daemon.

    Attributes:
        status: ``ok``; ``degraded`` where it works and something is wrong; ``failing`` where it
            does not work.
        problems: all that is wrong, the worst first.
    """

    status: Literal["ok", "degraded", "failing"] = "ok"
    problems: tuple[Problem, ...] = ()


HealthSource: TypeAlias = Callable[[], Health]
"""Returns the health of now, at once: it is called for each request."""
