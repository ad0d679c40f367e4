"""Stored text back into values, at the speed of msgspec."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from tallystick.errors import DamagedError, NumberError
from tallystick.numbers.nano import from_text
from tallystick.rules.sections import Role
from tallystick.state.event import StateEvent


class _Line(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The line of a signal; field by field that of `Signal`, decimals still as text."""

    validator: str
    hotkey: str
    skill_type: str
    task_id: str
    round: int
    epoch: int
    events: tuple[str, ...] = ()
    id: str | None = None
    role: Role | None = None
    missed: bool = False
    quality: str | None = None
    emission: str | None = None
    record: str | None = None


_PLACES = 9
_LINES = msgspec.json.Decoder(_Line)


def event_of(body: str) -> StateEvent:
    """The signal that `Signal.to_line` wrote, as `Signal.from_dict` would read it.

    Raises:
        DamagedError: the text is no signal.
    """
    try:
        line = _LINES.decode(body)
        return StateEvent(
            line.validator,
            line.hotkey,
            line.skill_type,
            line.task_id,
            line.round,
            line.epoch,
            line.events,
            line.id,
            line.role,
            line.missed,
            None if line.quality is None else _nano(line.quality),
            None if line.emission is None else _nano(line.emission),
            line.record,
        )
    except (msgspec.MsgspecError, NumberError) as error:
        raise _damaged("a signal", error) from error


def _nano(text: str) -> int:
    """As `from_text`, which what it writes itself need not go through: that is twice as fast."""
    whole, _, part = text.partition(".")
    plain = len(part) == _PLACES and len(whole) < _PLACES and text.isascii()
    if plain and whole.isdigit() and part.isdigit():
        return int(whole + part)
    return from_text(text)


def object_of(body: str, what: str) -> dict[str, Any]:
    """The JSON object of a stored text; ``what`` names it in errors.

    Raises:
        DamagedError: the text is no JSON object.
    """
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise _damaged(what, error) from error


@contextmanager
def sound(what: str) -> Iterator[None]:
    """Say of an object that lacks what it must have that the store is damaged."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError, NumberError) as error:
        raise _damaged(what, error) from error


def _damaged(what: str, error: Exception) -> DamagedError:
    return DamagedError(
        f"found {what} in the store that cannot be read ({error}), expected what tallystick wrote: "
        "the store is damaged, so take it back from a copy"
    )
