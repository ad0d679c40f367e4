"""A concrete record: one whose facts are the integers that a solver found.

What the facts leave open is taken from a record that is valid already: its fields are set, its
texts are written, its lists made of as many items as the facts count, differ in and share. Whether
the record has the facts is asked of the engine; where none was found that has them there is none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from tallystick.errors import RecordError, SchemaError
from tallystick.formula.facts import Json, drafts
from tallystick.formula.schema_path import Schema, alternatives_of, type_of
from tallystick.plugins.generator import Draw
from tallystick.records.struct_builder import Record
from tallystick.scoring.scorer import Scorer
from tallystick.testing.random_records import RandomRecords
from tallystick.testing.random_values import DEPTH, value_maker

_DRAWS = 20
"""How many records are made from a schema to start from."""
_DRAFTS = 50
"""How many records are tried that may have the facts."""


def bases(scorer: Scorer, skill_type: str) -> Iterator[Json]:
    """Valid records of a type to start from: its examples, then some made from its schema."""
    offered = scorer.registry.skill_types[skill_type]
    if offered.examples is not None:
        for line in offered.examples.read_bytes().splitlines():
            yield from _usable(scorer, skill_type, json.loads(line))
    made = RandomRecords(scorer.types[skill_type].schema)
    for number in range(_DRAWS):
        try:
            record = made.record(Draw.of("witness", number))
        except SchemaError:
            return
        yield from _usable(scorer, skill_type, record)


def concrete_record_of(
    scorer: Scorer, skill_type: str, values: Mapping[str, int], base: Mapping[str, Any]
) -> Json | None:
    """A record of a type that has some facts, or None if none was found.

    Args:
        scorer: the rule set, whose formulas read the facts.
        skill_type: the type.
        values: by digest, the integers of some facts of ``BoundType.facts``; others may be any.
        base: a valid record, which everything else is taken from.
    """
    bound = scorer.types[skill_type]
    demands = [(fact, values[fact.digest]) for fact in bound.facts if fact.digest in values]
    for record in islice(drafts(demands, base, bound.schema, _made(bound.schema)), _DRAFTS):
        found = _facts(scorer, skill_type, record)
        if found is not None and all(found[fact.digest] == value for fact, value in demands):
            return record
    return None


def _made(schema: Schema) -> Callable[[Schema, str, int], Any]:
    """What makes a value of a part of a schema that people can read, or any that is valid."""

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


def _usable(scorer: Scorer, skill_type: str, record: Json) -> Iterator[Json]:
    if record.get("skill_type") == skill_type and _facts(scorer, skill_type, record) is not None:
        yield record


def _facts(scorer: Scorer, skill_type: str, record: Json) -> Mapping[str, int] | None:
    """The facts of a record by digest, or None if it is no record that is scored."""
    bound, found = scorer.types[skill_type], scorer.decoder.convert(record, 1)
    if not isinstance(found, Record):
        return None
    try:
        return dict(zip((f.digest for f in bound.facts), bound.facts_of(found), strict=True))
    except RecordError:
        return None
