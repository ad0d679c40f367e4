"""The oracle reproduces every vector, and keeps the contracts of a result row."""

from fractions import Fraction
from math import prod
from typing import Any

import pytest
from vectors import cases
from vectors.builders import RECORDS
from vectors.cases import Case

from oracle import (
    InvalidRecordError,
    band,
    composite,
    emission,
    score,
    text,
    thresholds,
    tier,
)
from oracle.composites import WEIGHTS
from oracle.emissions import BASE_WEIGHTS, ROLE_MULTIPLIERS, bootstrap_bonus
from oracle.tiers import BASELINES, MULTIPLIERS
from oracle.workflow import unplanned_retries

Row = dict[str, Any]


def rows_of(*ops: str) -> list[Any]:
    """Each row of the operations, as a test parameter with its id."""
    return [
        pytest.param(case, row, expected, id=f"{case.id}-{number}")
        for case in cases.load(*ops)
        for number, (row, expected) in enumerate(case.rows(), 1)
    ]


@pytest.mark.parametrize(("case", "row", "expected"), rows_of(*RECORDS))
def test_a_record_answers_its_vector(case: Case, row: Row, expected: Any) -> None:  # noqa: ANN401  # any JSON
    record = cases.record(case, row)
    if isinstance(expected, dict) and "error" in expected:
        with pytest.raises(InvalidRecordError) as refused:
            score(record, case.rule_set)
        assert refused.value.code == expected["error"]
        return
    assert cases.answer(case, score(record, case.rule_set)) == cases.wanted(case, expected)


@pytest.mark.parametrize(("case", "row", "expected"), rows_of("composite_q"))
def test_a_composite_answers_its_vector(case: Case, row: Row, expected: str) -> None:
    assert text(composite(row["type"], cases.axes(row), case.rule_set)) == expected


@pytest.mark.parametrize(("case", "row", "expected"), rows_of("tier"))
def test_a_tier_answers_its_vector(case: Case, row: Row, expected: Row) -> None:
    assert case.rule_set == "skills@1.0.0"
    name = tier(row["q"], row["base"], row["opt"], row["nov"])
    assert {"tier": name, "multiplier": text(MULTIPLIERS[name])} == expected


@pytest.mark.parametrize(("case", "row", "expected"), rows_of("emission"))
def test_an_emission_answers_its_vector(case: Case, row: Row, expected: str) -> None:
    quality = row.get("q")
    if quality is None:
        quality = composite(row["type"], cases.axes(row), case.rule_set)
    bootstrap = row.get("bootstrap")
    if bootstrap is None:
        bootstrap = bootstrap_bonus(row["type"], row["epoch"])
    factors = {
        "base_weight": BASE_WEIGHTS[row["type"]],
        "tier_multiplier": MULTIPLIERS[row["tier"]],
        "early_bonus": row["early"],
        "role_multiplier": ROLE_MULTIPLIERS[row["role"]],
        "consensus": row["consensus"],
        "bootstrap_bonus": bootstrap,
    }
    assert text(emission(quality, factors)) == expected


@pytest.mark.parametrize(("case", "row", "expected"), rows_of("consensus"))
def test_a_consensus_lies_in_its_band(case: Case, row: Row, expected: Row) -> None:
    assert band(score(cases.record(case, row), case.rule_set)["consensus"]) == expected["band"]


@pytest.mark.parametrize(("case", "row", "expected"), rows_of("unplanned_retries"))
def test_retries_are_counted_in_both_ways(case: Case, row: Row, expected: Row) -> None:
    record = cases.record(case, row)
    assert unplanned_retries(record, "workflow@1.0.0") == expected["plan_sum"]
    assert unplanned_retries(record, "workflow@1.1.0") == expected["per_node"]


def test_corrected_thresholds_leave_room_below_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """No seed of a shipped rule set is so high (E20)."""
    monkeypatch.setitem(BASELINES, "rag_knowledge", Fraction("0.68"))
    lines = ("skills@1.0.0", "skills@1.1.0")
    printed, corrected = (thresholds("rag_knowledge", name) for name in lines)
    assert tuple(map(text, printed)) == ("0.680000000", "0.782000000", "1.020000000")
    assert tuple(map(text, corrected)) == ("0.680000000", "0.728000000", "0.840000000")


@pytest.mark.parametrize("skill_type", sorted(set(WEIGHTS) - {"workflow"}))
@pytest.mark.parametrize("counts", [(1, 10**9 - 1), (333_333_333, 100_000_000), (7, 10**8)])
def test_the_composite_is_the_nearest_count(skill_type: str, counts: tuple[int, int]) -> None:
    weights = WEIGHTS[skill_type]
    grains = {name: counts[number % 2] for number, name in enumerate(weights)}
    grains["evidence"] = max(grains["evidence"], 10**8)
    axes = {name: Fraction(grain, 10**9) for name, grain in grains.items()}
    nearest = int(composite(skill_type, axes, "skills@1.0.0") * 10**9)
    power = prod(grain ** weights[name] for name, grain in grains.items())
    assert 0 < nearest <= 10**9
    assert (2 * nearest - 1) ** 100 < power << 100 < (2 * nearest + 1) ** 100
