"""``docs/prove.md`` has every status, property and limit."""

from typing import get_args

from manual.page import Page

from tallystick_governance.prove.built_in_properties import BUILT_IN
from tallystick_governance.prove.property import Status
from tallystick_governance.prove.proving import BUDGET, MILLION, PATIENCE, REQUEST

_PAGE = Page.of("docs/prove.md")


def test_every_status_is_documented() -> None:
    assert _PAGE.section("Answers").differs_from(get_args(Status)) == []


def test_every_property_that_is_asked_of_every_type_is_documented() -> None:
    assert _PAGE.section("What is asked").differs_from(list(BUILT_IN)) == []


def test_the_limits_are_documented() -> None:
    said = _PAGE.section("The budget").prose
    assert f"{BUDGET // MILLION} million steps" in said
    assert f"{BUDGET // MILLION // REQUEST} million for one request" in said
    assert f"{PATIENCE} times that for a question" in said
