"""The typed decoder, jsonschema-rs and jsonschema agree on which records there are."""

import json
from collections.abc import Iterator
from random import Random

import pytest
from examples import fast_rows
from records.judges import Json, disagreements, judges_of
from records.mutations import MUTATIONS, Holder, mutated, places, text_of

from tallystick.formula.schema_path import ANSWER
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.plugins.generator import Draw
from tallystick.plugins.registry import installed
from tallystick.records.schema import load_schema
from tallystick_conformance.testing.random_records import RandomRecords

TYPES = sorted(installed().skill_types)
SCHEMAS = {name: load_schema(each.schema) for name, each in installed().skill_types.items()}
FEW = 100
"""Lines of a type in the suite that always runs."""
MANY = 2_000


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


@pytest.mark.parametrize("skill_type", fast_rows(TYPES, -1, 2))
def test_everyone_agrees_on_mutated_records(skill_type: str) -> None:
    texts = [text for _, text in lines_of(skill_type, FEW, seed=1)]
    assert len(texts) > FEW * 0.9
    assert list(disagreements(judges_of(skill_type), texts)) == []


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("skill_type", TYPES)
def test_everyone_agrees_on_very_many_mutated_records(skill_type: str, part: int) -> None:
    texts = (text for _, text in lines_of(skill_type, MANY // 2, seed=100 + part))
    assert list(disagreements(judges_of(skill_type), texts)) == []


@pytest.mark.parametrize("skill_type", fast_rows(TYPES, -1, 2))
def test_everyone_accepts_what_was_not_mutated(skill_type: str) -> None:
    asked = judges_of(skill_type)
    for seed in range(20):
        line = text_of(random_record(skill_type, seed)).encode()
        assert asked.expected(line)
        assert asked.decoded(line)
        assert asked.rust.is_valid(json.loads(line))
        record = json.loads(line)
        answer = {*ANSWER} & SCHEMAS[skill_type]["properties"].keys()
        assert asked.is_fast(line) == (answer <= record.keys())


@pytest.mark.parametrize("skill_type", fast_rows(TYPES, -1, 2))
def test_everyone_agrees_on_null_and_on_nothing_in_every_place(skill_type: str) -> None:
    asked = judges_of(skill_type)
    for seed in range(1, 2):
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
