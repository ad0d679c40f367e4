"""Edits of rule-set files: what is asked for changes, and no other byte."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from tallystick.errors import TallystickError
from tallystick.plugins.registry import installed
from tallystick.rules.edit import Value, edited, edited_text, edits, read_value
from tallystick.rules.loading import load, shipped
from tallystick.rules.toml import KeyPath, dotted, parse

SHIPPED = tuple(shipped(installed()))


@cache
def text_of(name: str) -> str:
    return load(name, installed()).text


@cache
def data_of(name: str) -> dict[str, Any]:
    return dict(parse(text_of(name), "").data)


def values(place: object, path: KeyPath = ()) -> dict[KeyPath, Value]:
    """Every number, text and switch, by its keys."""
    match place:
        case dict():
            pairs: list[tuple[str | int, object]] = list(place.items())
        case list():
            pairs = list(enumerate(place))
        case Decimal() | int() | str():
            return {path: place}
        case _:
            raise AssertionError(place)
    return {k: v for key, inner in pairs for k, v in values(inner, (*path, key)).items()}


@cache
def places() -> list[tuple[str, KeyPath]]:
    """Every value of every shipped rule set."""
    return [(name, keys) for name in SHIPPED for keys in values(data_of(name))]


def has_others(place: tuple[str, KeyPath]) -> bool:
    """Whether it is a weight among several, which then make the sum 1."""
    name, keys = place
    beside = [each for each in values(data_of(name)) if each[:-1] == keys[:-1]]
    return "weights" in keys and len(beside) > 1


def other(value: Value) -> str:
    """The text of another value of the kind."""
    if isinstance(value, bool):
        return str(not value).lower()
    return f"{value} more" if isinstance(value, str) else str(value + 7)


def comment(line: str) -> str:
    """What stands behind the values of a line; no text of a shipped rule set has the sign."""
    return line.partition("#")[2]


@examples(12)
@given(st.deferred(lambda: st.sampled_from(places())))
def test_one_value_changes_and_every_other_line_is_kept(place: tuple[str, KeyPath]) -> None:
    name, keys = place
    text, data = text_of(name), data_of(name)
    before = values(data)
    if "weights" in keys:
        return
    path = dotted(keys)
    found = edited_text(text, edits(data, [(path, read_value(data, path, other(before[keys])))]))
    after = values(parse(found, "").data)
    assert {k for k in before if before[k] != after[k]} == {keys}
    assert list(after) == list(before)
    pairs = list(zip(text.splitlines(), found.splitlines(), strict=True))
    changed = [(old, new) for old, new in pairs if old != new]
    assert len(changed) == 1
    assert comment(changed[0][0]) == comment(changed[0][1])


@examples(9)
@given(
    st.deferred(lambda: st.sampled_from([place for place in places() if has_others(place)])),
    st.integers(0, 1000),
)
def test_a_weight_is_as_given_and_all_of_its_type_sum_to_one(
    place: tuple[str, KeyPath], thousandths: int
) -> None:
    name, keys = place
    value = Decimal(thousandths) / 1000
    found = edited_text(text_of(name), edits(data_of(name), [(dotted(keys), value)]))
    after: Any = parse(found, "").data
    *outer, axis = keys
    before: Any = data_of(name)
    for key in outer:
        after, before = after[key], before[key]
    assert after[axis] == value
    assert sum(map(Fraction, after.values())) == 1
    assert list(after) == list(before)


LAYOUTS = {
    "dotted keys": "a.b = 1 # one\na.c = 2\n",
    "an inline table": "a = { b = 1, c = 2 } # one\n",
    "tables in another order": "[a]\nb = 1 # one\n[x]\ny = 1\n[a.d]\nc = 2\n",
    "windows line ends": "[a]\r\nb = 1 # one\r\nc = 2\r\n",
    "no line end": "[a]\nc = 2\nb = 1 # one",
    "a key in quotes": '["a"]\n"b" = 1 # one\n',
    "underscores": "[a]\nb = 1_000 # one\n",
    "an exponent": "[a]\nb = 1e3 # one\n",
    "a sign": "[a]\nb = +1.50 # one\n",
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_any_layout_of_toml_is_kept(layout: str) -> None:
    data = parse(layout, "").data
    changes = edits({"skill_types": {}, "axes": {}, **data}, [("a.b", Decimal("7.25"))])
    found = edited_text(layout, changes)
    assert parse(found, "").data == edited(data, changes)
    assert "# one" in found
    assert found.count("\r") == layout.count("\r")
    assert found.count("\n") == layout.count("\n")


def test_a_comment_stays_in_its_column_and_decimals_stay_as_many() -> None:
    text = "[a]\nb = 0.30    # one\n[skill_types]\n[axes]\n"
    data = parse(text, "").data
    for value, line in [
        ("0.4", "b = 0.40    # one"),
        ("0.125", "b = 0.125   # one"),
        ("2", "b = 2.00    # one"),
        ("0.123456789", "b = 0.123456789 # one"),
    ]:
        assert edited_text(text, edits(data, [("a.b", Decimal(value))])).splitlines()[1] == line


def test_two_values_for_one_place_are_refused() -> None:
    data = {"a": {"b": 1}, "skill_types": {}, "axes": {}}
    with pytest.raises(TallystickError, match=r"two values for a\.b"):
        edits(data, [("a.b", 2), ("a.b", 3)])
