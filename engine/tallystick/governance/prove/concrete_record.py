"""A witness: a real record whose facts are the integers that a solver found.

What the facts leave open is taken from a record that is valid already. Whether the record has the
facts is asked of the engine; where no record was found that has them there is no witness.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tallystick.errors import RecordError, SchemaError
from tallystick.governance.prove.fields import Demand, Shown, drop, fill, put, texts
from tallystick.governance.prove.items import lists
from tallystick.plugins.generator import Draw
from tallystick.records.struct_builder import Record
from tallystick.scoring.scorer import Scorer
from tallystick.testing.random_records import RandomRecords

_DRAWS = 20
"""How many records are made from a schema to start from."""
_WAYS = 50
"""How many ways to write the texts are tried."""


def bases(scorer: Scorer, skill_type: str) -> Iterator[Shown]:
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


def witness(
    scorer: Scorer, skill_type: str, values: Mapping[str, int], base: Mapping[str, Any]
) -> Shown | None:
    """A record of a type that has some facts, or None if none was found.

    Args:
        scorer: the rule set, whose formulas read the facts.
        skill_type: the type.
        values: by digest, the integers of some facts of ``BoundType.facts``; others may be any.
        base: a valid record, which everything else is taken from.
    """
    bound = scorer.types[skill_type]
    demands = [(fact, values[fact.digest]) for fact in bound.facts if fact.digest in values]
    for _, chosen in zip(range(_WAYS), texts(demands), strict=False):
        record = _written(scorer, skill_type, base, demands, chosen)
        found = _facts(scorer, skill_type, record)
        if found is not None and all(found[fact.digest] == value for fact, value in demands):
            return record
    return None


def _written(
    scorer: Scorer,
    skill_type: str,
    base: Mapping[str, Any],
    demands: list[Demand],
    chosen: Mapping[str, str | None],
) -> Shown:
    record: Shown = copy.deepcopy(dict(base))
    fill(record, demands, scorer.types[skill_type].schema)
    for path, text in chosen.items():
        if text is None:
            drop(record, path.split("."))
        else:
            put(record, path.split("."), text)
    for path, items in lists(demands, scorer.types[skill_type].schema):
        put(record, path.split("."), items)
    return record


def _usable(scorer: Scorer, skill_type: str, record: Shown) -> Iterator[Shown]:
    if record.get("skill_type") == skill_type and _facts(scorer, skill_type, record) is not None:
        yield record


def _facts(scorer: Scorer, skill_type: str, record: Shown) -> Mapping[str, int] | None:
    """The facts of a record by digest, or None if it is no record that is scored."""
    bound, found = scorer.types[skill_type], scorer.decoder.convert(record, 1)
    if not isinstance(found, Record):
        return None
    try:
        return dict(zip((f.digest for f in bound.facts), bound.facts_of(found), strict=True))
    except RecordError:
        return None
