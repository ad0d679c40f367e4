"""Switches that nothing of a world exercised, in words: a change of those moves nothing there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_NAMED = 8
"""Maximum number of switches that the terminal names."""
NETWORK = "made-up network"
"""The name of a world whose miners are made up."""


def line(names: Sequence[str]) -> Iterator[str]:
    """Yield the line for a terminal; nothing where every switch was exercised."""
    if names:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        yield f"not exercised  {', '.join(names[:_NAMED])}{more}"


def sentence(names: Sequence[str], world: str) -> Iterator[str]:
    """Yield the sentence for a page; nothing where every switch was exercised.

    Args:
        names: of the switches.
        world: its name, such as history.
    """
    if names:
        yield f"The {world} did not exercise: {', '.join(names)}."
