import json
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from tallystick.formula.facts import attribute_name
from tallystick.records.struct_builder import (
    Record,
    record_type,
)

UNIT = {"type": "number", "minimum": 0, "maximum": 1}
BOUNDS = (-1, 0, 0.5, 1, 3)


def record_schema(field: object, *, required: bool = True, **more: object) -> dict:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["skill_type", "x"] if required else ["skill_type"],
        "properties": {"skill_type": {"const": "t"}, "x": field},
        **more,
    }


def decode(schema: dict, **fields: object) -> Record:
    made, decides = record_type("t", schema)
    assert decides
    return msgspec.json.decode(json.dumps({"skill_type": "t", **fields}), type=made)


@pytest.mark.parametrize(
    "field",
    [
        True,
        {},
        {"type": "object"},
        {"type": "array"},
        {"type": "string", "pattern": "^a"},
        {"type": "integer", "multipleOf": 2},
        {"type": "integer", "minimum": 0.5},
        {"type": "integer", "minimum": 0, "exclusiveMinimum": 0},
        {"type": "string", "maxLength": 1e3},
        {"type": "integer", "minimum": 2**53},
        {"type": "number", "maximum": 2**53},
        {"type": "array", "items": UNIT, "uniqueItems": True},
        {"type": "array", "prefixItems": [UNIT], "items": UNIT},
        {"type": "array", "items": UNIT, "contains": {"const": 1}},
        {"type": "object", "properties": {"y": UNIT}, "minProperties": 1},
        {"type": "object", "properties": {"y": UNIT}, "required": ["z"]},
        {"type": "object", "additionalProperties": UNIT, "propertyNames": False},
        {"type": "object", "additionalProperties": UNIT, "patternProperties": {"^a": {}}},
        {"allOf": [UNIT]},
        {"not": UNIT},
        {"enum": ["a", 1]},
        {"enum": ["a"], "type": "integer"},
        {"const": True},
        {"anyOf": [UNIT, {"type": "integer"}]},
        {"anyOf": [{"const": "a"}, {"type": "string"}]},
        {"type": ["integer", "number"]},
        {"$ref": "#/$defs/unit", "maximum": 0.5},
        {"$ref": "#/$defs/tree"},
        {"type": "number", "unheard-of": 1},
    ],
)
def test_of_what_no_type_can_say_the_type_does_not_decide(field: object) -> None:
    tree = {"type": "object", "additionalProperties": {"$ref": "#/$defs/tree"}}
    schema = record_schema(field, **{"$defs": {"unit": UNIT, "tree": tree}})
    assert not record_type("t", schema)[1]


@pytest.mark.parametrize(
    "more",
    [
        {"allOf": [{}]},
        {"minProperties": 5},
        {"if": {}, "then": {"properties": {"x": {"const": 1}}}},
        {"if": {}, "else": False},
        {"if": {}, "else": {"required": ["y"]}},
    ],
)
def test_with_other_conditions_at_the_top_the_type_does_not_decide(more: dict) -> None:
    assert not record_type("t", record_schema(UNIT, **more))[1]


def test_a_condition_at_the_top_asks_for_the_answer_alone() -> None:
    schema = record_schema(UNIT)
    schema["properties"]["submission"] = UNIT
    schema |= {"if": {}, "then": {"required": ["submission"]}}
    assert decode(schema, x=1).submission is None
    assert decode(schema, x=1, submission=1).submission == 1


def test_fields_that_are_left_out_are_empty_or_none() -> None:
    properties = {
        "n": UNIT,
        "list": {"type": "array", "items": UNIT},
        "map": {"type": "object", "additionalProperties": UNIT},
    }
    closed = {"type": "object", "properties": properties, "additionalProperties": False}
    schema = record_schema(closed)
    found = decode(schema, x={}).x
    assert (found.n, found.list, found.map) == (None, [], {})
    for name in properties:
        with pytest.raises(msgspec.ValidationError):
            decode(schema, x={name: None})


