"""``docs/prove.md`` has every answer, property and limit."""

import attrs
from manual.page import Page

from tallystick_governance.prove.built_in_properties import BUILT_IN
from tallystick_governance.prove.property import Answer
from tallystick_governance.prove.proving import BUDGET, MILLION, PATIENCE, REQUEST

_PAGE = Page.of("docs/prove.md")
_STATUSES = ["proved", "counterexample", "undecided"]


def test_every_status_and_key_of_an_answer_is_documented() -> None:
    cells = _PAGE.section("Answers").first_cells()
    assert cells[:3] == _STATUSES
    assert sorted(cells[3:]) == sorted(field.name for field in attrs.fields(Answer))


def test_every_property_that_is_asked_of_every_type_is_documented() -> None:
    assert _PAGE.section("What is asked").differs_from(list(BUILT_IN)) == []


def test_the_limits_are_documented() -> None:
    said = _PAGE.section("The budget").prose
    assert f"{BUDGET // MILLION} million steps" in said
    assert f"{BUDGET // MILLION // REQUEST} million for one request" in said
    assert f"{PATIENCE} times that for a question" in said
