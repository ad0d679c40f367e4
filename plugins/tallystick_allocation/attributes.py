"""Attributes: what a step asks of a miner or of the round beside the columns."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from tallystick.errors import AllocationError
from tallystick.io.text import escaped
from tallystick_allocation.population import LARGEST_ATTRIBUTE, Attribute
from tallystick_allocation.rules import MINER, ROUND
from tallystick_allocation.step import Given


def miner_text(given: Given, place: int, name: str) -> str:
    """Return a text of a miner.

    Raises:
        AllocationError: it has none.
    """
    return _text(_of_miner(given, place, name), name, f"the miner {escaped(given.keys[place])}")


def miner_flag(given: Given, place: int, name: str) -> bool:
    """Return a flag of a miner; who has none has not.

    Raises:
        AllocationError: it is no flag.
    """
    value = _of_miner(given, place, name)
    if value is not None and not isinstance(value, bool):
        raise _wrong(name, f"the miner {escaped(given.keys[place])}", value, "true or false")
    return bool(value)


def miner_number(given: Given, place: int, name: str) -> Fraction | None:
    """Return a flag of a miner as 1 or 0, or a number of it.

    Raises:
        AllocationError: it is a text, or too large.
    """
    value = _of_miner(given, place, name)
    if isinstance(value, str):
        raise _wrong(name, f"the miner {escaped(given.keys[place])}", value, "a flag or a number")
    number = None if value is None else Fraction(value)
    if number is not None and abs(number) > LARGEST_ATTRIBUTE:
        whose = f"the miner {escaped(given.keys[place])}"
        raise _wrong(name, whose, value, f"at most {LARGEST_ATTRIBUTE}")
    return number


def round_text(given: Given, name: str) -> str:
    """Return a text of the round.

    Raises:
        AllocationError: it has none.
    """
    return _text(given.population.round.get(name.removeprefix(ROUND)), name, "the round")


def round_number(given: Given, name: str) -> Fraction:
    """Return a number of the round.

    Raises:
        AllocationError: it has none.
    """
    value = given.population.round.get(name.removeprefix(ROUND))
    if not isinstance(value, int | Decimal) or isinstance(value, bool):
        raise _wrong(name, "the round", value, "a number")
    return Fraction(value)


def _of_miner(given: Given, place: int, name: str) -> Attribute | None:
    miners = given.population.miners
    if place >= len(miners):
        return None
    return miners[place].attributes.get(name.removeprefix(MINER))


def _text(found: Attribute | None, name: str, whose: str) -> str:
    if not isinstance(found, str):
        raise _wrong(name, whose, found, "a text")
    return found


def _wrong(name: str, whose: str, found: Attribute | None, expected: str) -> AllocationError:
    what = "none" if found is None else escaped(str(found))[:60]
    return AllocationError(
        f"{name} of {whose}: found {what}, expected {expected}: say it in the table of miners or "
        "in the file of the round",
        code="attribute-missing",
    )
