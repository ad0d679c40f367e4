from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import jsonschema

from tallystick.resources import schema_path
from tallystick.rules.schema import describe, in_place
from tallystick.rules.section import Section, installed_sections, schema_of

Value = Any  # of a document

SCHEMA = json.loads(schema_path("rule-set-1").read_text(encoding="utf-8"))


def subschemas(schema: Value, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema that rules a value, by its place; conditions rule none."""
    yield path, schema
    for key in ("properties", "$defs"):
        for name, part in schema.get(key, {}).items():
            yield from subschemas(part, f"{path}/{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from subschemas(schema[key], f"{path}/{key}")


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def own_sections() -> tuple[Section[Any], ...]:
    """The sections that ship with the engine, in the order of their names."""
    sections = installed_sections()
    return tuple(sections.value(name) for name in sorted(sections.names()))


def test_the_schema_for_editors_is_made_of_the_parts() -> None:
    composed = dict(schema_of(own_sections()).document)
    whole = json.loads(schema_path("rule-set-1").read_text("utf-8"), parse_float=Decimal)
    whole = in_place(whole, whole["$defs"])
    for key in ("title", "definition"):
        for schema in (whole, composed):
            for table in (schema, *schema["properties"].values()):
                table.pop(key, None)
    assert whole == composed


def test_every_table_is_closed() -> None:
    for path, schema in subschemas(SCHEMA):
        if schema.get("type") == "object":
            closed = schema["additionalProperties"]
            assert closed is False or closed["$ref"], path


def test_every_value_has_a_description() -> None:
    for path, schema in subschemas(SCHEMA):
        assert "description" in schema or "$ref" in schema, path


def test_every_value_can_be_described_to_people() -> None:
    for path, schema in subschemas(SCHEMA):
        if "$ref" not in schema:
            assert describe(schema), path


def test_every_number_has_a_range_but_parameters_whose_formula_has_it() -> None:
    for path, schema in subschemas(SCHEMA):
        if schema.get("type") in ("number", "integer") and "const" not in schema:
            assert path == "/parameter" or {"minimum", "maximum"} <= set(schema), path


def test_unknown_keys_and_broken_values_are_told_apart() -> None:
    data = {"rule_set": {"name": "a", "format": 1, "x": 2}, "axes": {}, "tiers": 3}
    validation = schema_of(()).validate(data)
    assert validation.unknown == (("rule_set", "x"),)
    assert set(validation.broken) == {(), ("rule_set",), ("tiers",)}
    assert {f.path for f in validation.findings} == {
        ("skill_types",),
        ("rule_set", "version"),
        ("rule_set", "x"),
        ("tiers",),
    }
