"""Who judges whether a line is a record: the engine, its types alone, and jsonschema as the oracle.

The oracle reads the schema as it is shipped. A few things only the engine demands: that numbers are
finite doubles, that texts have no lone surrogates, that lines are not too long and not too deep.
"""

import json
import math
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import attrs
import jsonschema_rs
import msgspec
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.plugins.registry import installed
from tallystick.records.decoding import Decoder
from tallystick.records.rejects import CODES, Reject
from tallystick.records.schema import load_schema
from tallystick.records.strict_json import MAX_DEPTH
from tallystick.records.struct_builder import Record, is_answered, record_type
from tallystick.resources import schema_path

Json = dict[str, Any]


@attrs.frozen
class Judges:
    """What says of a line whether it is a record of one type."""

    decoder: Decoder
    rust: jsonschema_rs.Draft202012Validator
    oracle: Draft202012Validator

    def decoded(self, line: bytes) -> bool:
        found = self.decoder.decode(line, 1)
        assert isinstance(found, Record | Reject)
        if not isinstance(found, Reject):
            return True
        assert found.code in CODES
        assert json.loads(found.to_json())["line"] == 1
        return False

    def is_fast(self, line: bytes) -> bool:
        try:
            return is_answered(self.decoder._decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False

    def expected(self, line: bytes) -> bool:
        """What the oracle says of the value that the standard library reads."""
        return self.expected_of(_value_or_nothing(line))

    def expected_of(self, value: object) -> bool:
        """What the oracle says of a value."""
        try:
            return value is not _NOTHING and self.oracle.is_valid(value)
        except (ValueError, RecursionError):
            return False


_NOTHING = object()
"""In place of the value of a line that has none."""


def _value_or_nothing(line: bytes) -> object:
    try:
        return value_of(line)
    except (ValueError, RecursionError):
        return _NOTHING


def value_of(line: bytes) -> object:
    """The value of a line, as the standard library reads it.

    Raises:
        ValueError: there is none, or it has what the engine takes from nobody.
        RecursionError: it is too deep for the standard library.
    """
    text = line.decode("utf-8")
    # with every entry of an object: also those that do not count have to be plain
    if len(line) > MAX_LINE_BYTES or not _is_plain(json.loads(text, object_pairs_hook=list)):
        raise ValueError
    return json.loads(text)


def _is_plain(value: object, depth: int = 0) -> bool:
    """Whether numbers are finite doubles, texts can be written, and nothing is too deep."""
    match value:
        case list():
            return depth < MAX_DEPTH and all(_is_plain(each, depth + 1) for each in value)
        case tuple():
            return all(_is_plain(each, depth) for each in value)
        case str():
            return value.encode("utf-8", "replace").decode() == value
        case bool() | None:
            return True
        case int():
            return abs(value) < 2**1024
        case _:
            return math.isfinite(value)


def judges(skill_type: str, schema: Json, oracle: Draft202012Validator) -> Judges:
    assert record_type(skill_type, schema)[1], f"the type of {skill_type} does not decide"
    return Judges(
        decoder=Decoder({skill_type: schema}),
        rust=jsonschema_rs.Draft202012Validator(dict(schema), offline=True),
        oracle=oracle,
    )


@cache
def judges_of(skill_type: str) -> Judges:
    common = Resource.from_contents(json.loads(schema_path("record-1").read_bytes()))
    registry = Registry().with_resource("record-1.schema.json", common)
    source = installed().skill_types[skill_type].schema
    file = json.loads(source.read_bytes())
    return judges(skill_type, load_schema(source), Draft202012Validator(file, registry=registry))


def disagreements(asked: Judges, lines: Iterable[str]) -> Iterator[str]:
    """The lines of which not everyone says the same."""
    for text in lines:
        line = text.encode()
        value = _value_or_nothing(line)
        expected = asked.expected_of(value)
        agree = asked.decoded(line) == expected and (expected or not asked.is_fast(line))
        if not agree or _of_rust(asked.rust, value) not in (None, expected):
            yield text[:2000]


def _of_rust(rust: jsonschema_rs.Draft202012Validator, value: object) -> bool | None:
    """What jsonschema-rs says; nothing of a line without a value."""
    try:
        return None if value is _NOTHING else rust.is_valid(value)
    except (ValueError, RecursionError):
        return None
