"""Decimals with nine fractional digits, as exact fractions."""

from fractions import Fraction

PLACES = 9
NANO = 10**PLACES


def fact(number: float) -> Fraction:
    """A JSON number as a decimal fact: a double, times 1e9 in doubles, to the nearest, half-even.

    Integers of the text are doubles too, as RFC 8785 says.
    """
    return Fraction(round(float(number) * 1e9), NANO)


def published(value: Fraction) -> Fraction:
    """The exact value rounded half-even once to nine places."""
    return round(value, PLACES)


def count(value: Fraction) -> int:
    """A published value as a whole count of 1e-9.

    Raises:
        ValueError: the value has more than nine places, so it was never published.
    """
    nano = value * NANO
    if nano.denominator != 1:
        raise ValueError(f"{value} has more than {PLACES} places, expected a published value")
    return nano.numerator


def text(value: Fraction) -> str:
    """A published value with all nine places, such as "0.766438904".

    Raises:
        ValueError: as `count`.
    """
    nano = count(value)
    whole, rest = divmod(abs(nano), NANO)
    return f"{'-' if nano < 0 else ''}{whole}.{rest:0{PLACES}d}"
