"""The vectors of whole records, numbers, states and digests: up to date, and met by the engine."""

from collections import Counter

import pytest

from vectors import engine
from vectors.cases import WHOLE, Case, load, load_whole
from vectors.generate import HERE, MAKERS, document

CASES = load_whole()


@pytest.mark.parametrize("area", WHOLE)
def test_a_file_is_what_the_oracle_makes_of_it(area: str) -> None:
    assert (HERE / f"{area}.json").read_text(encoding="utf-8") == document(area), (
        "run python tests/vectors/generate.py"
    )


def test_every_area_is_made() -> None:
    assert tuple(MAKERS) == WHOLE
    found = Counter(case.id for case in [*CASES, *load()])
    assert found.most_common(1)[0][1] == 1


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_engine_gives_every_answer(case: Case) -> None:
    assert len(case.inputs) == len(case.expected) > 0
    for number, (given, expected) in enumerate(case.rows(), 1):
        found = engine.answer(case.op, case.rule_set, given, expected)
        assert found == expected, f"row {number}: {given}"
