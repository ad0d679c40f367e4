"""The portable vectors, driven through the public API."""

from typing import Any

import pytest
from vectors import cases

import tallystick
from tallystick.numbers.nano import from_decimal
from tallystick_state.reputation import consensus_event

pytestmark = pytest.mark.smoke

Row = dict[str, Any]

FROM_RECORDS = (
    *(symbol for symbol in cases.AXES if symbol != "sigma"),
    "early_bonus",
    "consensus",
    "workflow_score",
    "unplanned_retries",
)
BANDS = {"pass": "consensus_pass", "weak": "consensus_weak", "fail": "consensus_fail"}


def rows(*ops: str) -> list[Any]:
    return [
        pytest.param(case, row, expected, id=f"{case.id}-{number}")
        for case in cases.load(*ops)
        for number, (row, expected) in enumerate(case.rows(), 1)
    ]


@pytest.mark.parametrize(("case", "row", "expected"), rows(*FROM_RECORDS))
def test_a_record_scores_as_the_vector_says(
    scorers: dict[str, tallystick.Scorer], case: cases.Case, row: Row, expected: Row | str
) -> None:
    scorer, record = scorers[case.rule_set], cases.record(case, row)
    if isinstance(expected, dict) and "error" in expected:
        with pytest.raises(tallystick.RecordError) as caught:
            scorer.score(record)
        assert caught.value.code == expected["error"]
        return
    result = scorer.score(record).to_dict()
    assert cases.answer(case, result) == cases.wanted(case, expected)


def test_every_operation_of_a_record_has_cases() -> None:
    assert {case.op for case in cases.load(*FROM_RECORDS)} == set(FROM_RECORDS)


@pytest.mark.parametrize(("case", "row", "expected"), rows("consensus"))
def test_a_consensus_falls_in_its_band(
    scorers: dict[str, tallystick.Scorer], case: cases.Case, row: Row, expected: Row
) -> None:
    scorer = scorers[case.rule_set]
    consensus = scorer.score(cases.record(case, row)).consensus
    assert consensus is not None
    assert consensus_event(scorer, from_decimal(consensus)) == BANDS[expected["band"]]


@pytest.mark.parametrize(("case", "row", "expected"), rows("composite_q"))
def test_given_axes_give_the_composite(
    scorers: dict[str, tallystick.Scorer], case: cases.Case, row: Row, expected: str
) -> None:
    quality = scorers[case.rule_set].composite(row["type"], cases.axes(row))
    assert f"{quality:f}" == expected


@pytest.mark.parametrize(("case", "row", "expected"), rows("tier"))
def test_a_quality_reaches_its_tier(
    scorers: dict[str, tallystick.Scorer], case: cases.Case, row: Row, expected: Row
) -> None:
    given = {"baseline": row["base"], "optimised": row["opt"], "novel": row["nov"]}
    scorer = scorers[case.rule_set].with_thresholds({"executable_python": given})
    tier = scorer.tier("executable_python", row["q"])
    assert {"tier": tier.name, "multiplier": f"{tier.multiplier:f}"} == expected


@pytest.mark.parametrize(("case", "row", "expected"), rows("emission"))
def test_given_terms_give_the_emission(
    scorers: dict[str, tallystick.Scorer], case: cases.Case, row: Row, expected: str
) -> None:
    scorer, kind = scorers[case.rule_set], row["type"]
    quality = row["q"] if "q" in row else scorer.composite(kind, cases.axes(row))
    terms = {"early_bonus": row["early"], "consensus": row["consensus"]}
    terms |= factors_of_a_record(scorer, kind, row)
    emission = scorer.emission(kind, quality=quality, tier=row["tier"], **terms)
    assert f"{emission:f}" == expected


def factors_of_a_record(scorer: tallystick.Scorer, kind: str, row: Row) -> Row:
    """The role multiplier and the bootstrap bonus, from a record of the role and the epoch."""
    record = record_of(kind) | {"role": row["role"], "epoch": row.get("epoch", 30)}
    result = scorer.score(record)
    bonus = row.get("bootstrap", result.bootstrap_bonus)
    return {"role_multiplier": result.role_multiplier, "bootstrap_bonus": bonus}


def record_of(kind: str) -> Row:
    op = {"rag_knowledge": "rho", "agent_composition": "chi"}.get(kind, "alpha")
    case = cases.load(op)[0]
    record = cases.record(case, case.inputs[0])
    assert record["skill_type"] == kind
    return record


def test_the_worked_example_is_not_what_the_page_prints(
    scorers: dict[str, tallystick.Scorer],
) -> None:
    scorer = scorers["skills@1.0.0"]
    axes = {"detection": "0.95", "evidence": "0.80", "policy": "0.68", "efficiency": "0.50"}
    quality = scorer.composite("executable_python", axes)
    given = {"tier": "tier_1_reference", "early_bonus": "1.08", "consensus": "0.92"}
    emission = scorer.emission("executable_python", quality=quality, **given)
    assert (f"{quality:f}", f"{emission:f}") == ("0.766438904", "0.761533695")
    assert scorer.tier("executable_python", quality).name == "tier_3_novel"


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
def test_without_a_state_thresholds_are_the_seeds(
    scorers: dict[str, tallystick.Scorer], version: str
) -> None:
    seeds = {"rag_knowledge": 350, "declarative": 400, "executable_python": 500}
    seeds |= {"executable_script": 480, "mcp_server": 450, "agent_composition": 400}
    found = scorers[f"skills@{version}"].thresholds
    assert found == {
        kind: {
            "baseline": seed * 10**6,
            "optimised": seed * 10**4 * 115,
            "novel": seed * 10**5 * 15,
        }
        for kind, seed in seeds.items()
    }
