"""Arms that nothing reaches, facts that nothing depends on, axes and tiers that are nobody's."""

from __future__ import annotations

import pytest
from examples import fast_rows
from governance.lint.linted import SOUND, found_by, registry_with
from governance.revision import changed, shipped

from tallystick.formula.formula import Formula, Parameters
from tallystick.plugins.author import UNIT, Node, axis, cases, number

QUALITY = number("checks.output_quality")
LIMIT = number("task.max_latency_seconds")
EARLY = [(until, middle) for until in ("0", "0.5", "1") for middle in ("0", "0.5", "1")]


@axis("acme/steps@1", first=UNIT, second=UNIT)
def steps(p: Parameters) -> Node:
    """Two steps of the quality, the second within an expression."""
    inner = cases((p.second >= QUALITY, 1), otherwise=2)
    return cases((p.first >= QUALITY, 0), (QUALITY > 1, 1), otherwise=inner / 2)


@axis("acme/unneeded@1", slope=UNIT)
def unneeded(p: Parameters) -> Node:
    """A case that the requirements of the rule set rule out, whatever the slope."""
    return cases((LIMIT == 0, 0), otherwise=1 - p.slope * QUALITY)


def with_axis(formula: Formula, **parameters: str) -> str:
    """The corrected workflow with another axis of success."""
    given = "".join(f"{name} = {value}\n" for name, value in parameters.items())
    return shipped("workflow@1.1.0", ('"workflow/success@2"\n', f'"{formula.name}"\n{given}'))


def arms(text: str, formula: Formula) -> list[str]:
    found = found_by(text, "arm-never-reached", registry_with(formula))
    return [arm for each in found if each.path == "axes.success" for arm in each.evidence["arms"]]


@pytest.mark.parametrize(("until", "middle"), fast_rows(EARLY, 0, 4, 7))
def test_a_band_is_reached_exactly_when_it_ends_after_the_one_before(
    until: str, middle: str
) -> None:
    text = shipped(
        "skills@1.1.0",
        ("early_until = 0.25", f"early_until = {until}"),
        ("middle_until = 0.50", f"middle_until = {middle}"),
    )
    found = found_by(text, "arm-never-reached")
    assert bool(found) is (float(middle) <= float(until))
    assert {each.path for each in found} <= {"emission.factors.early_bonus"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("0.2", "0.6", []),
        ("0.6", "0.2", ["if output_quality ≤ 0.2"]),
        ("0.2", "1", ["otherwise"]),
        # the arms within the last one are not told besides
        ("1", "1", ["otherwise"]),
    ],
)
def test_an_arm_is_told_where_the_parameters_rule_it_out_and_not_what_nothing_reaches(
    first: str, second: str, expected: list[str]
) -> None:
    assert arms(with_axis(steps, first=first, second=second), steps) == expected


def test_a_fact_that_no_parameter_brings_back_is_not_told() -> None:
    registry = registry_with(unneeded)
    assert found_by(with_axis(unneeded, slope="0.5"), "fact-without-effect", registry) == []
    (found,) = found_by(with_axis(unneeded, slope="0"), "fact-without-effect", registry)
    assert found.evidence["facts"] == ["number(checks.output_quality)"]


def test_a_fact_is_told_with_the_formula_that_loses_it() -> None:
    text = shipped("skills@1.1.0", ("risk_slope = 0.1", "risk_slope = 0"))
    (found,) = found_by(text, "fact-without-effect")
    assert (found.path, found.severity) == ("axes.detection", "warning")
    assert found.evidence["facts"] == [
        "number(submission.risk_score)",
        "number(task.expected_risk)",
    ]


def test_two_axes_that_are_computed_alike_are_told_where_both_are_weighed() -> None:
    alike = shipped("workflow@1.1.0", ("workflow/latency@1", "workflow/cost@1"))
    (found,) = found_by(alike, "axis-counted-twice")
    assert found.path == "skill_types.workflow.weights.latency"
    assert "weigh 0.40 together" in found.message
    other = "0.7                              # workflow.txt, Sub-Dimensions: only when S_success"
    place = alike.rindex(other)
    apart = alike[:place] + alike[place:].replace("0.7", "0.8", 1)
    assert found_by(apart, "axis-counted-twice") == []
    assert found_by(changed(SOUND, ("0.6,", "0.5,"), ("0.4 }", "0.5 }")), found.code) == []


def test_a_gate_of_two_values_passes_the_best_alone_and_is_not_told() -> None:
    text = shipped(
        "skills@1.2.0",
        ('axis = "evidence", below = 0.10', 'axis = "manifest_integrity", below = 1'),
    )
    only = text.partition("[skill_types.rag_knowledge]")[0]
    server = text[text.index("[skill_types.mcp_server]") : text.index("[skill_types.agent")]
    assert found_by(only + server, "gate-passes-the-best-alone") == []
