"""JSON values: the one way by which values of the engine become JSON.

`json_value` turns any value into text, numbers, truths, null, lists and objects. A decimal is text
as it is written, a fraction text in lowest terms, a set a sorted list. An attrs value is an object
of its fields, in their order; where its JSON has other keys, ``@json_object`` beside the class
lists them: names of attributes, or a `JsonKey` that renames one, gives it a form or leaves it out.

Numbers of the field in nano are text of nine places: `nano_value` makes them.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from typing import Any, Literal, TypeVar

import attrs

from tallystick.errors import (
    AllocationError,
    LockError,
    RecordError,
    RefusedError,
    RuleSetError,
    StateError,
    TallystickError,
    TrustError,
)
from tallystick.io.text import masked
from tallystick.numbers import ratio
from tallystick.numbers.nano import to_text

JsonObject = dict[str, Any]
"""A JSON object; the order of its keys is part of an output."""
LeftOut = Literal["never", "none", "empty"]
"""The values for which an object lacks a key; see `JsonKey`."""
Form = Callable[[Any], Any]
"""Returns the JSON value of a value of one class."""

_Class = TypeVar("_Class", bound=type)
_PLAIN = frozenset((str, int, bool, float, type(None)))
"""The classes whose values are JSON values as they are."""


def json_value(value: Any) -> Any:  # noqa: ANN401  # any value of the engine
    """Return a value as a JSON value.

    >>> json_value({"share": Decimal("0.250000000"), "measures": (Fraction(1, 3), None)})
    {'share': '0.250000000', 'measures': ['1/3', None]}

    Raises:
        TypeError: a value is of a class that has no form in JSON.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    form = _FORMS.get(kind)
    if form is None:
        form = _FORMS[kind] = _form_of(kind)
    return form(value)


def nano_value(value: int | Mapping[str, Any] | Sequence[Any] | None) -> Any:  # noqa: ANN401  # as its argument
    """Return a number in nano as text of nine places; a mapping or a list with each of its own.

    >>> nano_value({"low": (250_000_000, None)})
    {'low': ['0.250000000', None]}
    """
    if isinstance(value, Mapping):
        return {key: nano_value(number) for key, number in value.items()}
    if isinstance(value, Sequence):
        return [nano_value(number) for number in value]
    return None if value is None else to_text(value)


@attrs.frozen
class JsonKey:
    """A key of the JSON object of a class.

    Attributes:
        name: the key.
        source: the attribute that it has the value of, or a function of the whole value; the
            attribute of its own name by default.
        form: returns the JSON value of that value.
        left_out: the values for which the object lacks the key: None, or all that count as false
            (None, 0, an empty list …).
    """

    name: str
    source: str | Callable[[Any], Any] = ""
    form: Form = json_value
    left_out: LeftOut = "never"

    @property
    def read(self) -> Form:
        """The function that returns the value of the key, before its form."""
        if callable(self.source):
            return self.source
        return operator.attrgetter(self.source or self.name)


def constant(name: str, value: object) -> JsonKey:
    """Return a key that has the same value in every object, such as the number of a format."""
    return JsonKey(name, lambda _: value)


def json_object(*keys: str | JsonKey) -> Callable[[_Class], _Class]:
    """Declare the keys of the JSON object of the decorated class, in order."""
    every = [JsonKey(key) if isinstance(key, str) else key for key in keys]

    def declare(kind: _Class) -> _Class:
        _FORMS[kind] = _object_form(every)
        return kind

    return declare


def json_fields(
    *first: JsonKey,
    nano: Collection[str] = (),
    none: Collection[str] = (),
    empty: Collection[str] = (),
    hidden: Collection[str] = (),
) -> Callable[[_Class], _Class]:
    """Declare that the JSON object of the decorated attrs class has its fields, in their order.

    Args:
        first: keys before those of the fields.
        nano: the fields in nano, which are text of nine places.
        none: the fields that are left out where they are None.
        empty: the fields that are left out where they count as false.
        hidden: the fields that are always left out.
    """

    def key_of(name: str) -> JsonKey:
        left_out: LeftOut = "none" if name in none else "empty" if name in empty else "never"
        return JsonKey(name, form=nano_value if name in nano else json_value, left_out=left_out)

    def declare(kind: _Class) -> _Class:
        names = (field.name for field in attrs.fields(kind) if field.name not in hidden)
        _FORMS[kind] = _object_form([*first, *map(key_of, names)])
        return kind

    return declare


def json_form(kind: type, form: Form) -> None:
    """Declare the function that returns the JSON value of a class."""
    _FORMS[kind] = form


def _object_form(keys: Iterable[JsonKey]) -> Form:
    readers = tuple((key.name, key.read, key.form, key.left_out) for key in keys)

    def form(value: object) -> JsonObject:
        members: JsonObject = {}
        for name, read, inner, left_out in readers:
            member = read(value)
            if left_out != "never" and (member is None or (left_out == "empty" and not member)):
                continue
            # a file of rejects may have millions of members, nearly all of them text
            is_plain = inner is json_value and type(member) in _PLAIN
            members[name] = member if is_plain else inner(member)
        return members

    return form


def _form_of(kind: type) -> Form:
    """Return the form of a class that declares none: that of an ancestor, or of its fields."""
    for ancestor in kind.__mro__[1:]:
        if ancestor in _FORMS:
            return _FORMS[ancestor]
    if issubclass(kind, str | int | float):
        return _itself
    if attrs.has(kind):
        return _object_form([JsonKey(field.name) for field in attrs.fields(kind)])
    if issubclass(kind, Mapping):
        return _mapping
    raise TypeError(f"found a value of {kind.__name__}, expected one that JSON has a form for")


def _itself(value: Any) -> Any:  # noqa: ANN401  # text or a number of a class of its own
    return value


def _mapping(values: Mapping[Any, Any]) -> JsonObject:
    return {
        key if type(key) is str else str(json_value(key)): json_value(value)
        for key, value in values.items()
    }


def _list(values: Iterable[Any]) -> list[Any]:
    return [json_value(value) for value in values]


def _sorted(values: Iterable[Any]) -> list[Any]:
    return sorted(map(json_value, values))


_FORMS: dict[type, Form] = {
    dict: _mapping,
    list: _list,
    tuple: _list,
    frozenset: _sorted,
    set: _sorted,
    Decimal: "{:f}".format,
    Fraction: ratio.to_text,
    PurePath: str,
    enum.Enum: lambda member: json_value(member.value),
}


def error_value(error: TallystickError) -> JsonObject:
    """Return an error as a JSON object, with the problems of a rule set or each refused line."""
    value: JsonObject = {"error": type(error).__name__, "message": masked(str(error))}
    if isinstance(error, RuleSetError):
        value["problems"] = [
            {"file": problem.file, "line": problem.line, "path": problem.path}
            | json_value(problem.evidence)
            for problem in error.problems
        ]
        value["more"] = error.more
    if isinstance(error, RecordError):
        problems = json_value(error.problems)
        value |= {**problems[0], "problems": problems}
    if isinstance(error, AllocationError | StateError | TrustError) and error.code:
        value["code"] = error.code
    if isinstance(error, LockError):
        value["differences"] = json_value(error.differences)
        value["meaning"] = [*error.meaning]
    if isinstance(error, RefusedError):
        value["refusals"] = json_value(error.refusals)
    return value
