"""Samples: valid records of a skill type that meet its requirements, usual and at their ends.

They follow from the schema, the requirements and a seed alone, also under another hash seed: the
checks of a plugin compare what two processes make of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import count as numbers
from itertools import islice
from typing import Any

import msgspec

from tallystick.errors import SchemaError, TallystickError
from tallystick.formula.formula import Requirement
from tallystick.plugins.generator import Draw
from tallystick.plugins.skill_type import SkillType
from tallystick.records.schema import load_schema, skill_type_of
from tallystick_conformance.testing.history import history_of
from tallystick_conformance.testing.random_records import RandomRecords
from tallystick_conformance.testing.record_checker import RecordChecker

JSON = dict[str, Any]
"""A record as a mapping of JSON values."""

COUNT = 100
"""Number of usual records, and of those that are at the ends of their ranges here and there."""
SEED = 1

_TRIES, _TRIES_AT_ENDS = 40, 8
"""Maximum numbers of records that are tried for one that meets the requirements."""
_USUAL, _AT_ENDS, _LARGE = (0, 0, 0, 8), (20, 50), (100,)
"""Values of 100 that are as small or as large as they may be, in turns."""
_LARGE_COUNT = 16
_OF_A_NETWORK = 24


@lru_cache(maxsize=64)
def of_type(
    skill_type: SkillType,
    requirements: tuple[Requirement, ...] | None = None,
    count: int = COUNT,
    seed: int = SEED,
) -> tuple[JSON, ...]:
    """Return different records of a type: its examples, those of its generator, and made-up ones.

    Args:
        skill_type: the type.
        requirements: all that must hold; None asks for those of the type.
        count: how many are usual, if so many are found; as many are at the ends of their ranges.
        seed: equal ones give equal records.

    Raises:
        SchemaError: no record was found that meets the requirements.
    """
    must_hold = skill_type.requirements if requirements is None else requirements
    checker = RecordChecker(load_schema(skill_type.schema), must_hold)
    candidates = [*examples_of(skill_type), *_of_generator(skill_type, seed)]
    valid = [record for record in candidates if checker.unmet(record) == []]
    usual = _made(checker, seed, _USUAL, count, count * _TRIES)
    if not usual and not valid:
        raise SchemaError(
            f"found no record of {skill_type_of(checker.schema)!r} that meets its requirements in "
            f"{count * _TRIES} that its schema allows, expected some: give it examples"
        )
    at_ends = _made(checker, seed, _AT_ENDS, count, count * _TRIES_AT_ENDS)
    return tuple(_distinct([*valid, *usual, *at_ends]))


def large(checker: RecordChecker) -> list[JSON]:
    """Return valid records of which each part is as small or as large as it may be."""
    return _made(checker, SEED, _LARGE, _LARGE_COUNT, _LARGE_COUNT * _TRIES_AT_ENDS)


def line(record: Mapping[str, Any]) -> bytes:
    """Return the record as a line of a file, without its line end."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()


def plain(checker: RecordChecker, record: Mapping[str, Any]) -> JSON:
    """Return the record as an opaque fact gets it: what is left out, null or empty is missing."""
    made: JSON = msgspec.to_builtins(checker.decoded(record))
    return made


def _made(
    checker: RecordChecker, seed: int, edges: Sequence[int], count: int, tries: int
) -> list[JSON]:
    """Return some records of a number of tries that meet the requirements."""
    tried = islice(_random(checker, seed, edges), tries)
    return list(islice((record for record in tried if checker.unmet(record) == []), count))


def _random(checker: RecordChecker, seed: int, edges: Sequence[int]) -> Iterator[JSON]:
    """Yield records without an end that are valid under the schema, some of them at edges."""
    make, name = RandomRecords(checker.schema), skill_type_of(checker.schema)
    for number in numbers():
        turn = edges[number % len(edges)]
        yield make.record(Draw.of(seed, name, turn, number), turn)


def _distinct(found: Iterable[JSON]) -> list[JSON]:
    return list({line(record): record for record in found}.values())


def generated(skill_type: SkillType, seed: int) -> list[bytes]:
    """Return lines of a network's history that the generator of a type makes; none without one.

    Raises:
        PluginError: the generator fails.
        SchemaError: the schema refuses one of its records.
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
    except TallystickError:
        return []
