"""Rule sets over the formulas of a third party: composites, published values, refused plugins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from tallystick.diagnostics import Diagnostic
from tallystick.formula.formula import UNIT, Formula, axis, composite, emission, factor, threshold
from tallystick.formula.tree import published
from tallystick.plugins.registry import Registry
from tallystick.plugins.skill_type import SkillType

Problems = Callable[..., tuple[Diagnostic, ...]]

HEADER = '[rule_set]\nname = "acme"\nversion = "0.1.0"\nformat = 1\n'


def reading(*names: str) -> Callable[..., object]:
    def formula(_: object) -> object:
        total = published(names[0])
        for name in names[1:]:
            total = total * published(name)
        return total

    return formula


def constant(_: object) -> object:
    return 1


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Registry:
    formulas: list[Formula] = [
        axis("acme/one@1")(constant),
        axis("acme/reads-b@1")(reading("b")),
        axis("acme/reads-a@1")(reading("a")),
        composite("acme/blend@1", share=UNIT)(lambda p: p.share * published("a")),
        factor("acme/rank@1", within=UNIT)(reading("rank")),
        emission("acme/pay@1", within=UNIT)(reading("quality", "speed")),
        threshold("acme/self@1", within=UNIT)(reading("high")),
    ]
    return attrs.evolve(
        registry,
        formulas={formula.name: formula for formula in formulas},
        skill_types={"acme_type": SkillType(name="acme_type", schema=Path("acme.json"))},
        requirements={},
        refused={"broken": "its import failed"},
    )


def axes(**formulas: str) -> str:
    return "".join(f'[axes.{name}]\nformula = "acme/{f}"\n' for name, f in formulas.items())


def skill_type(body: str) -> str:
    return f"[skill_types.acme_type]\n{body}\n"


def test_a_composite_formula_takes_parameters_and_lists_its_axes(
    acme: Registry, problems_of: Problems
) -> None:
    text = 'composite = "acme/blend@1"\nparameters = { share = 0.5 }\naxes = ["a"]'
    assert problems_of(HEADER + axes(a="one@1") + skill_type(text), acme) == ()


@pytest.mark.parametrize(
    ("body", "path", "value", "expected"),
    [
        (
            'composite = "acme/blend@1"\naxes = ["a"]',
            "skill_types.acme_type.parameters.share",
            "",
            "a number from 0 to 1, a parameter that is missing",
        ),
        (
            'composite = "acme/blend@1"\nparameters = { share = 1 }\nweights = { a = 1 }',
            "skill_types.acme_type.weights",
            "a table",
            "no weights: acme/blend@1 weighs by its parameters",
        ),
        (
            'composite = "acme/blend@1"\nparameters = { share = 1 }',
            "skill_types.acme_type.composite",
            "the axes none",
            "the axis a in weights or axes, because acme/blend@1 reads it",
        ),
        (
            'composite = "acme/one@1"\naxes = ["a"]',
            "skill_types.acme_type.composite",
            '"acme/one@1"',
            "a formula of the kind composite, not axis: acme/blend@1",
        ),
        (
            'composite = "geometric"',
            "skill_types.acme_type.weights",
            "",
            "weights of the axes that sum to exactly 1",
        ),
        (
            'composite = "arithmetic"\nweights = { c = 1 }',
            "skill_types.acme_type",
            "the axes c",
            "the axis a in weights or axes, because its axis c reads it",
        ),
    ],
)
def test_a_composite_is_given_what_it_needs(  # noqa: PLR0913, PLR0917  # a table of four columns
    body: str, path: str, value: str, expected: str, acme: Registry, problems_of: Problems
) -> None:
    text = HEADER + axes(a="one@1", c="reads-a@1") + skill_type(body)
    (problem,) = problems_of(text, acme)
    assert (problem.path, problem.evidence["value"]) == (path, value)
    assert expected in problem.evidence["expected"]
    assert problem.line


def test_axes_that_read_themselves_in_a_circle_are_refused(
    acme: Registry, problems_of: Problems
) -> None:
    text = axes(a="reads-b@1", b="reads-a@1") + skill_type(
        'composite = "geometric"\nweights = { a = 0.5, b = 0.5 }'
    )
    (problem,) = problems_of(HEADER + text, acme)
    assert (problem.line, problem.path, problem.evidence["value"]) == (5, "axes.a", "a → b → a")


SOUND = axes(a="one@1") + skill_type(
    'base_weight = 1\nbaseline = 0.5\ncomposite = "geometric"\nweights = { a = 1 }'
)


def test_a_threshold_that_reads_itself_is_refused(acme: Registry, problems_of: Problems) -> None:
    tiers = (
        '[tiers.thresholds.high]\nformula = "acme/self@1"\n'
        '[[tiers.levels]]\nname = "low"\nmultiplier = 1\n'
    )
    (problem,) = problems_of(HEADER + SOUND + tiers, acme)
    assert (problem.path, problem.evidence["value"]) == ("tiers.thresholds.high", "high → high")


def test_an_emission_reads_only_terms_and_declared_factors(
    acme: Registry, problems_of: Problems
) -> None:
    (problem,) = problems_of(HEADER + SOUND + '[emission]\nformula = "acme/pay@1"\n', acme)
    assert problem.path == "emission.formula"
    assert problem.evidence["value"] == '"acme/pay@1", which reads speed'
    assert "reads only quality, base_weight, tier_multiplier" in problem.evidence["expected"]


def test_a_factor_reads_only_the_base_weight(acme: Registry, problems_of: Problems) -> None:
    text = '[emission]\nformula = "acme/pay@1"\n[emission.factors.speed]\nformula = "acme/rank@1"\n'
    (problem,) = problems_of(HEADER + SOUND + text, acme)
    assert problem.path == "emission.factors.speed.formula"
    assert problem.evidence["value"] == '"acme/rank@1", which reads rank'


def test_what_a_refused_plugin_may_have_offered_is_said_with_the_reason(
    acme: Registry, problems_of: Problems
) -> None:
    text = axes(a="gone@1") + SOUND.replace("[axes.a]", "[axes.b]").replace("acme_type", "other")
    problems = problems_of(HEADER + text, acme)
    assert [p.path for p in problems] == ["axes.a.formula", "skill_types.other"]
    assert all(
        "the plugin broken is refused: its import failed" in p.evidence["expected"]
        for p in problems
    )


def test_a_round_is_weighed_only_with_reputations_and_emissions(
    acme: Registry, problems_of: Problems
) -> None:
    text = (
        '[allocation]\nminers = "round"\nsteps = [\n'
        '  { name = "score", do = "collect", value = "emission", as = "weighted_mean",'
        ' times = ["reputation"], over = ["base_weight"], records = "round" },\n'
        '  { name = "weight", do = "share", of = "score", publish = true },\n]\n'
    )
    problems = problems_of(HEADER + SOUND + text, acme)
    assert [(p.path, p.evidence["expected"]) for p in problems] == [
        ("allocation", "the section [reputation], which steps of the round are weighed by"),
        ("allocation.steps[0].value", "the section [emission], which gives records one"),
    ]


def test_a_quality_is_collected_only_where_a_type_has_a_composite(
    acme: Registry, problems_of: Problems
) -> None:
    measured = (
        '[measures.late]\nformula = "skills/efficiency@1"\n[skill_types.acme_type]\n'
        'measures = ["late"]\n'
    )
    text = (
        '[allocation]\nminers = "round"\nsteps = [\n'
        '  { name = "score", do = "collect", value = "quality", as = "mean" },\n'
        '  { name = "weight", do = "share", of = "score", publish = true },\n]\n'
    )
    expected = {p.path: p.evidence["expected"] for p in problems_of(HEADER + measured + text, acme)}
    wanted = "the composite of a skill type, which gives records one"
    assert expected["allocation.steps[0].value"] == wanted
