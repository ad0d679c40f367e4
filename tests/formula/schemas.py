"""Small record schemas, and records of them, decoded as any record is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tallystick.formula.tree import Node
from tallystick.records.decoding import Decoder
from tallystick.records.extraction import compile_extraction
from tallystick.records.struct_builder import Record

Schema = dict[str, Any]

SKILL_TYPE = "sample"

WHOLE: Schema = {"type": "integer", "minimum": 0, "maximum": 9}
DECIMAL: Schema = {"type": "number", "minimum": 0, "maximum": 9}
TEXT: Schema = {"type": "string", "maxLength": 99}
TRUTH: Schema = {"type": "boolean"}
NULL: Schema = {"type": "null"}
OPTIONS: Schema = {"enum": ["x", "y"]}


def listed(item: Schema, most: int = 5) -> Schema:
    return {"type": "array", "items": item, "maxItems": most}


def mapped(item: Schema, most: int = 5) -> Schema:
    return {"type": "object", "additionalProperties": item, "maxProperties": most}


def either(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


def nested(required: Iterable[str] | None = None, /, **fields: Schema) -> Schema:
    """A closed object; without a list of what is required, every field is."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": fields,
        "required": list(fields if required is None else required),
    }


def record(required: Iterable[str] | None = None, /, **fields: Schema) -> Schema:
    """A record schema."""
    closed = nested(required, skill_type={"const": SKILL_TYPE}, **fields)
    needed = {*closed["required"], "skill_type"}
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, **closed, "required": sorted(needed)}


def decoded(schema: Schema, **fields: object) -> Record:
    """The record with these fields, from its line."""
    line = json.dumps({"skill_type": SKILL_TYPE, **fields}).encode()
    found = Decoder({SKILL_TYPE: schema}).decode(line, 1)
    assert isinstance(found, Record), found
    return found


def facts_of(facts: list[Node], schema: Schema, **fields: object) -> tuple[int, ...]:
    """The facts of the record with these fields."""
    taken = compile_extraction(facts, schema)(decoded(schema, **fields))
    return tuple(taken[fact.digest] for fact in facts)


def fact_of(fact: Node, schema: Schema, **fields: object) -> int:
    """One fact of the record with these fields."""
    (value,) = facts_of([fact], schema, **fields)
    return value
