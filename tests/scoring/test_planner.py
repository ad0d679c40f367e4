"""Candidates that share what they compute alike give what scoring alone gives."""

import numpy as np
import pytest
from examples import fast_rows

from tallystick.numbers.nano import NANO
from tallystick.plugins.registry import installed
from tallystick.records.struct_builder import Record
from tallystick.scoring.planner import Plan, Target
from tallystick.scoring.scores import score_facts
from tallystick_conformance.testing.samples import of_type
from tallystick_governance.backtest.candidates import candidates_of, parse_sweep


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
    plan = Plan(Target(each, each.shown, each.cuts(levels)) for each, levels in pairs)
    for n, scores in enumerate(plan.run(facts.__getitem__, len(rows))):
        alone = [score_facts(bounds[n], row, thresholds[n]).values for row in rows]
        for value, column in scores.columns.items():
            exact = [NANO if (nano := each[value]) is None else nano for each in alone]
            assert column.tolist() == exact, value.name
    assert len(rows) > 5
