"""Scores of answers are those that a record with the same facts has, and are computed once."""

from __future__ import annotations

import numpy as np
import pytest
from networks import pool_of, shipped

from tallystick.formula.columns import Column
from tallystick.numbers.nano import NANO
from tallystick.scoring.planner import score_columns
from tallystick_consensus.group_record import CONSENSUS
from tallystick_simulation.pool import Key
from tallystick_simulation.type_run import ROLES, TypeRun, types_of

TYPES = [
    ("skills@1.0.0", "mcp_server"),
    ("skills@1.2.0", "executable_python"),
    ("skills@1.2.0", "declarative"),
    ("workflow@1.2.0", "workflow"),
]
BEHAVIOURS = "honest", "idle", "rush", "wrong"


def rows_of(of_type: TypeRun) -> Column:
    """Answers of several behaviours, some of them twice."""
    blocks = (of_type.pool.block(Key(name, 75)) for name in BEHAVIOURS)
    rows = np.concatenate([block.rows(np.array([3, 0, 2, 3])) for block in blocks])
    assert (rows >= 0).all()
    return rows


@pytest.mark.parametrize(("reference", "skill_type"), TYPES)
def test_scores_are_those_of_every_fact_of_every_row(reference: str, skill_type: str) -> None:
    rules = shipped(reference)
    of_type = types_of(rules, pool_of(reference))[skill_type]
    bound, rows = of_type.bound, rows_of(of_type)
    tiers = None if bound.tiers is None else bound.tiers.tracked
    consensus = [None] if reference == "skills@1.2.0" else [None, NANO // 3]
    values = {
        "role": (ROLES, np.arange(len(rows)) % 2),
        CONSENSUS: (consensus, np.arange(len(rows)) % len(consensus)),
    }
    of_round = of_type.facts.columns(values)

    def column(digest: str) -> Column:
        if digest in of_type.pool.places:
            return of_type.pool.column(digest, rows)
        return np.broadcast_to(of_round(digest), rows.shape)

    for baseline in (NANO // 10, NANO // 2):
        given = {} if bound.tiers is None else dict.fromkeys(tiers or (), baseline)
        thresholds = {} if bound.tiers is None else bound.tiers.thresholds(given)
        own = of_type.scores(rows, values, thresholds)
        every = score_columns(bound, column, thresholds, len(rows))
        shared = own.columns.keys() & every.columns.keys()
        assert {*bound.factors, bound.tier, bound.emission} - {None} <= shared
        assert not bound.has_quality or bound.quality in shared
        for value in shared:
            assert own.columns[value].tolist() == every.columns[value].tolist()
        assert {v: r.tolist() for v, r in own.ratios.items()} == {
            v: r.tolist() for v, r in every.ratios.items()
        }
        for value in own.given:
            assert own.given[value].tolist() == every.given[value].tolist()


def test_what_task_and_answer_decide_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, pool = shipped("skills@1.2.0"), pool_of("skills@1.2.0", 4, 9)
    of_type = types_of(rules, pool)["executable_python"]
    asked = list[int]()
    column = of_type.pool.column
    monkeypatch.setattr(
        of_type.pool,
        "column",
        lambda digest, rows: (asked.append(len(rows)), column(digest, rows))[1],
    )
    rows = rows_of(of_type)
    first = of_type.scores(rows, {}, of_type.bound.seeds)
    assert {*asked} == {len({*rows.tolist()})}
    asked.clear()
    again = of_type.scores(rows[::-1], {}, of_type.bound.seeds)
    assert asked == []
    assert again.quality.tolist() == first.quality.tolist()[::-1]
