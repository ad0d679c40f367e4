"""The engine gives every answer of the vectors, which are those of the oracle, and none is lost."""

import json
from collections import Counter
from pathlib import Path

import pytest
from examples import fast_rows

from tallystick.errors import INTERNAL_ERROR
from tallystick.formula.formula import Requirement
from tallystick.plugins.registry import installed
from tallystick.records.rejects import CODES as REJECTS
from tallystick.rules.loading import shipped
from tallystick_state.ingest import CODES as REFUSALS
from vectors import engine
from vectors.cases import WHOLE, Case, load, load_whole, wanted
from vectors.generate import HERE, document

CASES = [*load(), *load_whole()]
ROWS = {
    "axes": 54,
    "composites": 9,
    "tiers": 8,
    "emission": 16,
    "workflow": 13,
    "state": 31,
    "rows": 456,
    "numbers": 283,
    "states": 338,
    "digests": 452,
    "rejects": 100,
}
"""The number of rows of each area: one that is taken away is taken away here too."""


@pytest.mark.smoke
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_engine_gives_every_answer(case: Case) -> None:
    assert len(case.inputs) == len(case.expected) > 0
    # of a consensus the band too, which is no part of a row
    whole = case.op == "consensus"
    expected = [answer if whole else wanted(case, answer) for answer in case.expected]
    assert engine.answers(case) == expected
    if engine.has_columns(case):
        assert engine.answers_by_columns(case) == expected


def test_no_row_is_lost() -> None:
    rows = Counter[str]()
    for case in CASES:
        rows[case.area] += len(case.inputs)
    assert rows == ROWS
    assert len({case.id for case in CASES}) == len(CASES)


@pytest.mark.parametrize("area", fast_rows(WHOLE, 1, -1))
def test_a_file_is_what_the_oracle_makes_of_it(area: str) -> None:
    assert (HERE / f"{area}.json").read_text(encoding="utf-8") == document(area), (
        "run python tests/vectors/generate.py"
    )


def test_every_code_of_a_reject_has_a_row() -> None:
    answers = [each for case in CASES if case.area == "rejects" for each in case.expected]
    codes = {code for each in answers for code in (each if isinstance(each, list) else [each])}
    requirements = {each.code for name in shipped(installed()) for each in requirements_of(name)}
    of_other_plugins = {"fact-failed", "invalid-record", "undecided"}
    of_no_record = {INTERNAL_ERROR}
    # the state of a vector keeps the rules that it began with
    of_adoptions = {"unknown-event"}
    every = {*REJECTS, *REFUSALS, *requirements}
    assert every - of_other_plugins - of_no_record - of_adoptions <= codes


def requirements_of(name: str) -> list[Requirement]:
    types = engine.scorer(name).types.values()
    return [requirement for bound in types for requirement in bound.required]


def test_no_case_of_a_real_subnet_is_lost() -> None:
    document = json.loads((Path(__file__).parent / "subnets.json").read_bytes())
    assert document["format"] == "tallystick-subnet-cases/1"
    cases = document["cases"]
    assert len({case["id"] for case in cases}) == len(cases) == 52
    assert all({"id", "input", "exact_nano", "upstream"} <= case.keys() for case in cases)
