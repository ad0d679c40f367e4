"""A kind of value that a tool does not know is told by name, never passed over in silence."""

from __future__ import annotations

import json

import attrs
import pytest
from click.testing import CliRunner
from examples import fast_rows
from kinds import MinOf, Opaque, before_the_gates

import tallystick
from tallystick.cli.main import cli
from tallystick.scoring.scorer import Scorer
from tallystick_governance.diff import render
from tallystick_governance.diff.difference import difference
from tallystick_governance.diff.policy import Level
from tallystick_governance.lint import render as lint_render
from tallystick_governance.lint.linting import report_of
from tallystick_governance.lint.sarif import as_sarif
from tallystick_governance.prove import render as prove_render
from tallystick_governance.prove.built_in_properties import MONOTONE
from tallystick_governance.prove.process import Outcome
from tallystick_governance.prove.property import Answer, is_not_analysed
from tallystick_governance.prove.proving import prove

TYPE, KIND = "rag_knowledge", "acme/opaque_min"
NAME = f"skill_types.{TYPE}.floor"
REASON = f"not analysed: {NAME} ({KIND}): the solver has no term of this kind"
ANSWER = Answer(MONOTONE, TYPE, "quality", "undecided", reason=REASON)


@pytest.fixture(scope="module")
def plain() -> Scorer:
    return tallystick.load("skills@1.1.0")


@pytest.fixture(scope="module")
def capped(plain: Scorer) -> Scorer:
    return before_the_gates(plain, TYPE, Opaque, "policy")


def test_a_difference_tells_a_value_that_it_cannot_bound(plain: Scorer, capped: Scorer) -> None:
    found = difference(plain, capped)
    assert [(each.value, each.kind) for each in found.unknown] == [(NAME, KIND)]
    (effect,) = (each for each in found.effects if each.skill_type == TYPE)
    assert not effect.is_none
    assert found.needed >= Level.MINOR
    text, page = render.as_text(found), render.as_markdown(found)
    assert f"not analysed: {NAME} ({KIND})" in text
    assert f"not analysed: {NAME} ({KIND})" in page
    assert f"    {TYPE}: nothing" not in text
    told = json.loads(json.dumps(render.as_json(found)))["not_analysed_values"]
    assert [(each["value"], each["kind"]) for each in told] == [(NAME, KIND)]


def test_the_difference_of_a_kind_of_known_primitives_is_told_too(plain: Scorer) -> None:
    """A difference bounds no plan, whatever it is made of."""
    found = difference(plain, before_the_gates(plain, TYPE, MinOf, "policy"))
    assert [(each.value, each.kind) for each in found.unknown] == [(NAME, "min_of")]


def test_a_value_of_an_unknown_kind_that_stays_moves_nothing(capped: Scorer) -> None:
    found = difference(capped, capped)
    assert not found.unknown
    assert all(each.is_none for each in found.effects)


def test_another_input_of_an_unknown_kind_is_told(plain: Scorer, capped: Scorer) -> None:
    found = difference(capped, before_the_gates(plain, TYPE, Opaque, "detection"))
    assert [each.value for each in found.unknown] == [NAME]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "skill_type", ["declarative", pytest.param("rag_knowledge", marks=pytest.mark.nightly)]
)
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


def test_lint_tells_a_value_that_no_check_knows(capped: Scorer) -> None:
    report = report_of(capped)
    assert [(each.value, each.kind) for each in report.not_analysed] == [(NAME, KIND)]
    for text in (lint_render.as_text(report), lint_render.as_markdown(report)):
        assert f"not analysed: {NAME} ({KIND})" in text
    assert lint_render.as_json(report)["not_analysed"][0]["value"] == NAME
    assert NAME in json.dumps(as_sarif(report))


def test_nothing_is_proved_of_a_quality_whose_terms_are_not_known(capped: Scorer) -> None:
    found = [each for each in prove(capped, only=MONOTONE) if each.skill_type == TYPE]
    assert found
    for answer in found:
        assert answer.status == "undecided"
        assert answer.reason is not None
        assert answer.reason.startswith(f"not analysed: {NAME} ({KIND})")
        assert is_not_analysed(answer)
    assert f"not analysed: {NAME} ({KIND})" in prove_render.as_text("mine", found)


@pytest.mark.nightly
def test_a_kind_made_of_primitives_is_proved_as_any_other(plain: Scorer) -> None:
    """A minimum of values that never fall with an axis does not fall either."""
    found = prove(before_the_gates(plain, TYPE, MinOf, "policy"), only=MONOTONE)
    own = [each for each in found if each.skill_type == TYPE]
    assert {each.status for each in own} <= {"proved", "undecided"}
    assert not any(is_not_analysed(each) for each in own)


@pytest.mark.parametrize("command", fast_rows(["diff", "lint", "prove"], 0, 2))
def test_the_exit_status_says_it(
    command: str, plain: Scorer, capped: Scorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands are called with rule sets whose type has a value of an unknown kind."""
    loaded = {"plain": plain, "capped": capped}
    monkeypatch.setattr("tallystick.scoring.scorer.load", loaded.__getitem__)
    monkeypatch.setattr(
        "tallystick_governance.lint.linting.report", lambda name: report_of(loaded[name])
    )
    monkeypatch.setattr(
        "tallystick_governance.prove.process.prove_within",
        lambda *_, **__: Outcome((ANSWER,)),
    )
    names = ["plain", "capped"] if command == "diff" else ["capped"]
    done = CliRunner().invoke(cli, ["rules", command, *names])
    assert done.exit_code == 1, done.output
    assert f"not analysed: {NAME} ({KIND})" in done.output
    if command != "prove":
        plain_words = ["rules", command, *(["plain"] * len(names))]
        assert CliRunner().invoke(cli, plain_words).exit_code == 0


def test_a_tier_that_nothing_is_paid_by_is_told(plain: Scorer) -> None:
    """Thresholds that begin elsewhere give other tiers, though no score and no payment moves."""

    def unpaid(baseline: int) -> Scorer:
        bound = plain.types[TYPE]
        paid = {"tier_multiplier", "base_weight", "factor", "emission"}
        values = tuple(value for value in bound.values if value.role not in paid)
        changed = attrs.evolve(bound, values=values, baseline=baseline)
        return attrs.evolve(plain, types={TYPE: changed})

    found = difference(unpaid(10**8), unpaid(2 * 10**8))
    (effect,) = found.effects
    assert set(effect.others) == {"tier"}
    assert "tier: no bound known" in render.as_text(found)
    assert render.as_json(found)["effects"][0]["others"] == {
        "tier": {"at_least": None, "at_most": None}
    }


@pytest.mark.nightly
def test_what_no_check_looks_at_any_more_is_not_gone(plain: Scorer, capped: Scorer) -> None:
    found = report_of(capped).since(report_of(plain))
    assert found.not_analysed
    assert [each.path for each in found.gone if each.path.startswith(f"skill_types.{TYPE}.")] == []
