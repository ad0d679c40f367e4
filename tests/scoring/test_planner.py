"""The kernels that candidates share give what scoring alone gives, on the hardest rows."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from examples import fast_rows
from hypothesis import given
from hypothesis import strategies as st

import tallystick
from tallystick.numbers.nano import NANO
from tallystick.plugins.registry import installed
from tallystick.records.struct_builder import Record
from tallystick.scoring.compiled import Compiled
from tallystick.scoring.planner import Plan, Target, product_of
from tallystick.scoring.scores import score_facts
from tallystick_conformance.testing.samples import of_type
from tallystick_governance.backtest.candidates import candidates_of, parse_sweep

VALUES = st.one_of(st.integers(0, NANO), st.sampled_from([0, 1, 2, NANO - 1, NANO]))


@pytest.fixture(scope="module")
def skills() -> tallystick.Scorer:
    return tallystick.load("skills@1.0.0")


def emissions(compiled: Compiled, values: Mapping[str, Sequence[int]], *own: str) -> list[int]:
    """The products of rows by name of the factor, of which some are multiplied in last."""
    product = product_of(compiled)
    assert product is not None
    named = {name: np.array(values[name], np.int64) for name in read_by(compiled)}
    names = [str(node.data[0]) for node in product.factors]
    partial = product.partial([named[name] for name in names if name not in own])
    last = [named[name] for name in names if name in own]
    columns = list(named.values())
    return product.rounded(partial, last, columns).tolist()


def read_by(compiled: Compiled) -> list[str]:
    """The names of the values that a tree without facts reads, in the order of its inputs."""
    return [str(node.data[0]) for node in compiled.reads]


@pytest.mark.parametrize("name", ["declarative", "mcp_server"])
@given(data=st.data())
def test_a_product_is_the_emission_of_the_formula(
    skills: tallystick.Scorer, name: str, data: st.DataObject
) -> None:
    bound = skills.types[name]
    assert bound.emission is not None
    assert bound.tiers is not None
    compiled = bound.emission.compiled
    choices = {
        "tier_multiplier": st.sampled_from(bound.tiers.multipliers),
        "early_bonus": st.sampled_from([1_150_000_000, 1_080_000_000, NANO]),
        "role_multiplier": st.sampled_from([600_000_000, NANO]),
        "bootstrap_bonus": st.sampled_from([1_312_500_000, NANO]),
    }
    values = {name: data.draw(choices.get(name, VALUES)) for name in read_by(compiled)}
    exact = [compiled.nano({}, values)]
    rows = {name: [value] for name, value in values.items()}
    assert emissions(compiled, rows, "quality", "tier_multiplier") == exact
    assert emissions(compiled, rows) == exact


def test_ties_of_a_product_go_to_the_even(skills: tallystick.Scorer) -> None:
    """A base weight of a half makes every odd quality a tie."""
    bound = skills.types["rag_knowledge"]
    assert bound.emission is not None
    compiled = bound.emission.compiled
    rows = {name: [NANO] * 1_999 for name in read_by(compiled)}
    rows["quality"] = list(range(1, 2_000))
    assert rows.keys() >= {"tier_multiplier", "early_bonus", "role_multiplier", "consensus"}
    found = emissions(compiled, rows, "quality")
    assert found == [
        compiled.nano({}, {name: column[row] for name, column in rows.items()})
        for row in range(1_999)
    ]
    assert found[:4] == [0, 1, 2, 2]


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
    found = [scorer.decoder.decode(record, 1) for record in records]
    rows = [bound.facts_of(record) for record in found if isinstance(record, Record)]
    facts = {digest: np.array([row[digest] for row in rows]) for digest in bound.domains}
    pairs = zip(bounds, thresholds, strict=True)
    plan = Plan(Target(each, each.shown, each.tracked(levels)) for each, levels in pairs)
    for n, scores in enumerate(plan.run(facts.__getitem__, len(rows))):
        alone = [score_facts(bounds[n], row, thresholds[n]).values for row in rows]
        for value, column in scores.columns.items():
            exact = [NANO if (nano := each[value]) is None else nano for each in alone]
            assert column.tolist() == exact, value.name
    assert len(rows) > 5
