"""Nano integers: every published value is a whole count of 1e-9.

A value is *published* by rounding it half-even, once, to nine decimals. JSON numbers are IEEE
doubles and become nano by ``rint(x * 1e9)``; TOML numbers are exact decimals and must already have
at most nine places. See docs/numbers.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal, Inexact
from fractions import Fraction

from tallystick.errors import NumberError

NANO = 10**9

# Nothing that is scored comes near it, and a decimal such as 1e999999999 must not fill the memory.
_WHOLE_DIGITS = 30
# the caller's context may be too narrow; this one holds every value or raises
_EXACT = Context(prec=100, traps=[Inexact])
_PLAIN = 1000
"""The least nano that `Decimal` writes without an exponent."""
_TEXT = re.compile(rf"(-?)([0-9]{{1,{_WHOLE_DIGITS}}})(?:\.([0-9]{{1,9}}))?")


def round_half_even(numerator: int, denominator: int) -> int:
    """Return the integer nearest to ``numerator / denominator``; of two equally near, the even one.

    >>> round_half_even(5, 2), round_half_even(7, 2), round_half_even(-5, 2)
    (2, 4, -2)

    Args:
        numerator: any integer.
        denominator: a positive integer.
    """
    quotient, remainder = divmod(numerator, denominator)
    excess = 2 * remainder - denominator
    return quotient + (excess > 0 or (excess == 0 and quotient & 1))


def median(values: Sequence[int]) -> int:
    """Return the median of one or more integers of one unit, such as nano, rounded half-even once.

    >>> median([1, 2, 3, 4])
    2

    Raises:
        NumberError: there is no value.
    """
    if not values:
        raise NumberError("found no value, expected at least one")
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return round_half_even(ordered[middle - 1] + ordered[middle], 2)


def publish(value: Fraction) -> int:
    """Return the nano of an exact value, rounded half-even once.

    >>> publish(Fraction(2, 3))
    666666667
    """
    return round_half_even(value.numerator * NANO, value.denominator)


def from_decimal(value: Decimal | int) -> int:
    """Return the nano of an exact decimal.

    >>> from_decimal(Decimal("0.75"))
    750000000

    Raises:
        NumberError: the value is not finite, has more than nine decimal places that count, more
            than thirty digits before the point, or is neither an integer nor a decimal.
    """
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise NumberError(f"found {value!r}, expected an integer or a decimal")
    number = Decimal(value)
    if not number.is_finite():
        raise NumberError(f"found {value}, expected a finite number")
    if number and number.adjusted() >= _WHOLE_DIGITS:
        raise NumberError(f"found {number!s:.60}, expected fewer than {_WHOLE_DIGITS + 1} digits")
    try:
        return int(_EXACT.to_integral_exact(_EXACT.scaleb(number, 9)))
    except Inexact:
        raise NumberError(f"found {number!s:.60}, expected at most nine decimal places") from None


def exact_nano(value: Decimal | int | str) -> int:
    """Return the nano of an exact number as programs give it: a decimal, an integer, or text.

    Raises:
        NumberError: as `from_decimal` and `from_text`.
    """
    return from_text(value) if isinstance(value, str) else from_decimal(value)


def from_double(x: float) -> int:
    """Return the nano of an IEEE double, ``rint(x * 1e9)``.

    >>> from_double(0.1 + 0.2)
    300000000

    Raises:
        NumberError: ``x * 1e9`` is not finite.
    """
    try:
        return round(x * 1e9)
    except (OverflowError, ValueError):
        raise NumberError(f"found {x}, expected a finite number below 1e299") from None


def to_fraction(nano: int) -> Fraction:
    """Return the exact value of a nano."""
    return Fraction(nano, NANO)


class _SmallDecimal(Decimal):
    """A decimal of nine places below a millionth, of which `Decimal` would write ``0E-9``."""

    __slots__ = ()

    def __str__(self) -> str:
        return super().__format__("f")

    def __format__(self, specifier: str, /) -> str:  # type: ignore[override]  # as format() calls it
        return super().__format__(specifier or "f")

    def __repr__(self) -> str:
        return f"Decimal('{self}')"


def to_decimal(nano: int) -> Decimal:
    """Return the exact value of a nano, always with nine decimal places, in its text too.

    >>> to_decimal(766438904), to_decimal(5)
    (Decimal('0.766438904'), Decimal('0.000000005'))
    """
    value = _EXACT.scaleb(nano, -9)
    return value if abs(nano) >= _PLAIN else _SmallDecimal(value)


def to_decimals(nano: Mapping[str, int]) -> dict[str, Decimal]:
    """Return the exact values of nano by name."""
    return {name: to_decimal(value) for name, value in nano.items()}


def to_text(nano: int | Decimal) -> str:
    """Return the value of a nano with nine decimal places, such as ``0.766438904``.

    A decimal, which is what public values hold in place of a nano, is written in the same way.

    >>> to_text(766438904), to_text(-5)
    ('0.766438904', '-0.000000005')
    """
    if isinstance(nano, Decimal):
        nano = from_decimal(nano)
    whole, part = divmod(abs(nano), NANO)
    return f"{'-' if nano < 0 else ''}{whole}.{part:09d}"


def from_text(text: str) -> int:
    """Return the nano of a decimal written as text: digits, and up to nine more after a point.

    >>> from_text("0.7")
    700000000

    Raises:
        NumberError: the text is not written so.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise NumberError(f"found {text[:60]!r}, expected a decimal such as '0.766438904'")
    sign, whole, part = match.groups()
    nano = int(whole) * NANO + int((part or "").ljust(9, "0"))
    return -nano if sign else nano
