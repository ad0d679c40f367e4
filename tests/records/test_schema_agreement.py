"""The typed decoder, jsonschema-rs and jsonschema agree on which records there are.

The oracle is `jsonschema` on the file as it is shipped. Two things only the engine demands: that
numbers are finite doubles, and lines not too long.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import attrs
import jsonschema_rs
import msgspec
import pytest
from jsonschema import Draft202012Validator
from records.making import FILES, SCHEMAS
from records.mutations import MUTATIONS, Holder, mutated, places, text_of
from referencing import Registry, Resource

from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.plugins.generator import Draw
from tallystick.plugins.registry import installed
from tallystick.records.decoding import Decoder, MissedDeadline
from tallystick.records.rejects import CODES, Reject
from tallystick.records.struct_builder import Record, fast_type
from tallystick.resources import schema_path
from tallystick.testing.random_records import RandomRecords

TYPES = sorted(installed().skill_types)
FEW = 300
"""Lines of a type in the suite that always runs."""
MANY = 12_000

Json = dict[str, Any]


@attrs.frozen
class Judges:
    """What says of a line whether it is a record of one type."""

    decoder: Decoder
    rust: jsonschema_rs.Draft202012Validator
    oracle: Draft202012Validator

    def decoded(self, line: bytes) -> bool:
        found = self.decoder.decode(line, 1)
        assert isinstance(found, Record | MissedDeadline | Reject)
        if not isinstance(found, Reject):
            return True
        assert found.code in CODES
        assert json.loads(found.to_json())["line"] == 1
        return False

    def is_fast(self, line: bytes) -> bool:
        try:
            return bool(self.decoder._decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False

    def expected(self, line: bytes) -> bool:
        """What the oracle says of the value that the standard library reads."""
        try:
            value = json.loads(line)
        except ValueError:
            return False
        return _is_plain(json.loads(line, object_pairs_hook=list)) and self.oracle.is_valid(value)


def _is_plain(value: object) -> bool:
    """Whether every number is a finite double, in entries that do not count too."""
    match value:
        case list() | tuple():
            return all(map(_is_plain, value))
        case bool() | None | str():
            return True
        case int():
            return abs(value) < 2**1024
        case _:
            return math.isfinite(value)


def judges(skill_type: str, schema: Json, oracle: Draft202012Validator) -> Judges:
    assert fast_type(skill_type, schema) is not None, f"{skill_type} has no fast type"
    return Judges(
        decoder=Decoder({skill_type: schema}),
        rust=jsonschema_rs.Draft202012Validator(dict(schema), offline=True),
        oracle=oracle,
    )


@cache
def judges_of(skill_type: str) -> Judges:
    common = Resource.from_contents(json.loads(schema_path("record-1").read_bytes()))
    registry = Registry().with_resource("record-1.schema.json", common)
    file = json.loads(installed().skill_types[skill_type].schema.read_bytes())
    return judges(skill_type, SCHEMAS[skill_type], Draft202012Validator(file, registry=registry))


def disagreements(asked: Judges, lines: Iterable[str]) -> Iterator[str]:
    """The lines of which not everyone says the same."""
    for text in lines:
        line = text.encode()
        expected = asked.expected(line)
        agree = asked.decoded(line) == expected and (expected or not asked.is_fast(line))
        if not agree or _of_rust(asked.rust, line) not in (None, expected):
            yield text[:2000]


def _of_rust(rust: jsonschema_rs.Draft202012Validator, line: bytes) -> bool | None:
    """What jsonschema-rs says; nothing of what is no value, or has a number that is no double."""
    try:
        value = json.loads(line)
        plain = _is_plain(json.loads(line, object_pairs_hook=list))
    except ValueError:
        return None
    return rust.is_valid(value) if plain else None


def random_record(skill_type: str, seed: int) -> Json:
    """A valid record, now and then with numbers, texts and lists at the edges."""
    draw = Draw.of("agreement", skill_type, seed)
    return RandomRecords(SCHEMAS[skill_type]).record(draw, 0 if seed % 10 else 3)


def lines_of(skill_type: str, count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Mutated lines, each with the name of its mutation."""
    random, names = Random(f"{skill_type} {seed}"), tuple(MUTATIONS)
    make = RandomRecords(SCHEMAS[skill_type])
    number = made = 0
    while made < count:
        draw = Draw.of("agreement", skill_type, seed, number)
        record = make.record(draw, 0 if number % 20 else 3)
        number += 1
        for _ in range(8):
            name = names[made % len(names)]
            text = mutated(record, name, random)
            made += 1
            if text is not None and len(text) < MAX_LINE_BYTES // 4:
                yield name, text


@pytest.mark.parametrize("skill_type", TYPES)
def test_everyone_agrees_on_mutated_records(skill_type: str) -> None:
    texts = [text for _, text in lines_of(skill_type, FEW, seed=1)]
    assert len(texts) > FEW * 0.9
    assert list(disagreements(judges_of(skill_type), texts)) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("skill_type", TYPES)
