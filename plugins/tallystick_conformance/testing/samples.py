"""Samples: valid records of a skill type that meet its requirements, random and at the boundaries.

They follow from the schema, the requirements and a seed alone, also under another hash seed: the
checks of a plugin compare what two processes make of them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any

import msgspec

from tallystick.errors import SchemaError
from tallystick.formula.facts import reader_of
from tallystick.formula.formula import Requirement
from tallystick.formula.schema_path import ANSWER, steps
from tallystick.formula.tree import Node, leaves
from tallystick.plugins.generator import Draw
from tallystick.plugins.skill_type import SkillType
from tallystick.records.schema import Schema, load_schema, skill_type_of
from tallystick_conformance.testing.boundary_values import FULL, Boundary, built, changed
from tallystick_conformance.testing.history import history_of
from tallystick_conformance.testing.random_records import RandomRecords
from tallystick_conformance.testing.record_checker import RecordChecker

JSON = dict[str, Any]
"""A record as a mapping of JSON values."""

COUNT = 100
"""Number of random records; as many have a boundary of its own in every place."""
SEED = 1
MOST_BOUNDARIES = 500
"""Maximum number of records changed in one place; of more, every second, third … is kept."""

_TRIES = 40
_EDGES = (0, 0, 0, 8)
_OF_A_NETWORK = 24
_TURNS = 16
_BASES = 6


def records(
    schema: Schema,
    requirements: Iterable[Requirement] = (),
    count: int = COUNT,
    seed: int = SEED,
) -> list[JSON]:
    """Valid records that meet the requirements, each with a submission; different ones.

    Args:
        schema: the self-contained schema of a skill type.
        requirements: those of the type, and perhaps of a rule set.
        count: how many are random, if so many are found; the boundaries come on top.
        seed: equal ones give equal records.

    Raises:
        SchemaError: no record was found that meets the requirements.
    """
    checker = RecordChecker(schema, tuple(requirements))
    return _distinct(_made(checker, (), count, seed))


@lru_cache(maxsize=64)
def of_type(
    skill_type: SkillType,
    requirements: tuple[Requirement, ...] | None = None,
    count: int = COUNT,
    seed: int = SEED,
) -> tuple[JSON, ...]:
    """Return ``records`` with the examples of the type and the first records of its generator.

    Args:
        skill_type: the type.
        requirements: all that must hold; None asks for those of the type.
        count: as in ``records``.
        seed: as in ``records``.

    Raises:
        SchemaError: no record was found that meets the requirements.
    """
    must_hold = skill_type.requirements if requirements is None else requirements
    checker = RecordChecker(load_schema(skill_type.schema), must_hold)
    candidates = [*examples_of(skill_type), *_of_generator(skill_type, seed)]
    valid = [record for record in candidates if checker.unmet(record) == []]
    return tuple(_distinct([*valid, *_made(checker, valid, count, seed)]))


def largest(
    checker: RecordChecker, donors: Sequence[JSON], size: Fraction, letters: str
) -> JSON | None:
    """A record of which everything is that share of its largest; None if there is no such."""
    record = _whole(checker.schema, Boundary(0, size, letters=letters))
    return repaired(checker, record, donors)


def repaired(checker: RecordChecker, record: JSON, donors: Sequence[JSON]) -> JSON | None:
    """Return the record, with what its unmet requirements read taken from one that meets them."""
    unmet = checker.unmet(record)
    for donor in islice(donors, _TRIES):
        if not unmet:
            break
        paths = {p for r in unmet for f in leaves(r.condition, "fact") for p in _paths(f)}
        record = deepcopy(record)
        for path in sorted(paths):
            _copy(path.split("."), donor, record)
        unmet = checker.unmet(record)
    return record if unmet == [] else None


def line(record: Mapping[str, Any]) -> bytes:
    """Return the record as a line of a file, without its line end."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()


def plain(checker: RecordChecker, record: Mapping[str, Any]) -> JSON:
    """Return the record as an opaque fact gets it: what is left out, null or empty is missing."""
    made: JSON = msgspec.to_builtins(checker.decoded(record))
    return made


def _made(checker: RecordChecker, given: Sequence[JSON], count: int, seed: int) -> list[JSON]:
    """Random records and boundaries; those that are given stand in where none is found."""
    drawn = list(islice(_random(checker, count * _TRIES, seed), count))
    donors = [*drawn, *given]
    if not donors:
        raise SchemaError(
            f"found no record of {skill_type_of(checker.schema)!r} that meets its requirements in "
            f"{count * _TRIES} that its schema allows, expected some: give it examples"
        )
    boundaries = [*_uniform(checker.schema), *_mixed(checker.schema, count, seed)]
    repairs = (repaired(checker, record, donors) for record in boundaries)
    valid = [record for record in repairs if record is not None]
    return [*drawn, *valid, *_thinned(_changed(checker, donors[:_BASES]))]


