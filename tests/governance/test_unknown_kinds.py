"""A kind of value that a tool does not know is told by name, never passed over in silence."""

from __future__ import annotations

import json

import attrs
import pytest
from governance.a_minimum import with_minimum

import tallystick
from tallystick.numbers.nano import NANO
from tallystick.scoring.scorer import Scorer
from tallystick_governance.diff import render
from tallystick_governance.diff.difference import difference
from tallystick_governance.diff.policy import Level

TYPE = "rag_knowledge"
NAME = f"skill_types.{TYPE}.ceiling"


@pytest.fixture(scope="module")
def plain() -> Scorer:
    return tallystick.load("skills@1.1.0")


@pytest.fixture(scope="module")
def capped(plain: Scorer) -> Scorer:
    return with_minimum(plain, TYPE, NANO * 6 // 10)


def test_a_difference_tells_a_value_that_it_cannot_bound(plain: Scorer, capped: Scorer) -> None:
    found = difference(plain, capped)
    assert [(each.value, each.kind) for each in found.unknown] == [(NAME, "min_of")]
    (effect,) = (each for each in found.effects if each.skill_type == TYPE)
    assert not effect.is_none
    assert found.needed >= Level.MINOR
    text, page = render.as_text(found), render.as_markdown(found)
    assert f"not analysed: {NAME} (min_of)" in text
    assert f"not analysed: {NAME} (min_of)" in page
    assert f"    {TYPE}: nothing" not in text
    told = json.loads(json.dumps(render.as_json(found)))["not_analysed_values"]
    assert [(each["value"], each["kind"]) for each in told] == [(NAME, "min_of")]


def test_a_value_of_an_unknown_kind_that_stays_moves_nothing(capped: Scorer) -> None:
    found = difference(capped, capped)
    assert not found.unknown
    assert all(each.is_none for each in found.effects)


def test_another_number_of_an_unknown_kind_is_told(plain: Scorer, capped: Scorer) -> None:
    found = difference(capped, with_minimum(plain, TYPE, NANO // 2))
    assert [each.value for each in found.unknown] == [NAME]


@pytest.mark.parametrize("skill_type", ["rag_knowledge", "declarative"])
def test_no_operation_differs_without_a_word(plain: Scorer, skill_type: str) -> None:
    """Whatever value of a type is computed otherwise, the difference is not silent."""
    bound = plain.types[skill_type]
    for place, value in enumerate(bound.values):
        other = attrs.evolve(value, domain=attrs.evolve(value.domain))
        changed = [*bound.values]
        vars(other)["digest"] = "sha256:another"
        changed[place] = other
        evolved = attrs.evolve(bound, values=tuple(changed))
        new = attrs.evolve(plain, types={**plain.types, skill_type: evolved})
        text = render.as_text(difference(plain, new))
        assert value.name in text, value
        assert f"{skill_type}: nothing\n" not in text
