"""Health: whether a service or a daemon does its work, what is wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import attrs

from tallystick_service.access import Viewer


@attrs.frozen
class Problem:
    """One thing that is wrong.

    Attributes:
        code: its stable name.
        message: what was found, and what was expected; empty where it is not for the reader.
        remedy: what to do; empty where it is not for the reader.
        failing: whether there is no work until somebody acts.
    """

    code: str
    message: str
    remedy: str
    failing: bool = False


@attrs.frozen
class Health:
    """The health of a service or a daemon.

    Attributes:
        status: ``ok``; ``degraded`` where it works and something is wrong; ``failing`` where it
            does not work.
        problems: all that is wrong, the worst first.
        facts: what else a daemon tells its operator, by name: blocks, epochs, digests, counts.
    """

    status: Literal["ok", "degraded", "failing"] = "ok"
    problems: tuple[Problem, ...] = ()
    facts: Mapping[str, Any] = attrs.field(factory=dict)

    def seen_by(self, viewer: Viewer) -> Health:
        """Return the health as somebody sees it.

        Messages, remedies and facts have paths of this machine, and addresses of the chain and of
        peers: they are the operator's alone.
        """
        if viewer.kind == "operator":
            return self
        problems = (attrs.evolve(problem, message="", remedy="") for problem in self.problems)
        return attrs.evolve(self, problems=tuple(problems), facts={})


HealthSource: TypeAlias = Callable[[], Health]
"""Returns the health of now, at once: it is called for each request."""
