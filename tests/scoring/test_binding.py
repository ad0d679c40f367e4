"""What is refused between a rule set, its formulas and the record schemas, before any record."""

import json
from pathlib import Path

import attrs
import pytest

import tallystick
from tallystick.formula.tree import const
from tallystick.plugins.author import (
    Formula,
    Node,
    Parameters,
    axis,
    clip,
    composite,
    emission,
    integer,
    label,
    number,
    opaque,
    published,
    threshold,
    unrounded,
)
from tallystick.plugins.registry import Registry, installed

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = (ROOT / "plugins/tallystick_skills/examples.jsonl").read_bytes().splitlines()[2]

HEADER = '[rule_set]\nname = "test"\nversion = "1.0.0"\nformat = 1\n'
PYTHON = """
[axes.risk]
formula = "test/risk@1"
[skill_types.executable_python]
composite = "arithmetic"
weights = { risk = 1 }
"""


@axis("test/risk@1")
def risk(_p: Parameters) -> Node:
    return 1 * number("submission.risk_score")


@axis("test/division@1")
def division(_p: Parameters) -> Node:
    return 1 / integer("submission.latency_ms")


@axis("test/too-large@1")
def too_large(_p: Parameters) -> Node:
    return number("submission.risk_score") + 1


@axis("test/absent@1")
def absent(_p: Parameters) -> Node:
    return 1 * number("submission.nothing")


@opaque("huge", low=1, high=2**70)
def huge(_record: object) -> int:
    return 1


@axis("test/wide@1")
def wide(_p: Parameters) -> Node:
    return huge / huge


@composite("test/constant@1")
def constant(_p: Parameters) -> Node:
    return published("risk") * 0 + 1


@composite("test/halved@1")
def halved(_p: Parameters) -> Node:
    return 1 - label("half of it", published("risk") / 2)


@composite("test/inverse-risk@1")
def inverse_risk(_p: Parameters) -> Node:
    return 1 / published("risk")


@axis("test/follows@1")
def follows(_p: Parameters) -> Node:
    return clip(unrounded("risk"))


@threshold("test/inverse@1", within=(0, 10))
def inverse(_p: Parameters) -> Node:
    return 1 / published("baseline")


@threshold("test/shifted@1", within=(0, 1), by=(-10, 10))
def shifted(p: Parameters) -> Node:
    return published("baseline") + p.by


@emission("test/plain@1", within=(0, 10))
def plain(_p: Parameters) -> Node:
    return published("quality") * published("base_weight")


@axis("test/one@1")
def one(_p: Parameters) -> Node:
    return const(1)


FORMULAS = (
    *(one, risk, division, too_large, absent, wide),
    *(constant, halved, inverse, inverse_risk, follows, shifted, plain),
)


@pytest.fixture(scope="module")
def registry() -> Registry:
    found = installed()
    added: dict[str, Formula] = {formula.name: formula for formula in FORMULAS}
    return attrs.evolve(found, formulas={**found.formulas, **added})


def load(folder: Path, registry: Registry, text: str) -> tallystick.Scorer:
    path = folder / "test.toml"
    path.write_text(HEADER + text, encoding="utf-8")
    return tallystick.load(str(path), registry=registry)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("test/division@1", "division by latency_ms, which can be 0"),
        ("test/too-large@1", "from 1 to 2, expected 0 to 1"),
        ("test/absent@1", "has no 'nothing'"),
        ("test/wide@1", "expected 64 bits"),
    ],
)
def test_an_axis_that_is_not_safe_is_refused_where_it_is_named(
    tmp_path: Path, registry: Registry, formula: str, message: str
) -> None:
    with pytest.raises(tallystick.RuleSetError, match=message) as caught:
        load(tmp_path, registry, PYTHON.replace("test/risk@1", formula))
    (problem,) = caught.value.problems
    assert (problem.path, problem.line, problem.evidence["value"]) == ("axes.risk", 6, formula)


