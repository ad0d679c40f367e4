"""The explanation: true to the result, step by step."""

import json
from fractions import Fraction
from pathlib import Path

import attrs
import pytest

import tallystick
from tallystick.cli.explanation import lines_of

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = [
    line
    for plugin in ("skills", "workflow")
    for line in (ROOT / f"plugins/tallystick_{plugin}/examples.jsonl").read_bytes().splitlines()
]

Scorers = dict[str, tallystick.Scorer]


def explained(scorers: Scorers, line: bytes, version: str) -> tallystick.Explanation:
    kind = "workflow" if json.loads(line)["skill_type"] == "workflow" else "skills"
    return scorers[f"{kind}@{version}"].explain(line)


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
@pytest.mark.parametrize("line", EXAMPLES)
def test_every_step_ends_in_the_published_value(
    scorers: Scorers, line: bytes, version: str
) -> None:
    explanation = explained(scorers, line, version)
    result = explanation.result
    assert {step.name: step.value for step in explanation.axes} == result.axes
    for step in explanation.axes:
        assert abs(Fraction(step.exact) - Fraction(step.value or 0)) <= Fraction(1, 2 * 10**9)
    if explanation.composite is not None:
        assert explanation.composite.quality == result.quality
    if explanation.tier is not None:
        assert explanation.tier.name == result.tier
    factors = {step.name: step.value for step in explanation.factors}
    assert factors == {name: getattr(result, name) for name in factors}
    if explanation.emission is not None:
        assert explanation.emission.value == result.emission


def test_the_distance_to_every_threshold_and_gate(scorers: Scorers) -> None:
    explanation = explained(scorers, EXAMPLES[2], "1.0.0")
    quality = explanation.result.quality
    assert explanation.tier is not None
    assert quality is not None
    edges = {cliff.name: cliff for cliff in explanation.tier.thresholds}
    assert {name: f"{cliff.edge:f}" for name, cliff in edges.items()} == {
        "baseline": "0.500000000",
        "optimised": "0.575000000",
        "novel": "0.750000000",
    }
    assert all(cliff.distance == quality - cliff.edge for cliff in edges.values())
    assert all(cliff.passed == (quality >= cliff.edge) for cliff in edges.values())
    assert explanation.composite is not None
    (gate,) = explanation.composite.gates
    assert (f"{gate.edge:f}", gate.passed) == ("0.100000000", True)
    assert gate.distance == explanation.result.axes["evidence"] - gate.edge


def test_the_success_gate_of_a_workflow_is_a_cliff_with_its_distance(scorers: Scorers) -> None:
    explanation = explained(scorers, EXAMPLES[-2], "1.0.0")
    steps = {step.name: step for step in explanation.axes}
    (cliff,) = steps["cost"].cliffs
    assert (f"{cliff.value:f}", f"{cliff.edge:f}") == ("0.875000000", "0.700000000")
    assert f"{cliff.distance:f}" == "0.175000000"
    assert not cliff.passed  # the condition success ≤ 0.7, which zeroes the cost, does not hold


def test_intermediates_are_named_and_exact(scorers: Scorers) -> None:
    explanation = explained(scorers, EXAMPLES[0], "1.0.0")
    steps = {step.name: step for step in explanation.axes}
    assert steps["policy"].intermediates == {"precision": "2/3", "recall": "1"}
    assert steps["policy"].exact == "5/7"
    assert f"{steps['policy'].value:f}" == "0.714285714"
    assert steps["efficiency"].values[0] == "position = (5250 − 1000 · 2) / (1000 · 15 − 1000 · 2)"


def test_a_record_without_a_submission_explains_that_nothing_is_scored(scorers: Scorers) -> None:
    explanation = explained(scorers, EXAMPLES[6], "1.0.0")
    assert explanation.composite is None
    assert "nothing is scored" in "\n".join(lines_of(explanation))


def test_an_explanation_that_reads_no_fact_has_its_sections(scorers: Scorers) -> None:
    """Formulas of a plugin may be constants."""
    explanation = attrs.evolve(explained(scorers, EXAMPLES[0], "1.0.0"), facts=())
    assert {"axes", "emission"} <= {*lines_of(explanation)}


def test_numbers_of_an_explanation_are_ascii(scorers: Scorers) -> None:
    """Those of one below zero are, too: see ``decimal_text``."""
    plain = explained(scorers, EXAMPLES[0], "1.0.0").to_dict()
    for step in (*plain["axes"], *plain["factors"], plain["emission"]):
        assert all(text.isascii() for text in (step["exact"], *step["intermediates"].values()))
