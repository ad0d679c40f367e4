"""Ratios of whole numbers as text, such as ``15/23``: values that are published unrounded.

A ratio is in lowest terms and always has its line, ``1/1`` too, so that none is taken for a
decimal.
"""

from __future__ import annotations

import re
from fractions import Fraction

from tallystick.errors import NumberError

MOST_DIGITS = 100
"""The longest numerator or denominator."""

_TEXT = re.compile(rf"(-?[0-9]{{1,{MOST_DIGITS}}})/([0-9]{{1,{MOST_DIGITS}}})")


def to_text(value: Fraction) -> str:
    """Return a ratio as text."""
    return f"{value.numerator}/{value.denominator}"


def is_ratio(text: str) -> bool:
    """Return whether a text has the line of a ratio, and so is no decimal."""
    return "/" in text


def from_text(text: str) -> Fraction:
    """Return the ratio of a text.

    Raises:
        NumberError: the text is none, or its denominator is 0.
    """
    match = _TEXT.fullmatch(text)
    if match is None or not int(match[2]):
        raise NumberError(f"found {text[:60]!r}, expected a ratio such as '15/23'")
    return Fraction(int(match[1]), int(match[2]))
