"""Every record that is made from a schema alone is valid under it."""

import json
import re
from typing import Any

import pytest
from examples import examples, fast_rows
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tallystick.errors import SchemaError
from tallystick.plugins.generator import Draw
from tallystick_conformance.testing.random_records import RandomRecords
from tallystick_conformance.testing.random_values import DEPTH, value_maker

Schema = dict[str, Any]

UNIT = {"type": "number", "minimum": 0, "maximum": 1}
TREE = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 3},
        "left": {"$ref": "#/$defs/tree"},
        "right": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]},
        "rest": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 1000},
    },
    "additionalProperties": False,
}
SHAPES: list[Schema] = [
    {"type": "number", "minimum": -5, "exclusiveMaximum": -4.5},
    {"type": "number", "exclusiveMinimum": 0, "maximum": 1e-9},
    {"type": "number", "minimum": 1e-12, "maximum": 2e-12},
    {"type": "number", "minimum": 0.30000000000000004, "maximum": 0.30000000000000004},
    {"type": "number", "minimum": 1e17},
    {"minimum": 3},
    {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5},
    {"type": "integer", "minimum": 2**70},
    {"type": "integer", "minimum": 0.5, "maximum": 9.5},
    {"type": "integer", "minimum": 1, "maximum": 100, "multipleOf": 7},
    {"type": "string", "maxLength": 0},
    {"minLength": 30},
    {"type": "array", "items": UNIT, "minItems": 30},
    {"type": "array", "items": {"type": "integer", "minimum": 0}, "uniqueItems": True},
    {"type": "array", "prefixItems": [UNIT, {"const": "x"}], "items": False, "maxItems": 2},
    {"type": "array", "contains": {"const": 4}},
    {"type": "object"},
    {"type": "object", "additionalProperties": UNIT, "minProperties": 12, "maxProperties": 20},
    {
        "type": "object",
        "additionalProperties": UNIT,
        "propertyNames": {"minLength": 2, "maxLength": 2},
    },
    {"properties": {"a": UNIT}, "required": ["a"], "additionalProperties": {"const": 1}},
    {"const": {"any": ["value", None]}},
    {"type": ["string", "null"], "maxLength": 2},
    {"anyOf": [UNIT, {"type": "null"}, {"$ref": "#/$defs/tree"}]},
    {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 0.5}]},
    {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"allOf": [{"type": "integer"}, {"minimum": 3}, {"maximum": 4}]},
    {"not": {"type": "string"}},
    {"type": "integer", "minimum": 0, "maximum": 5, "not": {"const": 3}},
    {},
]


def record_schema(field: object) -> Schema:
    return {
        "$defs": {"unit": UNIT, "tree": TREE},
        "type": "object",
        "additionalProperties": False,
        "required": ["skill_type", "x"],
        "properties": {"skill_type": {"const": "t"}, "x": field},
    }


def depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(depth, inner), default=0)


@pytest.mark.parametrize("edges", fast_rows([0, 50], 0))
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: json.dumps(shape)[:60])
def test_records_of_every_shape_are_valid(shape: Schema, edges: int) -> None:
    schema = record_schema(shape)
    oracle, make = Draft202012Validator(schema), RandomRecords(schema)
    for seed in range(4):
        record = make.record(Draw.of(seed), edges)
        assert not list(oracle.iter_errors(record)), record


bounded = st.builds(
    lambda kind, low, span: {"type": kind, "minimum": low, "maximum": low + span},
    st.sampled_from(["integer", "number"]),
    st.integers(-(10**6), 10**6),
    st.integers(0, 10**6),
)
texts = st.builds(
    lambda least, more: {"type": "string", "minLength": least, "maxLength": least + more},
    st.integers(0, 40),
    st.integers(0, 100),
)
shapes = st.recursive(
    bounded | texts | st.sampled_from([{"enum": ["a", 1]}, {"type": "boolean"}, {"type": "null"}]),
    lambda inner: st.one_of(
        st.builds(
            lambda item, least: {"type": "array", "items": item, "minItems": least, "maxItems": 5},
            inner,
            st.integers(0, 3),
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda several: {"anyOf": several}),
        st.builds(
            lambda fields, required: {
                "type": "object",
                "properties": fields,
                "required": [name for name in required if name in fields],
                "additionalProperties": False,
            },
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            st.sets(st.sampled_from("abc")).map(sorted),
        ),
        inner.map(lambda i: {"type": "object", "additionalProperties": i, "maxProperties": 3}),
    ),
    max_leaves=8,
)


@examples(90)
@given(shapes, st.integers(0, 2**32), st.sampled_from([0, 30, 100]))
def test_a_value_follows_its_schema_without_being_judged(
    shape: Schema, seed: int, edges: int
) -> None:
    value = value_maker(shape, shape)(Draw(seed), edges, DEPTH)
    assert not list(Draft202012Validator(shape).iter_errors(value))


def test_a_definition_within_itself_ends() -> None:
    make = value_maker(record_schema(True), {"$ref": "#/$defs/tree"})
    assert max(depth(make(Draw(seed), 0, DEPTH)) for seed in range(200)) <= 2 * DEPTH + 2


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (False, "found a schema that no value meets"),
        ({"enum": []}, "found a schema that no value meets"),
        (
            {"type": "string", "pattern": "^q{300}$"},
            "found no valid record of the skill type 't' in 200 that follow its schema",
        ),
        ({"$ref": "#/$defs/endless"}, "demands itself within itself, without an end"),
    ],
)
def test_a_schema_that_nothing_was_found_for_is_named(field: object, message: str) -> None:
    schema = record_schema(field)
    endless = {
        "type": "object",
        "required": ["x"],
        "properties": {"x": {"$ref": "#/$defs/endless"}},
    }
    schema["$defs"]["endless"] = endless
    with pytest.raises(SchemaError, match=re.escape(message)):
        RandomRecords(schema).record(Draw(1))
