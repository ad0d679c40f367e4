"""The oracle reproduces every vector, and keeps the contracts of a result row."""

from fractions import Fraction
from math import prod
from typing import Any

import pytest
from vectors import cases
from vectors.builders import RECORDS, base
from vectors.cases import Case

from oracle import (
    InvalidRecordError,
    band,
    composite,
    emission,
    score,
    text,
    tier,
)
from oracle.composites import WEIGHTS
from oracle.decimals import fact
from oracle.emissions import BASE_WEIGHTS, ROLE_MULTIPLIERS, bootstrap_bonus
from oracle.tiers import MULTIPLIERS
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


def python_record(task: Row | None = None, submission: Row | None = None) -> Row:
    return base("executable_python", task=task or {}, submission=submission or {}, checks={})


def workflow_record(task: Row | None = None, **checks: Any) -> Row:  # noqa: ANN401  # any JSON
    record = RECORDS["workflow_score"](
        {"q": "0.9", "done": 2, "total": 2, "cost": "1", "budget": "4", "secs": "1", "maxs": "4"}
    )
    record["task"] |= task or {}
    record["checks"] |= checks
    return record


def test_the_gate_reads_the_published_success() -> None:
    above = workflow_record(output_quality=0.7000000004)
    assert score(above, "workflow@1.0.0")["axes"]["cost"] == "0.000000000"
    rounded = workflow_record(output_quality=0.933333334, steps_completed=3, total_steps=4)
    assert score(rounded, "workflow@1.0.0")["axes"]["cost"] == "0.000000000"
    product = workflow_record(output_quality=0.875, steps_completed=4, total_steps=5)
    assert score(product, "workflow@1.0.0")["axes"]["cost"] == "0.000000000"


def test_more_steps_than_planned_are_refused() -> None:
    record = workflow_record(steps_completed=3)
    with pytest.raises(InvalidRecordError) as refused:
        score(record, "workflow@1.0.0")
    assert refused.value.codes == ("completed-exceeds-total",)


def test_a_workflow_row_has_no_tier_and_no_emission() -> None:
    row = score(workflow_record() | {"consensus": 0.9}, "workflow@1.1.0")
    assert [name for name, value in row.items() if value is None] == [
        "tier",
        "base_weight",
        "tier_multiplier",
        "early_bonus",
        "role_multiplier",
        "consensus",
        "bootstrap_bonus",
        "emission",
    ]


@pytest.mark.parametrize("missing", ["submission", "checks"])
@pytest.mark.parametrize("record", [python_record(), workflow_record()])
def test_a_missed_deadline_is_identified_and_not_scored(record: Row, missing: str) -> None:
    kept = {name: part for name, part in record.items() if name != missing}
    name = "workflow" if record["skill_type"] == "workflow" else "skills"
    row = score(kept | {"events": ["missed_deadline"], "consensus": 0.5}, f"{name}@1.0.0")
    assert row["task_id"] == "vector"
    assert row["axes"] == {}
    assert row["quality"] is row["consensus"] is row["emission"] is row["base_weight"] is None


def test_an_absent_consensus_is_the_factor_one() -> None:
    alone = score(python_record(), "skills@1.0.0")
    agreed = score(python_record() | {"consensus": 1}, "skills@1.0.0")
    assert (alone["consensus"], agreed["consensus"]) == (None, "1.000000000")
    assert alone["emission"] == agreed["emission"] == "2.300000000"


@pytest.mark.parametrize(
    ("epoch", "bonus"), [(0, "1.250000000"), (29, "1.250000000"), (30, "1.000000000")]
)
def test_the_bootstrap_bonus_ends_with_epoch_29(epoch: int, bonus: str) -> None:
    record = base("agent_composition", task={}, submission={}, checks={}) | {"epoch": epoch}
    assert score(record, "skills@1.0.0")["bootstrap_bonus"] == bonus
    assert score(python_record() | {"epoch": epoch}, "skills@1.0.0")["bootstrap_bonus"] == (
        "1.000000000"
    )


#: Half to the power of a weight in hundredths.
HALF_TO_THE = {
    10: "0.933032992",
    15: "0.901250463",
    20: "0.870550563",
    25: "0.840896415",
    30: "0.812252396",
    35: "0.784584098",
    40: "0.757858283",
}


@pytest.mark.parametrize(
    ("skill_type", "weights"),
    [
        ("rag_knowledge", (30, 30, 15, 10, 15)),
        ("declarative", (40, 20, 20, 10, 10)),
        ("executable_python", (35, 30, 20, 15)),
        ("executable_script", (30, 30, 15, 10, 15)),
        ("mcp_server", (25, 25, 15, 10, 10, 15)),
        ("agent_composition", (30, 25, 15, 10, 20)),
    ],
)
def test_halving_an_axis_costs_its_weight(skill_type: str, weights: tuple[int, ...]) -> None:
    names = list(WEIGHTS[skill_type])
    whole = dict.fromkeys(names, "1")
    halved = [composite(skill_type, whole | {name: "0.5"}, "skills@1.1.0") for name in names]
    assert list(map(text, halved)) == [HALF_TO_THE[weight] for weight in weights]


@pytest.mark.parametrize(
    ("skill_type", "role", "emitted"),
    [
        ("rag_knowledge", "primary", "1.150000000"),
        ("declarative", "auditor", "0.966000000"),
        ("executable_python", "primary", "2.300000000"),
        ("executable_script", "auditor", "1.656000000"),
        ("mcp_server", "primary", "3.680000000"),
        ("agent_composition", "auditor", "2.760000000"),
    ],
)
def test_a_faultless_record_emits_its_weight_and_role(
    skill_type: str, role: str, emitted: str
) -> None:
    agreed = {"expected_manifest_hash": "a:b"} if skill_type == "mcp_server" else {}
    found = {"mcp_manifest_hash": "a:b"} if skill_type == "mcp_server" else {}
    record = base(skill_type, task=agreed, submission=found, checks={}) | {"role": role}
    row = score(record, "skills@1.0.0")
    assert (row["quality"], row["emission"]) == ("1.000000000", emitted)


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


@pytest.mark.parametrize(
    ("number", "published"),
    [
        (0.5e-9, "0.000000000"),
        (1.5e-9, "0.000000002"),
        (0.1 + 0.2, "0.300000000"),
        (1, "1.000000000"),
    ],
)
def test_a_fact_is_the_nearest_count_of_the_double(number: float, published: str) -> None:
    assert text(fact(number)) == published


def test_a_skill_type_of_another_rule_set_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"rule set workflow@1\.0\.0 has no skill type"):
        score(python_record(), "workflow@1.0.0")
