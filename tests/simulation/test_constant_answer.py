"""The constant answer: better than others of its kind, judged by the engine, and valid or none."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import cache
from typing import Any

import attrs
import pytest
from networks import changed, key, shipped

from tallystick.plugins.generator import Draw
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.scorer import Scorer
from tallystick_simulation.constant_answer import (
    CONSTANT,
    ConstantAnswer,
    constant,
    constant_answer,
    constant_strategy,
)
from tallystick_simulation.pool import Pool
from tallystick_simulation.response import Setting, Trial, responses, trials

PYTHON = "executable_python"
_TYPE = f"skill_types.{PYTHON}"
COMPENSATING = {
    f"{_TYPE}.composite": "arithmetic",
    f"{_TYPE}.gates[0].below": "0",
    f"{_TYPE}.weights.detection": "0.7",
    f"{_TYPE}.weights.evidence": "0.1",
    f"{_TYPE}.weights.policy": "0.1",
    f"{_TYPE}.weights.efficiency": "0.1",
}
"""Changes by which a right verdict is paid where nothing else was done."""
SMALL = Setting(miners=8, epochs=4, seeds=2)


def trial_of(rules: BoundRules, skill_type: str) -> Trial:
    """A trial of one skill type, with few tasks."""
    (trial,) = trials(rules, SMALL, types=(skill_type,), pool=Pool(rules.registry, tasks=16))
    return trial


@cache
def searched() -> tuple[Trial, ConstantAnswer]:
    """Python under rules by which one axis makes up for another."""
    trial = trial_of(changed("skills@1.2.0", COMPENSATING), PYTHON)
    answer = constant_answer(trial)
    assert answer is not None
    return trial, answer


def mean_of(trial: Trial, submission: dict[str, Any]) -> Decimal:
    """The mean emission of an answer over the tasks that were not searched, as `score` gives it."""
    pool = trial.pool.of(PYTHON)
    answer, scorer = constant(submission), Scorer.of(trial.rules)
    total, records = Decimal(0), pool.block(key("honest", 0)).records[4:12]
    for record in records:
        given = answer(pool.profile, Draw(0), record)
        assert given is not None
        total += scorer.score(json.dumps(given)).emission or 0
    return total / len(records)


@pytest.mark.nightly
def test_its_mean_is_what_the_engine_scores() -> None:
    trial, answer = searched()
    own = mean_of(trial, dict(answer.submission))
    assert own > Decimal("0.5")
    assert abs(own - Decimal(answer.mean) / 10**9) < Decimal("1e-8")


@pytest.mark.parametrize("verdict", ["ALLOW", "REVIEW", "BLOCK"])
def test_no_other_verdict_scores_more(verdict: str) -> None:
    trial, answer = searched()
    other = mean_of(trial, {**answer.submission, "verdict": verdict})
    assert other <= mean_of(trial, dict(answer.submission))
    assert (other < Decimal(answer.mean - 1) / 10**9) == (verdict != answer.submission["verdict"])


def paid(trial: Trial, answer: ConstantAnswer | None) -> int | None:
    """The pay of a constant answer beside honest work."""
    assert answer is not None
    trial = attrs.evolve(trial, further=(constant_strategy(trial, answer),))
    _, found = responses((trial,), [CONSTANT])
    return found.ratio


@pytest.mark.nightly
def test_it_is_paid_where_axes_make_up_for_each_other_and_not_in_force() -> None:
    in_force = trial_of(shipped("skills@1.2.0"), PYTHON)
    assert paid(in_force, constant_answer(in_force)) == 0
    assert (paid(*searched()) or 0) > 10**8


def test_a_task_for_which_it_is_not_valid_has_no_answer() -> None:
    trial, answer = searched()
    pool = trial.pool.of(PYTHON)
    record = pool.block(key("honest", 80)).records[0]
    wrong = {**answer.submission, "verdict": "PERHAPS"}
    assert constant(wrong)(pool.profile, Draw(0), record) is None
    given = constant(answer.submission)(pool.profile, Draw(0), record)
    assert given is not None
    moved = {"latency_ms": given["submission"]["latency_ms"]}
    assert given["submission"] == {**answer.submission, **moved}


def test_a_type_whose_records_have_no_answer_has_none() -> None:
    assert constant_answer(trial_of(shipped("reward@1.0.0"), "reward")) is None
