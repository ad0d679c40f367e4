"""The kernels that candidates share give what scoring alone gives, on the hardest rows."""

import numpy as np
import pytest
from examples import fast_rows
from hypothesis import given
from hypothesis import strategies as st

import tallystick
from tallystick.numbers.nano import NANO
from tallystick.plugins.registry import installed
from tallystick.records.struct_builder import Record
from tallystick.scoring.planner import Target, plan_of
from tallystick.scoring.products import finished, partial_product, product_of
from tallystick.scoring.scores import score_facts
from tallystick_conformance.testing.samples import of_type
from tallystick_governance.backtest.candidates import candidates_of, parse_sweep

VALUES = st.one_of(st.integers(0, NANO), st.sampled_from([0, 1, 2, NANO - 1, NANO]))


@pytest.fixture(scope="module")
def skills() -> tallystick.Scorer:
    return tallystick.load("skills@1.0.0")


@pytest.mark.parametrize("name", ["declarative", "mcp_server"])
@given(data=st.data())
def test_a_product_is_the_emission_of_the_formula(
    skills: tallystick.Scorer, name: str, data: st.DataObject
) -> None:
    bound = skills.types[name]
    assert bound.emission is not None
    assert bound.tiers is not None
    compiled = bound.emission.compiled
    product = product_of(compiled.lowered.columns)
    assert product is not None
    choices = {
        "tier_multiplier": st.sampled_from(bound.tiers.multipliers),
        "early_bonus": st.sampled_from([1_150_000_000, 1_080_000_000, NANO]),
        "role_multiplier": st.sampled_from([600_000_000, NANO]),
        "bootstrap_bonus": st.sampled_from([1_312_500_000, NANO]),
    }
    values = {str(s): data.draw(choices.get(str(s), VALUES)) for s in compiled.sources}
    names = [str(compiled.sources[place]) for place in product.inputs]
    units = dict(zip(names, product.units, strict=True))
    columns = {each: np.array([values[each]], np.int64) for each in names}
    own = [each for each in names if each in ("quality", "tier_multiplier")]
    rest = [each for each in names if each not in own]
    shared = partial_product(
        product, [units[each] for each in rest], [columns[each] for each in rest]
    )
    exact = [compiled.nano((), values)]
    own_units = [units[each] for each in own]
    found = finished(product, shared, own_units, [columns[each] for each in own], 1)
    assert found.tolist() == exact
    doubles = [columns[each].astype(np.float64) for each in own]
    assert finished(product, shared, own_units, doubles, 1).tolist() == exact


def test_ties_of_a_product_go_to_the_even(skills: tallystick.Scorer) -> None:
    """A base weight of a half makes every odd quality a tie."""
    bound = skills.types["rag_knowledge"]
    assert bound.emission is not None
    compiled = bound.emission.compiled
    product = product_of(compiled.lowered.columns)
    assert product is not None
    ones = {"tier_multiplier": NANO, "early_bonus": NANO, "role_multiplier": NANO}
    quality = np.arange(1, 2_000, dtype=np.int64)
    names = [str(compiled.sources[place]) for place in product.inputs]
    units = dict(zip(names, product.units, strict=True))
    rest = [each for each in names if each != "quality"]
    columns = [np.full(len(quality), ones.get(each, NANO)) for each in rest]
    shared = partial_product(product, [units[each] for each in rest], columns)
    found = finished(product, shared, [units["quality"]], [quality], len(quality))
    assert found.tolist() == [
        compiled.nano((), ones | {"quality": q, "consensus": NANO}) for q in quality.tolist()
    ]
    assert found[:4].tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize(
    "sweep",
    fast_rows(
        [
            "skill_types.mcp_server.base_weight=1:2:0.5",
            "axes.policy.beta=0.3:0.7:0.2",
            "skill_types.mcp_server.baseline=0.5:0.9:0.2",
            "tiers.levels[3].multiplier=1:3:1",
            "skill_types.mcp_server.gates[0].below=0:0.5:0.25",
        ],
        1,
        3,
    ),
)
def test_candidates_of_one_plan_come_to_what_each_comes_to_alone(sweep: str) -> None:
    """A bonus depends on the base weight, which its lowered form does not read."""
    candidates = candidates_of(["skills@1.1.0"], [parse_sweep(sweep)], installed())
    bounds = [each.rules.types["mcp_server"] for each in candidates]
    thresholds = [each.rules.thresholds["mcp_server"] for each in candidates]
    scorer, bound = candidates[0].rules, bounds[0]
    asked = bound.required
    records = of_type(scorer.registry.skill_types["mcp_server"], asked)[:60]
    found = [scorer.decoder.convert(record, 1) for record in records]
    rows = [bound.facts_of(record) for record in found if isinstance(record, Record)]
    columns = np.array(rows, np.int64).T
    facts = {fact.digest: column for fact, column in zip(bound.facts, columns, strict=True)}
    plan = plan_of(Target(n, each, thresholds[n], each.shown) for n, each in enumerate(bounds))
    for n, scores in plan.run(facts.__getitem__, len(rows)):
        alone = [score_facts(bounds[n], row, thresholds[n]).values for row in rows]
        for value, column in scores.columns.items():
            exact = [NANO if (nano := each[value]) is None else nano for each in alone]
            assert column.tolist() == exact, value.name
    assert len(rows) > 5
