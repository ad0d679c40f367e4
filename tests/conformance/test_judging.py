"""No line costs far more to judge than a good record: neither by its schema, nor by the engine."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from conformance.broken import SCHEMA, broken, loaded
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
from tallystick_conformance.testing.samples import examples_of, line, of_type

TYPES = tuple(installed().skill_types)
FEW = ("workflow",)
"""The others are judged by the same code."""
MOST_PER_BYTE = 1
"""Calls of functions for a byte: 0.5 in the worst line known, 60 where every error is told."""
LEAST_BYTES = 1 << 12
"""Size that a shorter line counts as: to be rejected costs something of its own."""


LONG = 1 << 17
"""Bytes of a filling beyond a limit: an eighth of the longest line, and enough to see a cost that
grows faster than its length."""
_AS_IT_WAS, _HERE = "as it was", "\ue000filled here\ue000"
_BAD = ("{}", "[]", "0", '""', "null", "0.0", '{"0":0}')


def schema_of(name: str) -> dict[str, Any]:
    return load_schema(installed().skill_types[name].schema)


def containers(holder: Any, key: Any, path: str) -> Iterator[tuple[str, Any, Any]]:  # noqa: ANN401  # JSON
    """Every list and object in a place of a record: its path, and where it is."""
    value = holder[key]
    if isinstance(value, dict | list):
        yield path, holder, key
        for inner in value if isinstance(value, dict) else range(min(1, len(value))):
            yield from containers(value, inner, f"{path}.{inner}".removeprefix("."))


def fillings(name: str) -> dict[tuple[str, str], bytes]:
    """Lines of which one list or object is full of what is cheapest to write, good or bad.

    A stranger pays for bytes, who judges a line for time. So each is filled up to the limits of
    schemas, and far beyond.
    """
    filled = dict[tuple[str, str], bytes]()
    for record in of_type(installed().skill_types[name], count=10):
        root = {"": record}
        for path, holder, key in containers(root, "", ""):
            if (path, _AS_IT_WAS) in filled:
                continue
            value, holder[key] = holder[key], _HERE
            before, _, after = json_of(root[""]).partition(json_of(_HERE))
            holder[key] = value
            for content, text in ((_AS_IT_WAS, json_of(value)), *contents(value)):
                filled[path, content] = (before + text + after).encode()
    return filled


def contents(value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401  # JSON
    """The contents of a list or an object as JSON text, each with its name."""
    is_list = isinstance(value, list)
    good = min(map(json_of, value if is_list else value.values()), key=len, default="0")
    many = LONG // (len(good) + (1 if is_list else 8))
    for items in (
        *([item] * 1000 for item in (good, *_BAD)),
        *([good] * 999 + [item] for item in _BAD),
        [good] * many,
    ):
        text = ",".join(items if is_list else (f'"{n}":{e}' for n, e in enumerate(items)))
        yield f"{len(items)}, last {items[-1]}", f"[{text}]" if is_list else f"{{{text}}}"


def json_of(value: object) -> str:
    return line({"": value})[4:-1].decode()


def judged(name: str, lines: Mapping[Any, bytes]) -> dict[Any, float]:
    """How many functions are called for each byte of a line, by its name."""
    good = next(iter(examples_of(installed().skill_types[name])))
    judge = Extractor(catalog_of(installed()).values()).facts
    assert [reject.line for reject in judge([line(good), b"{}"]).rejects] == [2]
    for each in lines.values():
        assert all(reject.code != INTERNAL_ERROR for reject in judge([each]).rejects), each
    return {
        key: calls(lambda each=each: judge([each])) / max(len(each), LEAST_BYTES)  # type: ignore[misc]
        for key, each in lines.items()
    }


@pytest.mark.parametrize(
    "name", [pytest.param(e, marks=() if e in FEW else pytest.mark.nightly) for e in TYPES]
)
def test_no_filling_takes_more_calls_than_it_has_bytes(name: str) -> None:
    filled = fillings(name)
    assert {"", "miner", "events", "checks"} <= {path for path, _ in filled}
    for each in filled.values():
        json.loads(each)
        assert len(each) <= MAX_LINE_BYTES
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
    found = judged("mcp_server", BOMBS)
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
        assert most_parts(schema_of(name))[1] <= 7
