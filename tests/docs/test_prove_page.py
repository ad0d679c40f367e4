"""``docs/prove.md`` has every answer, option and property, and says what the proofs say."""

from collections import Counter
from collections.abc import Mapping

import attrs
import pytest
from governance.promised import answers
from manual.page import Page
from manual.table import rows_of

import tallystick
from tallystick_governance.prove.built_in_properties import BUILT_IN, questions
from tallystick_governance.prove.consensus import LAWS
from tallystick_governance.prove.property import Answer
from tallystick_governance.prove.proving import BUDGET, MILLION, PATIENCE, REQUEST
from tallystick_governance.prove.subject import subject_of

_PAGE = Page.of("docs/prove.md")
_RULE_SETS = ("skills@1.0.0", "skills@1.1.0", "workflow@1.0.0", "workflow@1.1.0")
_NAMES = {"proved": "proved", "counterexample": "refuted", "undecided": "undecided"}


def _asked() -> Mapping[str, str]:
    """Every property with its claim: those of every type first, those of groups last."""
    found = dict.fromkeys(BUILT_IN, "")
    for reference in _RULE_SETS:
        scorer = tallystick.load(reference)
        for name in scorer.types:
            found |= {each.name: each.summary for each in questions(subject_of(scorer, name))}
    return {**found, **LAWS.summaries}


def _cell(reference: str, name: str) -> str:
    counts = Counter(each.status for each in answers(reference) if each.property == name)
    return ", ".join(f"{counts[key]} {word}" for key, word in _NAMES.items() if counts[key]) or "–"


def test_every_status_and_key_of_an_answer_is_documented() -> None:
    cells = _PAGE.section("Answers").first_cells()
    assert cells[:3] == list(_NAMES)
    assert sorted(cells[3:]) == sorted(field.name for field in attrs.fields(Answer))


def test_every_property_that_is_asked_of_every_type_is_documented() -> None:
    assert _PAGE.section("What is asked").differs_from(list(BUILT_IN)) == []


def test_every_property_of_the_shipped_plugins_is_listed_with_its_claim() -> None:
    rows = rows_of(_PAGE.section("The shipped rule sets"))
    assert {row[0]: row[1] for row in rows} == {f"`{k}`": v for k, v in _asked().items()}


def test_the_limits_are_documented() -> None:
    said = _PAGE.section("The budget").prose
    assert f"{BUDGET // MILLION} million steps" in said
    assert f"{BUDGET // MILLION // REQUEST} million for one request" in said
    assert f"{PATIENCE} times that for a question" in said


@pytest.mark.nightly
@pytest.mark.parametrize("reference", _RULE_SETS)
def test_the_results_are_those_of_the_proofs(reference: str) -> None:
    place = 2 + _RULE_SETS.index(reference)
    rows = rows_of(_PAGE.section("The shipped rule sets"))
    expected = {row[0]: _cell(reference, row[0].strip("`")) for row in rows}
    assert {row[0]: row[place] for row in rows} == expected
