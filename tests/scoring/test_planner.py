"""The kernels that candidates share give what scoring alone gives, on the hardest rows."""

from decimal import Decimal

import numpy as np
import pytest
from examples import fast_rows
from hypothesis import given
from hypothesis import strategies as st

import tallystick
from tallystick.formula.columns import Column
from tallystick.numbers.nano import NANO
from tallystick.numbers.root import decide
from tallystick.numbers.weights import Weights
from tallystick.plugins.registry import installed
from tallystick.records.struct_builder import Record
from tallystick.scoring import means
from tallystick.scoring.means import geometric_means, logarithms
from tallystick.scoring.planner import Target, plan_of
from tallystick.scoring.products import finished, partial, product_of
from tallystick.scoring.scores import score_facts
from tallystick_conformance.testing.samples import of_type
from tallystick_governance.backtest.candidates import candidates_of, parse_sweep

WEIGHTS = (
    ["0.30", "0.30", "0.15", "0.10", "0.15"],
    ["0.318", "0.317", "0.1", "0.106", "0.159"],
    ["0.001", "0.999"],
    ["0.5", "0", "0.5"],
)
VALUES = st.one_of(st.integers(0, NANO), st.sampled_from([0, 1, 2, NANO - 1, NANO]))


def expected(rows: list[tuple[int, ...]], weights: Weights) -> list[int]:
    return [decide(tuple(row[place] for place in weights.kept), weights) for row in rows]


def means_of(columns: list[Column], weights: Weights) -> Column:
    kept = [columns[place] for place in weights.kept]
    return geometric_means(kept, logarithms(kept), weights)


@pytest.mark.parametrize("texts", WEIGHTS)
@given(data=st.data())
def test_shared_logarithms_give_the_exact_means(texts: list[str], data: st.DataObject) -> None:
    weights = Weights.of([Decimal(text) for text in texts])
    row = st.tuples(*[VALUES] * len(texts))
    rows = data.draw(st.lists(row, min_size=1, max_size=20))
    columns = list(np.array(rows, np.int64).T.copy())
    assert means_of(columns, weights).tolist() == expected(rows, weights)


@pytest.mark.parametrize("texts", WEIGHTS[:3])
def test_rows_near_a_half_are_decided_exactly(texts: list[str]) -> None:
    """Rows whose mean is so near a half that doubles cannot tell: pairs around every boundary."""
    weights = Weights.of([Decimal(text) for text in texts])
    rng = np.random.default_rng(3)
    columns = [rng.integers(1, NANO, 40_000) for _ in texts]
    found = means_of(columns, weights)
    exact = sum(
        np.log(column.astype(np.longdouble)) * n
        for column, n in zip(columns, weights.numerators, strict=True)
    )
    mean = np.exp(exact / weights.denominator)
    nearest = np.argsort(np.abs(mean - np.floor(mean) - np.longdouble(1) / 2))[:30]
    rows = [tuple(int(column[place]) for column in columns) for place in nearest]
    assert found[nearest].tolist() == expected(rows, weights)


@pytest.mark.parametrize("texts", WEIGHTS)
def test_logarithms_that_are_not_trusted_are_not_used(
    texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(means, "logarithms_are_trusted", lambda: False)
    monkeypatch.setattr(np, "exp", lambda *_, **__: pytest.fail("the exponential was used"))
    weights = Weights.of([Decimal(text) for text in texts])
    rng = np.random.default_rng(4)
    columns = [rng.integers(0, NANO, 20) for _ in texts]
    monkeypatch.setattr(means, "geometric_mean_columns", by_integers)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert means_of(columns, weights).tolist() == expected(rows, weights)


def by_integers(columns: list[Column], weights: Weights) -> Column:
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return np.array(expected(list(rows), weights))


@given(st.lists(st.integers(1, NANO), min_size=5, max_size=5), st.integers(-3, 3))
def test_a_guess_that_is_off_is_corrected(row: list[int], off: int) -> None:
    weights = Weights.of([Decimal(text) for text in WEIGHTS[1]])
    exact = decide(tuple(row), weights)
    assert means._decided(tuple(row), weights, exact + off) == exact  # rare in columns


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
    product = product_of(compiled.proved.columns)
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
    shared = partial(product, [units[each] for each in rest], [columns[each] for each in rest])
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
    product = product_of(compiled.proved.columns)
    assert product is not None
    ones = {"tier_multiplier": NANO, "early_bonus": NANO, "role_multiplier": NANO}
    quality = np.arange(1, 2_000, dtype=np.int64)
    names = [str(compiled.sources[place]) for place in product.inputs]
    units = dict(zip(names, product.units, strict=True))
    rest = [each for each in names if each != "quality"]
    columns = [np.full(len(quality), ones.get(each, NANO)) for each in rest]
    shared = partial(product, [units[each] for each in rest], columns)
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
    asked = tuple(requirement for requirement, _ in bound.requirements)
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
