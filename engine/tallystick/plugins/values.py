"""Values that a plugin gives: one of another type is refused where it is made, by its field."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import attrs

_Value = TypeVar("_Value")

Validator = Callable[[Any, "attrs.Attribute[Any]", Any], None]
"""Checks a value as attrs makes an object: takes the object, the field and its value."""


def of_type(kind: type) -> Validator:
    """Return what refuses a value of another type.

    >>> @attrs.frozen
    ... class Price:
    ...     unit: str = attrs.field(validator=of_type(str))
    >>> Price(3)
    Traceback (most recent call last):
      ...
    TypeError: found 3 for unit of Price, expected str
    """

    def check(owner: object, field: attrs.Attribute[Any], value: object) -> None:
        if not isinstance(value, kind):
            raise TypeError(_other(owner, field, value, kind.__name__))

    return check


def tuple_of(kind: type) -> Validator:
    """Return what refuses anything but a tuple, or a list, of values of a type."""

    def check(owner: object, field: attrs.Attribute[Any], value: object) -> None:
        if not isinstance(value, tuple | list):
            raise TypeError(_other(owner, field, value, f"a tuple of {kind.__name__}"))
        for item in value:
            if not isinstance(item, kind):
                raise TypeError(_other(owner, field, item, kind.__name__))

    return check


def all_of(kind: type[_Value], values: Iterable[object]) -> tuple[_Value, ...]:
    """Return the values that a function of a plugin gives.

    Raises:
        TypeError: one has another type.
    """
    items = tuple(values)
    for item in items:
        if not isinstance(item, kind):
            raise TypeError(f"found {item!r}, expected {kind.__name__}")
    return items  # type: ignore[return-value]  # each was looked at


def is_function(owner: object, field: attrs.Attribute[Any], value: object) -> None:
    """Refuse what cannot be called.

    Raises:
        TypeError: it cannot.
    """
    if not callable(value):
        raise TypeError(_other(owner, field, value, "a function"))


def _other(owner: object, field: attrs.Attribute[Any], value: object, expected: str) -> str:
    name = type(owner).__name__
    return f"found {value!r} for {field.name} of {name}, expected {expected}"
