"""The numbers of a rule-set file: exact decimals that nine places hold."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import attrs

from tallystick.errors import NumberError
from tallystick.numbers.nano import from_decimal, to_text

EXPECTED = "a decimal of at most nine decimal places and thirty digits before the point"


@attrs.frozen
class UnusableNumber:
    """A number of a file that no rule set may hold: ``nan``, ``inf``, too fine or too large."""

    text: str


def read_decimal(text: str) -> Decimal | UnusableNumber:
    """The decimal that TOML text denotes, or what cannot be one."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return UnusableNumber(text)
    return value if is_usable(value) else UnusableNumber(text)


def is_usable(value: Decimal | int) -> bool:
    """Whether nine decimal places and thirty digits before the point hold the value."""
    try:
        from_decimal(value)
    except NumberError:
        return False
    return True


def decimal_text(value: Decimal) -> str:
    """The shortest plain form: ``0.5`` for 0.50, ``100`` for 1E+2, ``0`` for -0.0."""
    text = to_text(from_decimal(value)).rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
