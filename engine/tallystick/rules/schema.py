"""Judging a document by ``rule-set-1.schema.json``: every error, with a readable expectation."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

import attrs

from tallystick import resources
from tallystick.rules.findings import Finding, mistake, nearest, one_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tallystick.rules.positions import KeyPath

SCHEMA = "rule-set-1"

_Error = Any  # jsonschema ships no types

# errors of these keywords leave the value in a shape that the model can hold
_SHAPE_KEPT = frozenset(
    {"minimum", "maximum", "pattern", "maxLength", "minItems", "minProperties", "uniqueItems"}
)
_TYPES = {
    "number": "a number",
    "integer": "a whole number",
    "string": "a text in quotes",
    "boolean": "true or false",
    "object": "a table",
    "array": "an array",
}


@attrs.frozen
class Judgement:
    """What the schema says of a document.

    Attributes:
        findings: every error.
        unknown: the paths of keys that the schema does not know.
        broken: the paths of values that the model cannot hold.
    """

    findings: tuple[Finding, ...]
    unknown: tuple[KeyPath, ...]
    broken: tuple[KeyPath, ...]


def judge(data: Mapping[str, Any]) -> Judgement:
    """What the schema says of the tables of a document."""
    findings: list[Finding] = []
    unknown: list[KeyPath] = []
    broken: list[KeyPath] = []
    for error in _validator().iter_errors(data):
        path = tuple(error.absolute_path)
        if error.validator == "additionalProperties":
            extra = list(_unknown_keys(error, path))
            findings += extra
            unknown += [finding.path for finding in extra]
        elif "propertyNames" in error.schema_path:
            findings.append(_bad_name(error, path))
        elif error.validator == "required":
            findings.append(_missing(error, path))
            broken.append(path)
        else:
            findings.append(mistake(path, shown(error.instance), describe(error.schema)))
            broken += [] if error.validator in _SHAPE_KEPT else [path]
    # a value can fail two keywords with one expectation
    return Judgement(tuple(dict.fromkeys(findings)), tuple(unknown), tuple(broken))


def describe(schema: Any) -> str:  # noqa: ANN401  # a JSON Schema
    """What a schema expects, for people: its type, range and words, and its description."""
    description = schema.get("description", "")
    if "enum" in schema:
        words = " or ".join(shown(word) for word in schema["enum"])
        return f"{words} ({description})"
    if "const" in schema:
        return f"{shown(schema['const'])} ({description})"
    if "pattern" in schema:
        return str(description)
    return f"{_TYPES[schema['type']]}{_range(schema)} ({description})"


def _range(schema: Mapping[str, Any]) -> str:
    if "minimum" in schema:
        return f" from {shown(schema['minimum'])} to {shown(schema['maximum'])}"
    if "maxLength" in schema:
        return f" of at most {schema['maxLength']} characters"
    filled = " that is not empty" if {"minItems", "minProperties"} & schema.keys() else ""
    return filled + (" without repetitions" if "uniqueItems" in schema else "")


def _unknown_keys(error: _Error, path: KeyPath) -> Iterator[Finding]:
    known = error.schema["properties"]
    for key in error.instance:
        if key not in known:
            hint = nearest(key, known) or f": {one_of(sorted(known))}"
            yield mistake((*path, key), shown(error.instance[key]), f"a key of the format{hint}")


def _bad_name(error: _Error, path: KeyPath) -> Finding:
    return mistake(
        (*path, error.instance), f"the key {shown(error.instance)}", describe(error.schema)
    )


def _missing(error: _Error, path: KeyPath) -> Finding:
    # jsonschema reports each missing key on its own, and names it only in its message
    key = error.message.split("'")[1]
    return mistake((*path, key), "", f"{describe(_subschema((*path, key)))}, which is missing")


def _subschema(path: KeyPath) -> Mapping[str, Any]:
    """The part of the schema that rules the value at a path."""
    schema: Mapping[str, Any] = _schema()
    definitions = schema["$defs"]
    for part in path:
        if isinstance(part, int):
            schema = schema["items"]
        else:
            schema = schema.get("properties", {}).get(part) or schema["additionalProperties"]
        if "$ref" in schema:
            schema = {**definitions[schema["$ref"].rpartition("/")[2]], **schema}
    return schema


@cache
def _schema() -> Mapping[str, Any]:
    text = resources.schema_path(SCHEMA).read_text(encoding="utf-8")
    schema: Mapping[str, Any] = json.loads(text, parse_float=Decimal)
    return schema


@cache
def _validator() -> Any:  # noqa: ANN401  # jsonschema ships no types
    # imported late: it costs more than everything else, and scoring under a loaded rule set
    # never needs it
    from jsonschema import (  # type: ignore[import-untyped]  # it ships none  # noqa: PLC0415
        Draft202012Validator,
    )

    return Draft202012Validator(_schema())
