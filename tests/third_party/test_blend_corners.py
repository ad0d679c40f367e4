"""The linear blend at its edges, and that every number of its rule set is seen there."""

from decimal import Decimal
from pathlib import Path

import pytest
from third_party import oracle
from third_party.blend_examples import RULES, example, expected, found_in, read, scored

import tallystick
from tallystick.plugins.registry import Registry
from tallystick.scoring.scorer import Scorer


@pytest.mark.parametrize(
    ("latency", "efficiency"),
    [
        (19_999, "0"),
        (20_000, "0"),
        (20_001, "0.0001"),
        (29_999, "0.9999"),
        (30_000, "1"),
        (30_001, "0.999986667"),
        (59_999, "0.600013333"),
        (60_000, "0.6"),
        (60_001, "0"),
    ],
)
def test_the_edges_of_the_window(blend: Scorer, latency: int, efficiency: str) -> None:
    window = {"t_min_s": 20, "deadline_s": 60}
    record = example(task=window, submission={"latency_ms": latency})
    assert scored(blend, record).axes["efficiency"] == Decimal(efficiency)


@pytest.mark.parametrize(
    ("evidence", "is_open"), [("0", False), ("0.099999999", False), ("0.1", True), ("1", True)]
)
@pytest.mark.parametrize("kind", oracle.WEIGHTS)
def test_the_gate_closes_strictly_below_a_tenth(
    blend: Scorer, kind: str, evidence: str, is_open: bool
) -> None:
    result = scored(blend, example(kind, checks={"evidence": Decimal(evidence)}))
    assert bool(result.quality) is is_open


def test_a_perfect_record_of_each_type_has_a_quality_of_one(blend: Scorer) -> None:
    for kind in oracle.WEIGHTS:
        record = example(kind)
        verdict = record["task"]["ground_truth"]
        record["task"] |= {"provenance": "human", "expected_risk": 7, "t_min_s": 0, "deadline_s": 4}
        record["submission"] = {"verdict": verdict, "risk_score": 7, "latency_ms": 1000}
        record["checks"] = {n: 0 if "error" in n else 1 for n in record["checks"]}
        assert scored(blend, record).quality == 1


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("too_strict = 0.4 ", "too_strict = 0.5 "),
        ("too_lax = 1.0 ", "too_lax = 0.9 "),
        ("farthest = 2 ", "farthest = 3 "),
        ("risk_floor = 0.9 ", "risk_floor = 0.99 "),
        ("risk_slope = 0.1", "risk_slope = 0.2"),
        ("risk_scale = 100", "risk_scale = 101"),
        ("human = 1.0 ", "human = 0.9 "),
        ("canary = 1.0", "canary = 0.9"),
        ("consensus = 0.7", "consensus = 0.8"),
        ("consensus_expired = 0.4", "consensus_expired = 0.5"),
        ("peak = 0.25 ", "peak = 0.26 "),
        ("decline = 0.4 ", "decline = 0.5 "),
        ("slope = 3 ", "slope = 4 "),
        ("slope = 2 ", "slope = 1 "),
        ("injection_recall = 0.15, divisor = 0.85", "injection_recall = 0.14, divisor = 0.85"),
        ("injection_recall = 0.15, divisor = 0.85", "injection_recall = 0.15, divisor = 0.86"),
        ("below = 0.10", "below = 0.11"),
        ("factor = 1.5", "factor = 1.6"),
        ("share = 0.75", "share = 0.8"),
    ],
)
def test_another_number_in_the_rule_set_is_seen(
    plugins: Registry, records: list[bytes], tmp_path: Path, old: str, new: str
) -> None:
    text = RULES.read_text()
    assert old in text
    (tmp_path / "mutant.toml").write_text(text.replace(old, new, 1))
    mutant = tallystick.load(str(tmp_path / "mutant.toml"), registry=plugins)
    answered = [line for line in records if b'"submission"' in line]
    found = mutant.score_lines(answered).results()
    assert any(found_in(each) != expected(read(line)) for line, each in zip(answered, found))  # noqa: B905  # it may stop early
