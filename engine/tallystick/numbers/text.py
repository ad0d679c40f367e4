"""Numbers as people read them: counts, decimals, percentages, points, fractions.

Values for machines are written by `nano.to_text`, with all nine places. What is shortened here is
rounded half-even once, has its thousands apart and a minus sign (U+2212) for a sign.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from fractions import Fraction

from tallystick.numbers.nano import NANO, round_half_even, to_text

UNDEFINED = "–"
"""The text in the place of a value that is not defined."""


def plural(number: int, noun: str) -> str:
    """Return the noun as it stands after a number: ``1 record``, ``2 records``."""
    return noun if number == 1 else f"{noun}s"


def numbered(number: int, noun: str) -> str:
    """Return a number of things on a terminal, such as ``12345 records``."""
    return f"{number} {plural(number, noun)}"


def repr_as(noun: str) -> Callable[[Sized | None], str]:
    """Return what an attrs field of many things shows in a ``repr``, such as ``<256 miners>``.

    A ``repr`` is one line of a debugger or a log, whatever a value holds.
    """
    return lambda things: "None" if things is None else f"<{numbered(len(things), noun)}>"


def grouped(number: int | None) -> str:
    """Return a whole number with its thousands apart, such as ``12,345``."""
    return UNDEFINED if number is None else f"{number:,}"


def counted(number: int, noun: str) -> str:
    """Return a number of things in a text, such as ``12,345 records``."""
    return f"{grouped(number)} {plural(number, noun)}"


def decimal(nano: int | None, places: int = 3) -> str:
    """Return a decimal of some places, such as ``1,234.500``."""
    if nano is None:
        return UNDEFINED
    scaled = round_half_even(abs(nano), 10 ** (9 - places))
    whole, part = divmod(scaled, 10**places)
    sign = "−" if nano < 0 and scaled else ""
    return f"{sign}{whole:,}" + (f".{part:0{places}d}" if places else "")


def percent(nano: int | None, places: int = 2) -> str:
    """Return a share as a percentage, such as ``12.34 %``."""
    return UNDEFINED if nano is None else f"{decimal(100 * nano, places)} %"


def signed(text: str) -> str:
    """Return the text of a number with a plus sign unless it is negative or nothing."""
    shows_nothing = not any(digit in text for digit in "123456789")
    return text if text.startswith("−") or shows_nothing else f"+{text}"


def points(nano: int) -> str:
    """Return a change of a share in percentage points, such as ``+1.230``."""
    return signed(decimal(100 * nano, 3))


def fraction(value: Fraction | int) -> str:
    """Return the shortest decimal of an exact value when nine places hold it, else ``a/b``."""
    exact = Fraction(value)
    if NANO % exact.denominator:
        return str(exact)
    return to_text(int(exact * NANO)).rstrip("0").rstrip(".")
