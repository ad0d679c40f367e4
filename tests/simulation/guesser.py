"""A plugin of a stranger that brings a strategy for a type of another plugin."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from tallystick.plugins.author import Draw, Strategy, hookimpl

tallystick_api = 1


def guess(draw: Draw, record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Give any verdict, to three tasks of four."""
    if draw.chance(25):
        return None
    verdict = draw.one(("ALLOW", "BLOCK"))
    return {**record, "task": {}, "submission": {**record["submission"], "verdict": verdict}}


def spoil(_draw: Draw, record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Make a record that its schema refuses."""
    return {**record, "submission": {"verdict": "MAYBE"}}


@hookimpl
def tallystick_strategies() -> Sequence[Strategy]:
    """A strategy that can be, and one that makes bad records."""
    return [
        Strategy("guesser/guess", "guesses", ("declarative",), guess, Decimal("0.02")),
        Strategy("guesser/spoil", "spoils", ("declarative",), spoil),
    ]