def _random(checker: RecordChecker, tries: int, seed: int) -> Iterator[JSON]:
    make, name = RandomRecords(checker.schema), skill_type_of(checker.schema)
    for number in range(tries):
        record = make.record(Draw.of(seed, name, number), _EDGES[number % len(_EDGES)])
        if checker.unmet(record) == []:
            yield record


def _uniform(schema: Schema) -> Iterator[JSON]:
    """Records that are at the same boundary everywhere."""
    for turn in range(_TURNS):
        for size, same in ((0, False), (1, False), (FULL, False), (FULL, True)):
            for present in (True, False):
                yield _whole(schema, Boundary(turn, size, same=same, present=present))


def _mixed(schema: Schema, count: int, seed: int) -> Iterator[JSON]:
    """Records that are at another boundary in each place."""
    for number in range(count):
        yield _whole(schema, Boundary(draw=Draw.of(seed, "corner", number)))


def _changed(checker: RecordChecker, bases: Sequence[JSON]) -> list[JSON]:
    """Records changed in one place; what one of them cannot be, another one may."""
    top, done, records = _top(checker.schema), set[tuple[str, int]](), list[JSON]()
    for base in bases:
        turns: Counter[str] = Counter()
        for path, record in changed(base, top, checker.schema):
            turns[path] += 1
            key = path, turns[path]
            if key not in done and checker.unmet(record) == []:
                done.add(key)
                records.append(record)
    return records


def _whole(schema: Schema, boundary: Boundary) -> JSON:
    made: JSON = built(_top(schema), schema, boundary)
    return made


def _top(schema: Schema) -> Schema:
    """The schema with all that a record with an answer has required, and without conditions."""
    answer = [name for name in ANSWER if name in schema.get("properties", {})]
    parts = {name: part for name, part in schema.items() if name not in ("if", "then", "else")}
    return {**parts, "required": [*schema.get("required", ()), *answer]}


def _thinned(found: list[JSON]) -> list[JSON]:
    step = -(-len(found) // MOST_BOUNDARIES)
    return found[:: max(1, step)]


def _distinct(found: Iterable[JSON]) -> list[JSON]:
    return list({line(record): record for record in found}.values())


def generated(skill_type: SkillType, seed: int) -> list[bytes]:
    """Return lines of a network's history that the generator of a type makes; none without one.

    Raises:
        SchemaError: the schema refuses one of its records; and whatever the generator raises.
    """
    if skill_type.generator is None:
        return []
    sizes = {"miners": 8, "validators": 2, "epochs": 2, "rounds": 3}
    return list(history_of(seed, [skill_type], **sizes).lines(_OF_A_NETWORK))


def examples_of(skill_type: SkillType) -> Iterator[JSON]:
    """Yield the examples of a type that are JSON objects, valid or not."""
    path = skill_type.examples
    for text in path.read_bytes().splitlines() if path is not None and path.is_file() else ():
        with suppress(ValueError):
            record = json.loads(text)
            if isinstance(record, dict):
                yield record


def _of_generator(skill_type: SkillType, seed: int) -> list[JSON]:
    """Return the generator's records; another check reports why it makes none."""
    try:
        return [json.loads(line) for line in generated(skill_type, seed)]
    except Exception:  # noqa: BLE001  # a generator is code of the plugin
        return []


def _paths(fact: Node) -> list[str]:
    """Return the paths where a fact looks, up to the first list or map; none for an opaque one."""
    return [_plain_part(path) for path in reader_of(fact).paths(fact)]


def _plain_part(path: str) -> str:
    names: list[str] = []
    for step in steps(path):
        if step.name == "*":
            break
        names.append(step.name)
        if step.many:
            break
    return ".".join(names)


def _copy(names: Sequence[str], source: Any, target: Any) -> None:  # noqa: ANN401  # JSON values
    """Make a place of one record what it is in another; left out where it is not there."""
    *before, last = names
    for name in before:
        source = source.get(name) if isinstance(source, dict) else None
        target = target.get(name) if isinstance(target, dict) else None
    if not isinstance(target, dict):
        return
    if isinstance(source, dict) and last in source:
        target[last] = deepcopy(source[last])
    else:
        target.pop(last, None)
