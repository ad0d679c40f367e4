"""Values of the engine become JSON in one way, and their keys are those that a class declares."""

import enum
import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import pytest

from tallystick.json_values import (
    JsonKey,
    constant,
    json_fields,
    json_object,
    json_value,
    nano_value,
)


class Colour(enum.Enum):
    RED = "red"


@attrs.frozen
class Plain:
    second: int
    first: tuple[str, ...]


@json_object(
    constant("format", 1),
    JsonKey("name", "inner.first"),
    JsonKey("size", lambda declared: len(declared.inner.first)),
    JsonKey("share", form=nano_value),
    JsonKey("note", left_out="none"),
    JsonKey("flags", left_out="empty"),
)
@attrs.frozen
class Declared:
    inner: Plain
    share: int | None = None
    note: str | None = None
    flags: int = 0


@json_fields(constant("format", 1), nano=("share",), none=("note",), hidden=("secret",))
@attrs.frozen
class Fields:
    share: int
    secret: str
    note: str | None = None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (Decimal("0.500000000"), "0.500000000"),
        (Decimal("1E-9"), "0.000000001"),
        (Fraction(2, 4), "1/2"),
        ((1, "a", [None]), [1, "a", [None]]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({Colour.RED: {1: Path("x/y")}}, {"red": {"1": "x/y"}}),
        (Plain(1, ("a", "b")), {"second": 1, "first": ["a", "b"]}),
        (Declared(Plain(1, ("a",))), {"format": 1, "name": ["a"], "size": 1, "share": None}),
        (
            Declared(Plain(1, ()), 10**9, "", 3),
            {"format": 1, "name": [], "size": 0, "share": "1.000000000", "note": "", "flags": 3},
        ),
        (Fields(5, "hush"), {"format": 1, "share": "0.000000005"}),
    ],
)
def test_a_value_is_json_in_one_way(value: object, expected: Any) -> None:  # noqa: ANN401  # any JSON value
    found = json_value(value)
    assert json.dumps(found) == json.dumps(expected)


@pytest.mark.parametrize("value", [object(), b"bytes", 1j, [lambda: None]])
def test_a_value_without_a_form_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="expected one that JSON has a form for"):
        json_value(value)