def test_what_is_left_out_is_not_shared_between_records() -> None:
    schema = record_schema({"type": "array", "items": UNIT}, required=False)
    first, second = decode(schema), decode(schema)
    first.x.append(1.0)
    assert second.x == []


@pytest.mark.parametrize("name", ["class", "a-b", "_a", "__init__", "2x", "é", "", "None", "x y"])
def test_a_field_that_python_cannot_name_has_an_attribute_of_its_own(name: str) -> None:
    schema = record_schema(UNIT)
    schema["properties"][name] = UNIT
    assert attribute_name(name).isidentifier()
    assert getattr(decode(schema, x=1, **{name: 0.5}), attribute_name(name)) == 0.5


@given(st.text(), st.text())
def test_different_fields_have_different_attributes(first: str, second: str) -> None:
    names = {name for name in (first, second) if not any("\ud800" <= c <= "\udfff" for c in name)}
    assert len({attribute_name(name) for name in names}) == len(names)


@st.composite
def numbers(draw: st.DrawFn) -> dict:
    words = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    bounds = draw(st.dictionaries(st.sampled_from(words), st.sampled_from(BOUNDS), max_size=2))
    return {"type": draw(st.sampled_from(["integer", "number"])), **bounds}


def sized(kind: str, what: str, **more: object) -> st.SearchStrategy[dict]:
    sizes = st.dictionaries(st.sampled_from([f"min{what}", f"max{what}"]), st.integers(0, 2))
    return sizes.map(lambda limits: {"type": kind, **more, **limits})


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict]:
    return st.builds(
        lambda fields, required, rest: {
            "type": "object",
            "properties": fields,
            "required": required,
            **({} if rest is None else {"additionalProperties": rest}),
        },
        st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
        st.lists(st.sampled_from("ab"), unique=True, max_size=2),
        st.sampled_from([False, False, True, None, UNIT]),
    )


FIELDS = st.recursive(
    numbers()
    | sized("string", "Length")
    | st.sampled_from(
        [
            {"type": "boolean"},
            {"type": "null"},
            {"type": ["string", "null"], "maxLength": 1},
            {"type": ["integer", "boolean"], "minimum": 0},
            {"enum": ["a", "b"]},
            {"enum": ["a", 1, None]},
            {"const": 0},
            {"$ref": "#/$defs/unit"},
            {"$ref": "#/$defs/unit", "maximum": 0},
            {"$ref": "#/$defs/tree"},
            {},
            False,
        ]
    ),
    lambda inner: st.one_of(
        objects(inner),
        inner.flatmap(lambda item: sized("array", "Items", items=item)),
        inner.flatmap(lambda item: sized("object", "Properties", additionalProperties=item)),
        st.tuples(
            st.sampled_from(["anyOf", "oneOf", "allOf"]), st.lists(inner, min_size=1, max_size=3)
        ).map(lambda pair: {pair[0]: pair[1]}),
    ),
    max_leaves=5,
)
VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 2, -1, 0.5, 1.0, 3.5, "", "a", "b", "abc", "😀"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=6,
)


@examples(45)
@given(FIELDS, st.lists(VALUES, min_size=10, max_size=25))
def test_a_type_holds_what_is_valid_and_if_it_decides_nothing_else(
    field: object, values: list
) -> None:
    tree = {"type": "object", "additionalProperties": {"$ref": "#/$defs/tree"}}
    schema = record_schema(field, **{"$defs": {"unit": UNIT, "tree": tree}})
    made, decides = record_type("t", schema)
    judge = jsonschema_rs.Draft202012Validator(schema)
    for value in values:
        record = {"skill_type": "t", "x": value}
        if judge.is_valid(record):
            msgspec.convert(_whole(record), made)
        elif decides:
            with pytest.raises(msgspec.ValidationError):
                msgspec.json.decode(json.dumps(record), type=made)


def _whole(value: object) -> object:
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
