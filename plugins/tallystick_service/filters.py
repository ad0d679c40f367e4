"""Filters: the functions by which templates show values, each under its own name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from tallystick.numbers.nano import from_text, to_fraction, to_text
from tallystick.numbers.text import UNDEFINED, fraction

_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?Z")
_DECIMAL = re.compile(r"-?\d+(?:\.\d+…?)?")
_DIGITS = 6
"""Significant digits of a number that has all of them in its title."""
_TEXT_PLACES = 10
"""Characters of nine places with their point."""


def number(value: Any) -> Markup | str:  # noqa: ANN401  # nano, or a decimal, or its text
    """Return a number of nine places, the zeros at its end apart, so that a page can dim them."""
    if value is None:
        return UNDEFINED
    text = value if isinstance(value, str) else to_text(value)
    if text[-_TEXT_PLACES : -_TEXT_PLACES + 1] != "." or not set(text) <= set("-0123456789."):
        return text
    short = text.rstrip("0")
    short += "0" if short.endswith(".") else ""
    zeros = text[len(short) :]
    tail = f'<span class="zeros">{zeros}</span>' if zeros else ""
    return Markup(f'<span class="number">{short.replace("-", "−")}{tail}</span>')  # noqa: S704  # digits alone


def digits(value: int | str | None) -> Markup | str:
    """Return a number in six significant digits, with its exact value as the title.

    Args:
        value: nano, or the text of a decimal, which may end in ``…``.
    """
    if value is None:
        return UNDEFINED
    text = value if isinstance(value, str) else to_text(value)
    if not _DECIMAL.fullmatch(text):
        return text
    short = _significant(text.rstrip("…")).replace("-", "−")
    return Markup(f'<span class="number" title="{text}">{short}</span>')  # noqa: S704  # digits alone


def _significant(text: str) -> str:
    """Return a decimal rounded to six significant digits, never before its point."""
    number = Decimal(text)
    places = max(_DIGITS - 1 - number.adjusted(), 0) if number else 0
    rounded = f"{round(number, places):f}"
    return rounded.rstrip("0").rstrip(".") if "." in rounded else rounded


def change(value: int | str | None, *, is_short: bool = False) -> Markup | str:
    """Return a change with its sign, and whether it is a gain.

    Args:
        value: nano, or text of nine places.
        is_short: whether six significant digits are shown, and the others in the title.
    """
    if value is None:
        return UNDEFINED
    nano = from_text(value) if isinstance(value, str) else value
    sign = "+" if nano > 0 else "−" if nano < 0 else ""
    kind = "gain" if nano > 0 else "loss" if nano < 0 else "none"
    text = digits(abs(nano)) if is_short else to_text(abs(nano))
    return Markup(f'<span class="number {kind}">{sign}{text}</span>')  # noqa: S704  # digits alone


def exact(nano: int | None) -> str:
    """Return a number in nano as a short exact decimal."""
    return UNDEFINED if nano is None else fraction(to_fraction(nano))


def part(name: str) -> str:
    """Return a name as one part of an address."""
    return quote(name, safe="")


def has_address(name: str) -> bool:
    """Return whether a name can be a part of an address; the guard refuses one that cannot."""
    return name not in {"", ".", ".."} and "\0" not in name


def words(name: str) -> str:
    """Return the name of a skill type, an axis or a tier with spaces."""
    return name.replace("_", " ")


def ordinal(rank: int) -> str:
    """Return a rank such as ``2nd``."""
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if rank // 10 % 10 == 1 else endings.get(rank % 10, "th")
    return f"{rank}{ending}"


def instant(text: str) -> str:
    """Return an instant to the minute, such as ``2026-01-07 22:00 UTC``; another text as it is."""
    match = _INSTANT.fullmatch(text)
    return text if match is None else f"{match[1]} {match[2]} UTC"


def beginning(digest: str) -> str:
    """Return the first digits of a digest, for a table whose column has the whole in its title."""
    name, colon, digits = digest.partition(":")
    return f"{digits[:12]}…" if colon else f"{name[:12]}…"


FILTERS: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        beginning,
        change,
        digits,
        exact,
        has_address,
        instant,
        number,
        ordinal,
        part,
        words,
    )
}
"""Filters of the pages by name."""
