"""The vectors of whole records, numbers, states and digests: up to date, and met by the engine."""

from collections import Counter

import pytest

from tallystick.errors import INTERNAL_ERROR
from tallystick.formula.formula import Requirement
from tallystick.plugins.registry import installed
from tallystick.records.rejects import CODES as REJECTS
from tallystick.rules.loading import shipped
from tallystick_state.ingest import CODES as REFUSALS
from vectors import engine
from vectors.cases import WHOLE, Case, load, load_whole
from vectors.generate import HERE, MAKERS, document

CASES = load_whole()
SHIPPED = shipped(installed())


@pytest.mark.parametrize("area", WHOLE)
def test_a_file_is_what_the_oracle_makes_of_it(area: str) -> None:
    assert (HERE / f"{area}.json").read_text(encoding="utf-8") == document(area), (
        "run python tests/vectors/generate.py"
    )


def test_every_area_is_made() -> None:
    assert tuple(MAKERS) == WHOLE
    found = Counter(case.id for case in [*CASES, *load()])
    assert found.most_common(1)[0][1] == 1


def test_every_code_of_a_reject_has_a_row() -> None:
    answers = [each for case in CASES if case.area == "rejects" for each in case.expected]
    codes = {code for each in answers for code in (each if isinstance(each, list) else [each])}
    requirements = {each.code for name in SHIPPED for each in requirements_of(name)}
    of_other_plugins = {"fact-failed", "invalid-record", "undecided"}
    of_no_record = {INTERNAL_ERROR}
    # the state of a vector keeps the rules that it began with
    of_adoptions = {"unknown-event"}
    every = {*REJECTS, *REFUSALS, *requirements}
    assert every - of_other_plugins - of_no_record - of_adoptions <= codes


def requirements_of(name: str) -> list[Requirement]:
    types = engine.scorer(name).types.values()
    return [requirement for bound in types for requirement, _ in bound.requirements]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_engine_gives_every_answer(case: Case) -> None:
    assert len(case.inputs) == len(case.expected) > 0
    for number, (given, expected) in enumerate(case.rows(), 1):
        found = engine.answer(case.op, case.rule_set, given, expected)
        assert found == expected, f"row {number}: {given}"
