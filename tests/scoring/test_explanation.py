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


def test_an_explanation_that_reads_no_fact_has_its_sections(scorers: Scorers) -> None:
    """Formulas of a plugin may be constants."""
    explanation = attrs.evolve(explained(scorers, EXAMPLES[0], "1.0.0"), facts=())
    assert {"axes", "emission"} <= {*lines_of(explanation)}


def test_numbers_of_an_explanation_are_ascii(scorers: Scorers) -> None:
    """Those of one below zero are, too: see ``decimal_text``."""
    plain = explained(scorers, EXAMPLES[0], "1.0.0").to_dict()
    for step in (*plain["axes"], *plain["factors"], plain["emission"]):
        assert all(text.isascii() for text in (step["exact"], *step["intermediates"].values()))
