"""A concrete record: one whose facts are given integers, such as a solver finds.

What the facts leave open is taken from a record that is valid already: its fields are set, its
texts are written, its lists made of as many items as the facts count, differ in and share. Whether
the record has the facts is asked of the engine; where none was found that has them there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from tallystick.errors import RecordError, SchemaError
from tallystick.formula.facts import drafts
from tallystick.formula.schema_path import Schema, alternatives_of, type_of
from tallystick.plugins.generator import Draw
from tallystick.plugins.skill_type import SkillType
from tallystick_conformance.testing.random_records import RandomRecords
from tallystick_conformance.testing.random_values import DEPTH, value_maker
from tallystick_conformance.testing.record_checker import FactReader
from tallystick_conformance.testing.samples import JSON, examples_of

_DRAWS = 20
"""Number of records that are made from a schema to start from."""
_DRAFTS = 50
"""Maximum number of records that are tried for the facts."""


def bases(skill_type: SkillType, reader: FactReader) -> Iterator[JSON]:
    """Valid records of a type to start from: its examples, then some made from its schema."""
    yield from (
        record for record in examples_of(skill_type) if _integers(reader, record) is not None
    )
    made = RandomRecords(reader.schema)
    for number in range(_DRAWS):
        try:
            record = made.record(Draw.of("witness", number))
        except SchemaError:
            return
        if _integers(reader, record) is not None:
            yield record


def concrete_record_of(
    reader: FactReader, values: Mapping[str, int], base: Mapping[str, Any]
) -> JSON | None:
    """Return a record that has some facts, or None if none was found.

    Args:
        reader: takes the facts of records of the type.
        values: by digest, the integers of some facts of the reader; others may be any.
        base: a valid record, which everything else is taken from.
    """
    demands = [(fact, values[fact.digest]) for fact in reader.facts if fact.digest in values]
    made = _value_maker(reader.schema)
    for record in islice(drafts(demands, base, reader.schema, made), _DRAFTS):
        integers = _integers(reader, record)
        if integers is not None and all(integers[fact.digest] == value for fact, value in demands):
            return record
    return None


def _value_maker(schema: Schema) -> Callable[[Schema, str, int], Any]:
    """Return a maker of values of a part of a schema that people can read, or of any valid ones."""

    def make(kind: Schema, name: str, number: int) -> Any:  # noqa: ANN401  # a JSON value
        text = f"{name}-{number + 1}"
        if type_of(kind) == "object":
            required, fields = kind.get("required", ()), kind.get("properties", {})
            return {
                field: make(alternatives_of(fields[field], schema)[0][0], name, number)
                for field in required
            }
        if type_of(kind) == "string" and not kind.keys() & {"const", "enum", "pattern", "format"}:
            return text[: kind.get("maxLength")]
        return value_maker(schema, kind)(Draw.of(text), 0, DEPTH)

    return make


def _integers(reader: FactReader, record: JSON) -> Mapping[str, int] | None:
    """Return the facts of a record by digest, or None if it is no record that is scored."""
    try:
        return reader.integers(record)
    except RecordError:
        return None
