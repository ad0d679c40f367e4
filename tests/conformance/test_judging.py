"""No byte of any line takes far more time than one of a good record, under any installed schema."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from broken import SCHEMA, broken, loaded

from tallystick.diagnostics import Diagnostic
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.plugins.registry import installed
from tallystick.records import validator
from tallystick.records.schema import load_schema
from tallystick.scoring.facts.catalog import catalog_of
from tallystick.scoring.facts.extraction import every_fact
from tallystick_conformance import cpu_time
from tallystick_conformance.cpu_time import MOST_PER_BYTE, Cost, cost
from tallystick_conformance.testing.fillings import Filling, fillings
from tallystick_conformance.testing.samples import examples_of, line

TYPES = tuple(installed().skill_types)


def samples(name: str) -> tuple[list[dict], dict]:
    """Good records of a type, and its schema."""
    skill_type = installed().skill_types[name]
    found = [r for r in examples_of(skill_type) if r["skill_type"] == name and "submission" in r]
    return found, load_schema(skill_type.schema)


def cost_of(name: str, filled: Sequence[Filling] | None = None) -> Cost:
    good, schema = samples(name)
    judge = every_fact(catalog_of(installed())).facts
    return cost(judge, list(map(line, good)), filled or fillings(good[0], schema))


@pytest.mark.parametrize(
    "name",
    [TYPES[0], *(pytest.param(each, marks=pytest.mark.slow) for each in TYPES[1:])],
)
def test_no_byte_of_a_filling_takes_far_longer_than_one_of_a_good_record(name: str) -> None:
    found = cost_of(name)
    worst, times = found.worst
    assert times <= MOST_PER_BYTE, (worst, found.good)


@pytest.mark.parametrize("name", TYPES)
def test_every_list_map_and_object_is_filled(name: str) -> None:
    good, schema = samples(name)
    places = {each.place for each in fillings(good[0], schema)}
    named = {"", "miner", "consensus", "events", "task", "submission", "checks"}
    if name == "workflow":
        named |= {"submission.error_handling", "submission.error_handling.0"}
        named |= {"checks.actual_retries"}
    else:
        named |= {"submission.findings", "submission.findings.0", "task.expected_policy.0"}
    assert named <= places
    for each in fillings(good[0], schema):
        json.loads(each.line)
        assert len(each.line) <= MAX_LINE_BYTES


SIZE = 1 << 18
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


def test_no_bomb_takes_far_longer() -> None:
    found = cost_of("mcp_server", [Filling("", name, bomb) for name, bomb in BOMBS.items()])
    assert found.worst[1] <= MOST_PER_BYTE, found.worst


def test_a_judge_that_looks_for_every_error_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def every_error(self: validator.RecordValidator, record: object) -> None:
        list(self._validator.iter_errors(record))
        good(self, record)

    good: Callable[..., None] = validator.RecordValidator.validate
    monkeypatch.setattr(validator.RecordValidator, "validate", every_error)
    records, schema = samples("mcp_server")
    filled = [
        each
        for each in fillings(records[0], schema)
        if (each.place, each.content) == ("submission.findings", "1000 x {}")
    ]
    assert cost_of("mcp_server", filled).worst[1] > MOST_PER_BYTE


def test_the_kit_finds_a_schema_whose_parts_multiply(tmp_path: Path) -> None:
    bomb = {
        **{f"m{n}": {"allOf": [{"$ref": f"#/$defs/m{n - 1}"}] * 8} for n in (1, 2, 3)},
        "m0": {"type": "integer", "minimum": 0, "maximum": 9},
    }
    schema = {**SCHEMA, "$defs": bomb | SCHEMA.get("$defs", {})}
    stops = {"type": "array", "maxItems": 1000, "items": {"$ref": "#/$defs/m3"}}
    schema["properties"] = {**schema["properties"], "notes": stops}
    with loaded(broken(tmp_path, schema=schema)) as subject:
        assert not isinstance(subject, Diagnostic)
        (found,) = cpu_time.check(subject)
    assert (found.code, found.path) == ("line-costly", "parcel: notes")
    assert "expected at most 60 times" in found.message


def test_the_kit_finds_nothing_wrong_with_a_plain_schema(tmp_path: Path) -> None:
    with loaded(broken(tmp_path)) as subject:
        assert not isinstance(subject, Diagnostic)
        assert list(cpu_time.check(subject)) == []
