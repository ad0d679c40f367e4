"""Samples are valid, meet the requirements, and reach every corner of a schema."""

import json
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import pytest
from conformance.memos import least, most, skill_type
from jsonschema import Draft202012Validator

from tallystick.errors import SchemaError
from tallystick.plugins.author import count, number, require
from tallystick.plugins.registry import installed
from tallystick.plugins.skill_type import SkillType
from tallystick.records.schema import load_schema
from tallystick_conformance.testing.samples import SEED, line, of_type, records

Record = dict[str, Any]


@pytest.fixture(scope="module")
def memo(tmp_path_factory: pytest.TempPathFactory) -> SkillType:
    return skill_type(tmp_path_factory.mktemp("memos"))


@pytest.fixture(scope="module")
def made(memo: SkillType) -> list[Record]:
    return records(load_schema(memo.schema), memo.requirements)


def numbers(made: Iterable[Record], part: str, name: str) -> set[Any]:
    return {record[part][name] for record in made if name in record[part]}


@pytest.mark.nightly
def test_samples_are_valid_and_meet_the_requirements(memo: SkillType, made: list[Record]) -> None:
    oracle = Draft202012Validator(load_schema(memo.schema))
    assert len(made) > 150
    for record in made:
        assert not list(oracle.iter_errors(record))
        assert round(record["task"]["least"] * 1e9) < round(record["task"]["most"] * 1e9)


def test_samples_differ_and_follow_from_the_seed(memo: SkillType, made: list[Record]) -> None:
    schema = load_schema(memo.schema)
    assert len(set(map(line, made))) == len(made)
    assert records(schema, memo.requirements, seed=SEED) == made
    assert records(schema, memo.requirements, count=5, seed=SEED + 1)[0] != made[0]


def test_numbers_are_at_their_ends_at_zero_and_in_the_middle(made: list[Record]) -> None:
    assert {0, 1, 2, 50, 99, 100} <= numbers(made, "submission", "score")
    assert {0, 0.5, 1} <= numbers(made, "checks", "style")
    assert {0, 5} <= numbers(made, "task", "least")
    assert {5, 10} <= numbers(made, "task", "most")


def test_numbers_are_where_doubles_are_awkward(made: list[Record]) -> None:
    styles = numbers(made, "checks", "style")
    ties = [n for n in styles if (Fraction(n) * 10**9 * 2).denominator != 1]
    assert {0.1 + 0.2, 1 / 3, 5e-10, 2.5e-9} <= set(ties)


def test_lists_are_empty_single_full_and_repeated(made: list[Record]) -> None:
    lists = [record["submission"]["words"] for record in made]
    assert {0, 1, 2, 24} <= set(map(len, lists))
    assert any(len(words) > 2 and len(set(words)) == 1 for words in lists)
    assert any(len(words) > 20 and len(set(words)) == len(words) for words in lists)


def test_options_are_each_taken_and_fields_left_out(made: list[Record]) -> None:
    assert numbers(made, "submission", "kind") == {"short", "long", "none"}
    assert {"note" in record["checks"] for record in made} == {True, False}
    assert None in numbers(made, "checks", "note")
    assert {len(record["submission"]["text"]) for record in made} >= {0, 1, 2, 24}


def test_corners_meet_a_requirement_that_they_break_at_first(memo: SkillType) -> None:
    narrow = require(
        number("checks.style") > number("submission.score") / 50,
        "narrow",
        path="checks.style",
        expected="more",
    )
    found = records(load_schema(memo.schema), [*memo.requirements, narrow], count=20)
    assert all(
        round(r["checks"]["style"] * 1e9) * 50 > r["submission"]["score"] * 10**9 for r in found
    )
    assert {0, 24} <= {len(r["submission"]["words"]) for r in found}


def test_what_no_record_meets_is_told(memo: SkillType) -> None:
    never = require(count("submission.words") > 300, "never", path="submission", expected="more")
    with pytest.raises(SchemaError, match="found no record of 'memo' that meets its requirements"):
        records(load_schema(memo.schema), [never], count=3)


def test_examples_stand_in_where_nothing_random_is_found(memo: SkillType, tmp_path: Path) -> None:
    exact = require(
        (least == number("checks.style")) & (most == 7), "exact", path="task", expected="it"
    )
    record = records(load_schema(memo.schema), memo.requirements, count=3)[0]
    record["task"] = {"least": 0.25, "most": 7}
    record["checks"] = {"style": 0.25}
    examples = tmp_path / "examples.jsonl"
    examples.write_text(json.dumps(record) + "\n")
    other = attrs.evolve(memo, requirements=(exact,), examples=examples)
    found = of_type(other, count=5)
    assert len(found) > 50
    assert all(r["task"]["least"] == r["checks"]["style"] for r in found)
    assert {0, 100} <= numbers(found, "submission", "score")


def test_examples_and_the_generator_come_first() -> None:
    workflow = installed().skill_types["workflow"]
    assert workflow.examples is not None
    first = json.loads(workflow.examples.read_text().splitlines()[0])
    found = of_type(workflow)
    assert found[0] == first
    assert any(record["task_id"].startswith("task-0") for record in found)
