"""Values of tables and files from outside: each is read exactly, or refused where it stands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import attrs

from tallystick.diagnostics import nearest
from tallystick.errors import InputError, NumberError
from tallystick.io.text import NO_SURROGATES, escaped, has_utf8
from tallystick.numbers.nano import NANO, from_double, to_decimal
from tallystick_allocation.population import Attribute

LONGEST_NAME = 64
"""Maximum length of a hotkey, and of a value in a message."""
_MOST_DIGITS = 400
_LARGEST = 10**30
_NUMBER = "a finite number, a decimal of at most nine places, or a ratio such as 15/23"


@attrs.frozen
class InputValue:
    """A value, and where it stands.

    Attributes:
        value: any JSON value, a decimal or a fraction; None where there is none.
        where: the file, or the row of it.
        path: the column, or the keys that lead to it; empty of the whole.
    """

    value: Any
    where: str
    path: str = ""

    @property
    def is_given(self) -> bool:
        """False of nothing, and of an empty cell."""
        return self.value not in (None, "")

    def wrong(self, expected: str, found: str | None = None) -> InputError:
        """Return the error of the value, or of what else is found there."""
        prefix = f"{escaped(self.path)}: " if self.path else ""
        found = shown(self.value) if found is None else found
        return InputError(f"{self.where}: {prefix}found {found}, expected {expected}")

    def entries(self, known: Collection[str] | None = None) -> Mapping[str, InputValue]:
        """Return the values of an object by their keys.

        Args:
            known: the keys that there can be; any by default.

        Raises:
            InputError: it is no object, or has another key.
        """
        for key in self._object if known is not None else ():
            if known is not None and key not in known:
                hint = nearest(key, known) or f": {', '.join(known) or 'none'}"
                raise self.wrong(f"a key that the rules read{hint}", shown(key))
        return {key: self.entry(key) for key in self._object}

    def entry(self, key: str, default: object = None) -> InputValue:
        """Return the value at a key of an object, or what is meant without one.

        Raises:
            InputError: it is no object.
        """
        path = f"{self.path}.{key}" if self.path else key
        return InputValue(self._object.get(key, default), self.where, path)

    def given(self, keys: Iterable[str]) -> Iterator[InputValue]:
        """Yield the values at some keys of an object that are given."""
        return (value for value in map(self.entry, keys) if value.is_given)

    @property
    def _object(self) -> Mapping[str, Any]:
        if not isinstance(self.value, Mapping):
            raise self.wrong("an object")
        return self.value

    def text(self, expected: str) -> str:
        """Return a text.

        Raises:
            InputError: it is none, or has no UTF-8.
        """
        if not isinstance(self.value, str):
            raise self.wrong(expected)
        if not has_utf8(self.value):
            raise self.wrong(NO_SURROGATES)
        return self.value

    def number(self) -> Fraction:
        """Return a number; see `number_of`.

        Raises:
            InputError: it is none.
        """
        try:
            return number_of(self.value)
        except NumberError as error:
            raise self.wrong(str(error)) from None

    def whole(self, most: int) -> int:
        """Return a whole number from 0 to another.

        Raises:
            InputError: it is none.
        """
        number = self.number()
        if number.denominator != 1 or not 0 <= number <= most:
            raise self.wrong(f"a whole number from 0 to {most}")
        return number.numerator

    def nano(self) -> int:
        """Return a number of nine places, in nano.

        Raises:
            InputError: it is none.
        """
        try:
            number = number_of(self.value) * NANO
        except NumberError:
            raise self.wrong("a decimal of at most nine places") from None
        if number.denominator != 1:
            raise self.wrong("at most nine decimal places")
        return number.numerator

    def attribute(self, kind: str, *, counts_flags: bool = True) -> Attribute:
        """Return an attribute.

        Args:
            kind: what it is, as steps ask for it.
            counts_flags: whether a flag is a number too.

        Raises:
            InputError: it is of another kind.
        """
        if kind in ("a text", "a hotkey"):
            return self.text(kind)
        is_flag = isinstance(self.value, bool)
        if is_flag != (kind == "a flag") and not (is_flag and counts_flags):
            raise self.wrong(kind)
        return bool(self.value) if is_flag else to_decimal(self.nano())


def number_of(value: object) -> Fraction:
    """Return an exact number: a JSON number is a double, of nine places; a text is exact.

    Raises:
        NumberError: it is none; the message is what is expected.
    """
    try:
        number = _exact(value)
    except (ArithmeticError, NumberError, ValueError):
        number = None
    is_ratio = isinstance(value, Fraction) or (isinstance(value, str) and "/" in value)
    if number is None or abs(number) >= _LARGEST or (not is_ratio and NANO % number.denominator):
        raise NumberError(_NUMBER)
    return number


def _exact(value: object) -> Fraction | None:
    if isinstance(value, float):
        return Fraction(from_double(value), NANO)
    if isinstance(value, str):
        if len(value) > _MOST_DIGITS or not value.isascii() or "_" in value:
            return None
        value = Fraction(value) if "/" in value else Decimal(value.strip())
    # a decimal such as 1e999999999 must not fill the memory
    if isinstance(value, Decimal) and abs(value.adjusted()) > _MOST_DIGITS:
        return None
    if isinstance(value, int | Decimal | Fraction) and not isinstance(value, bool):
        return Fraction(value)
    return None


def shown(value: object) -> str:
    """Return a value as messages have it: short, and ``nothing`` where there is none."""
    text = str(value) if value is not None else ""
    return escaped(text)[:LONGEST_NAME] if text else "nothing"