def test_everyone_agrees_on_very_many_mutated_records(skill_type: str, part: int) -> None:
    texts = (text for _, text in lines_of(skill_type, MANY // 4, seed=100 + part))
    assert list(disagreements(judges_of(skill_type), texts)) == []


@pytest.mark.parametrize("skill_type", TYPES)
def test_everyone_accepts_what_was_not_mutated(skill_type: str) -> None:
    asked = judges_of(skill_type)
    for seed in range(60):
        line = text_of(random_record(skill_type, seed)).encode()
        assert asked.expected(line)
        assert asked.decoded(line)
        assert asked.rust.is_valid(json.loads(line))
        record = json.loads(line)
        assert asked.is_fast(line) == ("submission" in record and "checks" in record)


@pytest.mark.parametrize("skill_type", TYPES)
def test_everyone_agrees_on_null_and_on_nothing_in_every_place(skill_type: str) -> None:
    asked = judges_of(skill_type)
    for seed in range(1, 9):
        record = random_record(skill_type, seed)
        for holder, key in places(record):
            kept = dict(holder) if isinstance(holder, dict) else list(holder)
            holder[key] = None
            texts = [text_of(record)]
            del holder[key]
            texts.append(text_of(record))
            _restore(holder, kept)
            assert list(disagreements(asked, texts)) == []


def _restore(holder: Holder, kept: Holder) -> None:
    holder.clear()
    holder.update(kept) if isinstance(holder, dict) else holder.extend(kept)


@pytest.mark.parametrize("skill_type", TYPES)
def test_everyone_agrees_on_a_record_that_says_everything_twice(skill_type: str) -> None:
    asked, record = judges_of(skill_type), random_record(skill_type, 11)
    text = text_of(record)
    other = text_of({**record, "round": -1})
    texts = [text[:-1] + "," + other[1:], other[:-1] + "," + text[1:]]
    assert list(disagreements(asked, texts)) == []


@pytest.mark.parametrize("key", ["8", "08", "+8", "0", "-1", "", "a/b", "a~1b", "%41", "é"])
def test_everyone_agrees_on_maps_with_keys_that_are_no_names(key: str) -> None:
    asked, record = judges_of("workflow"), random_record("workflow", 1)
    values = ({}, {"retry_count": -1}, {"retry_count": None}, {"surplus": 1}, 1)
    plans = [{**record, "submission": {"error_handling": {key: value}}} for value in values]
    checks = [{**record["checks"], "actual_retries": {key: value}} for value in (0, 1, -1, "x")]
    spent = [{**record, "checks": each} for each in checks]
    assert list(disagreements(asked, map(text_of, plans + spent))) == []


def test_mutations_lead_to_good_and_to_bad_records() -> None:
    verdicts = Counter(
        (name, judges_of(skill_type).expected(text.encode()))
        for skill_type in TYPES
        for name, text in lines_of(skill_type, FEW // 2, seed=1)
    )
    never_good = {"not-finite", "as-text", "a-half-more", "huge", "deep"}
    never_bad = {"as-decimal", "another-spelling", "twice-good-last"}
    for name in MUTATIONS:
        assert verdicts[name, False] or name in never_bad, name
        assert verdicts[name, True] or name in never_good, name
    assert {name for name in never_good if verdicts[name, True]} == set()
    assert {name for name in never_bad if verdicts[name, False]} <= {"twice-good-last"}


LOOSER: list[tuple[str, Callable[[Json], object]]] = [
    ("by-an-ulp", lambda s: s["$defs"]["record-1.unit"].update(maximum=1.0000000000000002)),
    ("drop", lambda s: s["required"].remove("round")),
    ("extra", lambda s: s["properties"]["task"].update(additionalProperties=True)),
    ("many", lambda s: s["$defs"]["record-1.findings"].update(maxItems=1001)),
    ("length", lambda s: s["$defs"]["record-1.hotkey"].update(maxLength=65)),
    ("word", lambda s: s["$defs"]["record-1.verdict"]["enum"].append("allow")),
    ("null", lambda s: s["$defs"]["record-1.rule"]["properties"].update(action={})),
]


@pytest.mark.parametrize(("mutation", "loosen"), LOOSER, ids=[name for name, _ in LOOSER])
def test_a_schema_that_accepts_more_than_the_shipped_one_is_noticed(
    mutation: str, loosen: Callable[[Json], object]
) -> None:
    loose = json.loads(json.dumps(SCHEMAS["mcp_server"]))
    loosen(loose)
    asked = attrs.evolve(judges_of("mcp_server"), decoder=Decoder({"mcp_server": loose}))
    make, random = RandomRecords(SCHEMAS["mcp_server"]), Random(mutation)
    texts = (
        text
        for seed in range(3000)
        if (text := mutated(make.record(Draw.of(seed)), mutation, random)) is not None
    )
    assert next(disagreements(asked, texts))


def test_the_types_that_are_asked_about_are_those_that_are_shipped() -> None:
    types = installed().skill_types.items()
    assert {name: Path(each.schema).read_bytes() for name, each in types} == {
        name: file.read_bytes() for name, file in FILES.items()
    }
