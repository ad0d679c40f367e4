"""No line costs far more to judge than a good record: neither by its schema, nor by the engine."""

import json
from pathlib import Path
from typing import Any

import pytest
from broken import SCHEMA, broken, loaded
from conformance.fillings import Filling, fillings
from work import calls

from tallystick.diagnostics import Diagnostic
from tallystick.errors import INTERNAL_ERROR
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.plugins.registry import installed
from tallystick.records.schema import load_schema
from tallystick.scoring.facts.catalog import catalog_of
from tallystick.scoring.facts.extraction import Extractor
from tallystick_conformance import judging
from tallystick_conformance.judging import MOST_PARTS, most_parts
from tallystick_conformance.testing.samples import examples_of, line

TYPES = tuple(installed().skill_types)
FEW = ("workflow",)
"""The others are judged by the same code."""
MOST_PER_BYTE = 1
"""Calls of functions for a byte: 0.5 in the worst line known, 60 where every error is told."""
LEAST_BYTES = 1 << 12
"""Size that a shorter line counts as: to be rejected costs something of its own."""


def samples(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A good record of a type, and its schema."""
    skill_type = installed().skill_types[name]
    good = (r for r in examples_of(skill_type) if r["skill_type"] == name and "checks" in r)
    return next(good), load_schema(skill_type.schema)


def judged(name: str, filled: list[Filling]) -> dict[Filling, float]:
    """How many functions are called for each byte of a line, by its filling."""
    good, _ = samples(name)
    judge = Extractor(catalog_of(installed()).values()).facts
    assert [reject.line for reject in judge([line(good), b"{}"]).rejects] == [2]
    for each in filled:
        assert all(reject.code != INTERNAL_ERROR for reject in judge([each.line]).rejects), each
    return {
        each: calls(lambda each=each: judge([each.line])) / max(len(each.line), LEAST_BYTES)  # type: ignore[misc]
        for each in filled
    }


@pytest.mark.parametrize(
    "name", [pytest.param(e, marks=() if e in FEW else pytest.mark.nightly) for e in TYPES]
)
def test_no_filling_takes_more_calls_than_it_has_bytes(name: str) -> None:
    good, schema = samples(name)
    filled = list(fillings(good, schema))
    places = {each.place for each in filled}
    assert {"", "miner", "events", "checks"} <= places
    if name != "reward":  # one number has no parts
        answer = "submission.error_handling" if name == "workflow" else "submission.findings"
        assert {"task", answer, f"{answer}.0"} <= places
    for each in filled:
        json.loads(each.line)
        assert len(each.line) <= MAX_LINE_BYTES
    assert max(judged(name, filled).values()) <= MOST_PER_BYTE


SIZE = 1 << 16
BOMBS: dict[str, bytes] = {
    "deep lists": b"[" * SIZE,
    "deep objects": b'{"a":' * (SIZE // 5),
    "combs": b'{"x":[' + b",".join([b"[" * 30 + b"]" * 30] * (SIZE // 61)) + b"]}",
    "a long number": b'{"x":' + b"9" * SIZE + b"}",
    "long numbers": b'{"x":[' + b",".join([b"9" * 350] * (SIZE // 351)) + b"]}",
    "a huge exponent": b'{"x":1e999999}',
    "constants": b'{"x":[' + b",".join([b"NaN"] * (SIZE // 4)) + b"]}",
    "one constant": b'{"x":[' + b",".join([b"[]"] * (SIZE // 3)) + b",NaN]}",
    "a lone surrogate": b'{"x":[' + b",".join([b'""'] * (SIZE // 3)) + b',"\\ud800"]}',
    "surrogates": b'{"x":"' + b"\\ud800" * (SIZE // 6) + b'"}',
    "one key": b"{" + b'"a":1,' * (SIZE // 6) + b'"b":2}',
    "a long key": b'{"' + b"k" * SIZE + b'":1}',
    "a long text": b'{"skill_type":"' + b"x" * SIZE + b'"}',
    "zeros": b"\0" * SIZE,
    "quotes": b'"' * SIZE,
    "backslashes": b'"' + b"\\" * SIZE,
    "brackets in texts": b'{"x":[' + b",".join([b'"["'] * (SIZE // 4)) + b"]}",
}


def test_no_bomb_takes_more_calls_than_it_has_bytes() -> None:
    found = judged("mcp_server", [Filling("", name, bomb) for name, bomb in BOMBS.items()])
    assert max(found.values()) <= MOST_PER_BYTE, found


# the parts of a schema


def named(**parts: object) -> dict[str, Any]:
    """A schema whose one field is held against the part ``a``."""
    return {"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": parts}


A, B = {"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}
TWICE: dict[str, Any] = {"allOf": [B, B]}


@pytest.mark.parametrize(
    ("schema", "path", "parts"),
    [
        ({}, "", 1),
        ({"properties": {"x": True}}, "", 1),
        (named(a={"enum": ["k"] * 999}), "x", 2),
        (named(a={"anyOf": [{}, {}, B], "b": 1}, b={"oneOf": [True, False]}), "x", 8),
        (named(a={"if": {}, "then": {}, "else": {}, "not": {}}), "x", 6),
        (named(a={"dependentSchemas": {"k": {}}, "dependentRequired": {"k": [], "l": []}}), "x", 5),
        (named(a={"patternProperties": {"k": {"allOf": [{}] * 9}, "l": {}}}), "x.*", 11),
        (named(a={"additionalProperties": TWICE}, b={}), "x.*", 5),
        (named(a={"allOf": [{"additionalProperties": {}}, {"properties": {"y": B}}]}, b=B["$ref"]),
         "x", 4),
        (named(a={"items": TWICE, "contains": {}}, b={"type": "integer"}), "x[]", 6),
        (named(a={"prefixItems": [{}, TWICE], "items": {}}, b={}), "x[]", 5),
        (named(a={"propertyNames": {"allOf": [{}] * 4}}), "x.*", 5),
        # each part of a value is applied to what is in it
        (named(a={"allOf": [{"items": B}] * 7}, b={"type": "integer"}), "x[]", 14),
        (named(a={"properties": {"x": A, "y": A}}), "x", 2),
        # without an end, or with one that is too far
        (named(a=A), "x", MOST_PARTS + 3),
        (named(a={"allOf": [{"items": A}, {"items": A}]}), "x[][][][][]", 128),
        (named(**{f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(60)},
               a={"$ref": "#/$defs/a0"}, a60={}), "x", 2**62 - 1),
    ],
)  # fmt: skip
def test_the_parts_that_apply_to_a_value_are_counted(
    schema: dict[str, Any], path: str, parts: int
) -> None:
    assert most_parts(schema) == (path, parts)


@pytest.mark.parametrize(("times", "is_found"), [(MOST_PARTS - 2, False), (MOST_PARTS - 1, True)])
def test_the_kit_finds_a_schema_whose_parts_multiply(
    times: int, is_found: bool, tmp_path: Path
) -> None:
    notes = {"type": "array", "maxItems": 9, "items": {"$ref": "#/$defs/note"}}
    note = {"type": "integer", "minimum": 0, "maximum": 9}
    schema = {
        **SCHEMA,
        "$defs": {"note": {"allOf": [note] * times}, **SCHEMA.get("$defs", {})},
        "properties": {**SCHEMA["properties"], "notes": notes},
    }
    with loaded(broken(tmp_path, schema=schema)) as subject:
        assert not isinstance(subject, Diagnostic)
        found = list(judging.check(subject))
    assert [(each.code, each.path) for each in found] == [
        ("line-costly", "parcel: notes[]")
    ] * is_found


def test_the_shipped_schemas_apply_few_parts() -> None:
    for name in TYPES:
        assert most_parts(samples(name)[1])[1] <= 7
