"""Samples are valid, meet the requirements, and reach every corner of a schema."""

import json
from collections.abc import Iterable, Sequence
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
from tallystick_conformance.testing.record_checker import RecordChecker
from tallystick_conformance.testing.samples import SEED, large, line, of_type

Record = dict[str, Any]


@pytest.fixture(scope="module")
def memo(tmp_path_factory: pytest.TempPathFactory) -> SkillType:
    return skill_type(tmp_path_factory.mktemp("memos"))


@pytest.fixture(scope="module")
def made(memo: SkillType) -> Sequence[Record]:
    return of_type(memo)


def numbers(made: Iterable[Record], part: str, name: str) -> set[Any]:
    return {record[part][name] for record in made if name in record[part]}


@pytest.mark.nightly
def test_samples_are_valid_and_meet_the_requirements(
    memo: SkillType, made: Sequence[Record]
) -> None:
    oracle = Draft202012Validator(load_schema(memo.schema))
    assert len(made) > 150
    for record in made:
        assert not list(oracle.iter_errors(record))
        assert round(record["task"]["least"] * 1e9) < round(record["task"]["most"] * 1e9)


def test_samples_differ_and_follow_from_the_seed(memo: SkillType, made: Sequence[Record]) -> None:
    assert len(set(map(line, made))) == len(made)
    assert of_type.__wrapped__(memo, seed=SEED) == made
    assert of_type(memo, count=5, seed=SEED + 1)[0] != made[0]


def test_samples_are_at_the_ends_of_every_part(made: Sequence[Record]) -> None:
    assert {0, 100} <= numbers(made, "submission", "score")
    assert {0, 1} <= numbers(made, "checks", "style")
    assert {0} <= numbers(made, "task", "least")
    assert {10} <= numbers(made, "task", "most")
    assert numbers(made, "submission", "kind") == {"short", "long", "none"}
    assert {"note" in record["checks"] for record in made} == {True, False}
    assert None in numbers(made, "checks", "note")
    assert {0, 600} <= {len(record["submission"]["words"]) for record in made}
    assert {0, 4000} <= {len(record["submission"]["text"]) for record in made}


def test_large_records_are_valid_and_large_in_every_part(
    memo: SkillType,
) -> None:
    checker = RecordChecker(load_schema(memo.schema), memo.requirements)
    found = large(checker)
    assert all(checker.unmet(record) == [] for record in found)
    sizes = {(len(r["submission"]["words"]), len(r["submission"]["text"])) for r in found}
    assert sizes == {(0, 0), (0, 4000), (600, 0), (600, 4000)}


def test_ends_meet_a_requirement_that_they_break_at_first(memo: SkillType) -> None:
    narrow = require(
        number("checks.style") > number("submission.score") / 50,
        "narrow",
        path="checks.style",
        expected="more",
    )
    found = of_type(memo, (*memo.requirements, narrow), count=20)
    assert all(
        round(r["checks"]["style"] * 1e9) * 50 > r["submission"]["score"] * 10**9 for r in found
    )
    assert {0, 600} <= {len(r["submission"]["words"]) for r in found}


def test_what_no_record_meets_is_told(memo: SkillType) -> None:
    never = require(count("submission.words") > 700, "never", path="submission", expected="more")
    with pytest.raises(SchemaError, match="found no record of 'memo' that meets its requirements"):
        of_type(memo, (never,), count=3)


def test_examples_are_there_where_nothing_random_is_found(memo: SkillType, tmp_path: Path) -> None:
    exact = require(
        (least == number("checks.style")) & (most == 7), "exact", path="task", expected="it"
    )
    record = dict(of_type(memo, count=3)[0])
    record["task"] = {"least": 0.25, "most": 7}
    record["checks"] = {"style": 0.25}
    examples = tmp_path / "examples.jsonl"
    examples.write_text(json.dumps(record) + "\n")
    other = attrs.evolve(memo, requirements=(exact,), examples=examples)
    assert of_type(other, count=5) == (record,)


def test_examples_and_the_generator_come_first() -> None:
    workflow = installed().skill_types["workflow"]
    assert workflow.examples is not None
    first = json.loads(workflow.examples.read_text().splitlines()[0])
    found = of_type(workflow, count=1)
    assert found[0] == first
    assert any(record["task_id"].startswith("task-0") for record in found)
