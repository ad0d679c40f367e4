"""Two rule sets are compared by made-up miners: equal ones move nothing, others what they do."""

from __future__ import annotations

import numpy as np
import pytest
from networks import NO_SHARES, changed, replaced, shipped

from tallystick_simulation.comparison import BURNT, NOBODY, compare

NANO = 10**9


def test_a_rule_set_beside_itself_moves_nothing() -> None:
    rules = shipped("workflow@1.2.0")
    comparison = compare(rules, rules, epochs=3)
    assert comparison.moved_overall == 0
    assert comparison.emission[0] == comparison.emission[1]
    assert all(old == new for old, new in comparison.pay.values())


@pytest.mark.nightly
def test_shipped_skills_exercise_all_but_groups_without_a_consensus() -> None:
    comparison = compare(shipped("skills@1.1.0"), shipped("skills@1.2.0"))
    assert comparison.not_exercised == ("group too small for a consensus",)
    assert comparison.moved_overall > 0


def test_where_nobody_is_paid_all_weight_moves() -> None:
    old, new = shipped("workflow@1.2.0"), replaced("workflow@1.2.0", *NO_SHARES)
    comparison = compare(old, new, epochs=3)
    assert comparison.moved_overall >= NANO - 30
    assert comparison.pay[NOBODY] == (0, NANO)
    assert "step high binds" not in comparison.not_exercised


def test_what_moves_is_half_of_all_differences() -> None:
    old, new = shipped("workflow@1.1.0"), shipped("workflow@1.2.0")
    comparison = compare(old, new, epochs=4)
    old_table, new_table = (
        np.column_stack((outcome.weights, outcome.burnt, outcome.nobody)).astype(object)
        for outcome in (comparison.old, comparison.new)
    )
    difference = abs(old_table.sum(axis=0) - new_table.sum(axis=0)).sum() / 4
    assert abs(2 * comparison.moved_overall - difference) <= 60  # weights are rounded one by one
    names = [*comparison.pay]
    assert names == [*comparison.old.names, BURNT, NOBODY]


@pytest.mark.nightly
def test_emission_grows_with_a_base_weight() -> None:
    old = shipped("skills@1.2.0")
    new = changed("skills@1.2.0", {"skill_types.mcp_server.base_weight": "3.2"})
    comparison = compare(old, new, epochs=2)
    before, after = comparison.emission
    assert before < after < 2 * before


def test_a_comparison_can_begin_with_a_state() -> None:
    old, new = shipped("workflow@1.1.0"), shipped("workflow@1.2.0")
    state = compare(old, new, epochs=2).new.state
    comparison = compare(old, new, epochs=1, state=state)
    assert comparison.new.state.epoch == 3
