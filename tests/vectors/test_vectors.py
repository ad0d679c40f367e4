"""The vector files keep their format, and lose no case."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from vectors.builders import RECORDS
from vectors.cases import AREAS, AXES, Case, load

pytestmark = pytest.mark.smoke

CASES = load()
DECIMAL_ANSWER = re.compile(r"-?\d+\.\d{9}")
NUMBERS = (
    *(1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 20, 22, 24, 25, 26, 28, 29),
    *(30, 31, 33, 35, 36, 38, 40, 41, 43, 44, 45, 47, 48, 49),
    *(50, 51, 52),
)


def decimals_of(answer: Any) -> list[str]:  # noqa: ANN401  # any JSON value
    """Every number written as text within an answer."""
    if isinstance(answer, dict):
        return [text for value in answer.values() for text in decimals_of(value)]
    return [answer] if isinstance(answer, str) and answer[:1] in "-0123456789" else []


def test_every_case_is_kept_once() -> None:
    assert sorted(case.id for case in CASES) == [f"G{number:02}" for number in NUMBERS]


def test_every_area_and_row_is_kept() -> None:
    rows = Counter[str]()
    for case in CASES:
        rows[case.area] += len(case.inputs)
    assert rows == {
        "axes": 54,
        "composites": 9,
        "tiers": 8,
        "emission": 16,
        "workflow": 13,
        "state": 31,
    }
    assert tuple(rows) == AREAS


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_row_has_one_answer(case: Case) -> None:
    assert len(case.inputs) == len(case.expected) > 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_answers_have_nine_places(case: Case) -> None:
    texts = [text for answer in case.expected for text in decimals_of(answer)]
    if case.op == "group_selection":
        texts.remove("2 distinct members of auditor_pool, uniform")
    assert all(DECIMAL_ANSWER.fullmatch(text) for text in texts)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_rule_set_owns_the_operation(case: Case) -> None:
    of_workflows = {"workflow_score", "unplanned_retries", "window_mean", "weight_cap"}
    name, version = case.rule_set.split("@")
    assert name == ("workflow" if case.op in of_workflows else "skills")
    assert version in {"1.0.0", "1.1.0", "1.2.0"}


def test_every_operation_on_a_record_has_a_builder() -> None:
    given = {"composite_q", "tier", "emission"}
    scored = {case.op for case in CASES if case.area != "state"} - given
    assert scored == set(RECORDS) - {"sigma"}
    assert set(AXES) <= set(RECORDS)


def test_the_cases_of_real_subnets_keep_their_form() -> None:
    document = json.loads((Path(__file__).parent / "subnets.json").read_bytes())
    assert document["format"] == "tallystick-subnet-cases/1"
    cases = document["cases"]
    assert len({case["id"] for case in cases}) == len(cases) == 52
    assert Counter((case["subnet"], case["kind"]) for case in cases) == {
        ("phylax", "behavioural"): 8,
        ("phylax", "vote"): 4,
        ("phylax", "repositories"): 2,
        ("phylax", "allocation"): 6,
        ("phylax", "round"): 2,
        ("chutes", "features"): 4,
        ("chutes", "weights"): 10,
        ("gittensor", "base"): 6,
        ("gittensor", "decay"): 4,
        ("cswon", "weights"): 6,
    }
    page = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
    for case in cases:
        assert f"| {case['subnet']}, `{case['kind']}` |" in page
        assert {"id", "input", "exact_nano", "upstream"} <= case.keys()
        assert all(f"`{key}`" in page for key in case)