def test_every_formula_that_is_not_safe_is_told_at_once(tmp_path: Path, registry: Registry) -> None:
    text = """
[axes.first]
formula = "test/division@1"
[axes.lost]
formula = "test/absent@1"
[axes.risk]
formula = "test/too-large@1"
[axes.follows]
formula = "test/follows@1"
[skill_types.executable_python]
composite = "arithmetic"
weights = { first = 0.5, lost = 0.5 }
axes = ["risk", "follows"]
[skill_types.executable_script]
composite = "test/inverse-risk@1"
axes = ["risk"]
"""
    with pytest.raises(tallystick.RuleSetError) as caught:
        load(tmp_path, registry, text)
    assert {problem.path for problem in caught.value.problems} == {
        *("axes.first", "axes.lost", "axes.risk"),
        "skill_types.executable_script.composite",
    }
    assert len(caught.value.problems) == 4


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ('formula = "test/inverse@1"', "division by baseline"),
        ('formula = "test/shifted@1"\nby = 0.6', "from 0.6 to 1.6, expected 0 to 1"),
    ],
)
def test_a_threshold_that_is_not_safe_is_refused_where_it_is_named(
    tmp_path: Path, registry: Registry, parameters: str, message: str
) -> None:
    tiers = f"""
[tiers.thresholds.baseline]
[tiers.thresholds.high]
{parameters}
[[tiers.levels]]
name = "low"
multiplier = 1
[[tiers.levels]]
name = "high"
from = "high"
multiplier = 2
"""
    text = PYTHON.replace("composite", "baseline = 0.5\ncomposite") + tiers
    with pytest.raises(tallystick.RuleSetError, match=message) as caught:
        load(tmp_path, registry, text)
    (problem,) = caught.value.problems
    assert problem.path == "tiers.thresholds.high"


def test_thresholds_out_of_order_at_a_seed_are_refused(tmp_path: Path) -> None:
    shipped = (ROOT / "rules/skills/1.0.0.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(shipped.replace("factor = 1.15 ", "factor = 1.6  "), encoding="utf-8")
    with pytest.raises(tallystick.RuleSetError, match="order the thresholds") as caught:
        tallystick.load(str(path))
    assert {problem.path for problem in caught.value.problems} == {"tiers.thresholds.novel"}
    assert len(caught.value.problems) == 6


def test_a_type_whose_formulas_read_no_facts_still_meets_its_requirements(
    tmp_path: Path, registry: Registry
) -> None:
    text = PYTHON.replace('composite = "arithmetic"\nweights = { risk = 1 }', "%s")
    scorer = load(tmp_path, registry, text % 'composite = "test/constant@1"\naxes = ["risk"]')
    record = json.loads(EXAMPLE)
    assert f"{scorer.score(record).quality:f}" == "1.000000000"
    record["task"]["deadline_s"] = record["task"]["t_min_s"]
    with pytest.raises(tallystick.RecordError, match="timing-window"):
        scorer.score(record)


def test_a_composite_is_explained_with_the_values_of_its_labels(
    tmp_path: Path, registry: Registry
) -> None:
    text = PYTHON.replace('composite = "arithmetic"\nweights = { risk = 1 }', "%s")
    scorer = load(tmp_path, registry, text % 'composite = "test/halved@1"\naxes = ["risk"]')
    step = scorer.explain(EXAMPLE).composite
    assert step is not None
    assert (step.text, f"{step.quality:f}") == (
        "1 − half of it, where half of it = 0.475",
        "0.525000000",
    )


def test_an_emission_needs_no_tiers(tmp_path: Path, registry: Registry) -> None:
    text = PYTHON.replace("composite", "base_weight = 2\ncomposite")
    scorer = load(tmp_path, registry, text + '[emission]\nformula = "test/plain@1"\n')
    result = scorer.score(EXAMPLE)
    assert (result.tier, result.tier_multiplier) == (None, None)
    assert result.quality is not None
    assert result.emission == 2 * result.quality
    assert list(scorer.score_lines([EXAMPLE]).results()) == [result]
    explanation = scorer.explain(EXAMPLE)
    assert explanation.emission is not None
    assert explanation.emission.value == result.emission


def test_an_unknown_threshold_is_refused(scorers: dict[str, tallystick.Scorer]) -> None:
    scorer = scorers["skills@1.0.0"]
    with pytest.raises(tallystick.TallystickError, match="expected baseline and perhaps"):
        scorer.with_thresholds({"mcp_server": {"gold": "0.5"}})
    with pytest.raises(tallystick.TallystickError, match="no tiers"):
        scorers["workflow@1.0.0"].with_thresholds({"workflow": {"baseline": "0.5"}})
    only_novel = scorer.with_thresholds({"mcp_server": {"novel": "0.9"}})
    assert only_novel.thresholds["mcp_server"]["baseline"] == 450_000_000


def test_a_type_without_any_fact_is_scored(tmp_path: Path, registry: Registry) -> None:
    bare = attrs.evolve(registry.skill_types["executable_python"], requirements=())
    types = {**registry.skill_types, bare.name: bare}
    without = attrs.evolve(registry, skill_types=types)
    scorer = load(tmp_path, without, PYTHON.replace("test/risk@1", "test/one@1"))
    assert [f"{r.quality:f}" for r in scorer.score_lines([EXAMPLE, EXAMPLE]).results()] == [
        "1.000000000",
        "1.000000000",
    ]
    assert f"{scorer.score(EXAMPLE).quality:f}" == "1.000000000"
