"""Adoptions make another state of a state: each step by hand."""

from decimal import Decimal
from functools import cache
from typing import Any

import attrs
import pytest
from rules.documents import with_section
from state.random_epochs import changed
from state.subnet import under

import tallystick
from tallystick.numbers.nano import from_text
from tallystick.rules.model import RuleSet
from tallystick_state.adoption import adopt
from tallystick_state.groups import candidate_pool
from tallystick_state.model import MinerEntry, State
from tallystick_state.rules import StateRules, state_rules_of
from tallystick_state.sections.epochs import BaselineTracking
from tallystick_state.sections.reputation import REPUTATION

PYTHON, RAG = "executable_python", "rag_knowledge"


@cache
def rules_of(name: str) -> StateRules:
    return state_rules_of(tallystick.load(name))


def without(name: str, skill_type: str) -> StateRules:
    """Shipped rules without a skill type."""
    rule_set = rules_of(name).rule_set
    types = {each: rules for each, rules in rule_set.skill_types.items() if each != skill_type}
    return under(rules_of(name), attrs.evolve(rule_set, skill_types=types))


def without_reputation(name: str) -> StateRules:
    rule_set: RuleSet = with_section(rules_of(name).rule_set, REPUTATION, None)
    return under(rules_of(name), rule_set)


def state(rules: StateRules, *miners: MinerEntry, **thresholds: dict[str, str]) -> State:
    """A state in which some thresholds have moved from their seeds."""
    moved = {
        name: {
            **seeds,
            **{each: from_text(text) for each, text in thresholds.get(name, {}).items()},
        }
        for name, seeds in rules.seeds.items()
    }
    return State(7, {miner.hotkey: miner for miner in miners}, moved)


def miner(value: str = "0.600000000", **values: Any) -> MinerEntry:  # noqa: ANN401  # of any field
    return attrs.evolve(MinerEntry("hk-1", 1, (PYTHON,), {PYTHON: from_text(value)}), **values)


def adopted(found: State, old: StateRules, new: StateRules, **values: Any) -> MinerEntry:  # noqa: ANN401  # as above
    return adopt(found, old, new, **values).miners["hk-1"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("0.100000000", "0.200000000"),
        ("0.500000000", "0.500000000"),
        ("1.000000000", "0.900000000"),
    ],
)
def test_reputations_come_within_the_new_floor_and_ceiling(before: str, after: str) -> None:
    old = rules_of("skills@1.1.0")
    narrow = changed(
        rules_of("skills@1.1.0"), "reputation", floor=Decimal("0.2"), ceiling=Decimal("0.9")
    )
    assert adopted(state(old, miner(before)), old, narrow) == miner(after)


def test_a_type_that_is_gone_keeps_its_reputation_as_it_was_and_has_no_pool() -> None:
    old, new = rules_of("skills@1.1.0"), without("skills@1.2.0", PYTHON)
    low = changed(rules_of("skills@1.1.0"), "reputation", floor=Decimal("0.7"))
    before = state(old, miner())
    gone = adopt(
        before,
        old,
        under(new, with_section(new.rule_set, REPUTATION, low.rule_set.section(REPUTATION))),
    )
    assert gone.miners["hk-1"] == miner()
    assert candidate_pool(gone, PYTHON, new, 1) == ()
    assert PYTHON not in gone.thresholds
    back = adopt(gone, new, old)
    assert candidate_pool(back, PYTHON, old, 1) == ("hk-1",)
    assert back.thresholds[PYTHON] == old.seeds[PYTHON]


def test_a_declared_type_without_a_reputation_begins_at_initial() -> None:
    old, new = without_reputation("skills@1.1.0"), rules_of("skills@1.2.0")
    bare = miner(types=(PYTHON, RAG), reputation={})
    found = adopted(state(old, bare), old, new)
    assert found.reputation == dict.fromkeys((PYTHON, RAG), from_text("0.500000000"))


def test_rules_without_reputations_leave_them() -> None:
    old, new = rules_of("skills@1.1.0"), without_reputation("skills@1.1.0")
    low = miner("0.010000000")
    assert adopted(state(old, low), old, new) == low


def test_without_a_quorum_nobody_is_noted_and_between_quorums_who_was_stays() -> None:
    rules, before = rules_of("skills@1.2.0"), miner(flags=3, flagged_by={"val-1": 2, "val-2": 1})
    found = adopted(state(rules, before), rules, rules_of("skills@1.1.0"))
    assert (found.flags, found.flagged_by) == (3, {})
    more = attrs.evolve(rules.reputation, collusion=attrs.evolve(_collusion(rules), quorum=3))
    stricter = under(rules, with_section(rules.rule_set, REPUTATION, more))
    assert adopted(state(rules, before), rules, stricter) == before


def test_a_quorum_of_another_line_keeps_who_gave_the_flags() -> None:
    old, new = rules_of("skills@1.2.0"), rules_of("skills@1.1.0")
    before = miner(flags=3, flagged_by={"val-1": 3})
    assert adopted(state(old, before), old, new, quorum_elsewhere=2) == before


def _collusion(rules: StateRules) -> Any:  # noqa: ANN401  # that it is there
    return rules.reputation.collusion


def test_a_threshold_that_both_track_is_carried_and_another_one_seeded() -> None:
    old, new = rules_of("skills@1.0.0"), rules_of("skills@1.1.0")
    before = state(old, executable_python={"baseline": "0.700000000", "novel": "0.990000000"})
    found = adopt(before, old, new).thresholds[PYTHON]
    # the baseline of 1.1.0 is the published constant, which follows nothing
    assert found == {"baseline": new.seeds[PYTHON]["baseline"], "novel": from_text("0.990000000")}
    back = adopt(attrs.evolve(before, thresholds={PYTHON: found}), new, old).thresholds[PYTHON]
    assert back == {"baseline": old.seeds[PYTHON]["baseline"], "novel": from_text("0.990000000")}


def test_a_tracked_baseline_is_carried_between_rules_that_track_it() -> None:
    old = rules_of("skills@1.0.0")
    new = changed(rules_of("skills@1.1.0"), "epochs", baseline=old.epochs.baseline)
    before = state(old, executable_python={"baseline": "0.700000000", "novel": "0.990000000"})
    assert adopt(before, old, new).thresholds[PYTHON] == before.thresholds[PYTHON]


def test_a_name_that_is_tracked_no_more_is_dropped_and_tracked_anew_seeded() -> None:
    old = rules_of("skills@1.1.0")
    new = changed(rules_of("skills@1.1.0"), "epochs", thresholds={})
    before = state(old, executable_python={"novel": "0.990000000"})
    dropped = adopt(before, old, new)
    assert dropped.thresholds[PYTHON] == {"baseline": old.seeds[PYTHON]["baseline"]}
    assert adopt(dropped, new, old).thresholds == old.seeds


def test_the_floor_of_the_new_formula_holds_at_once() -> None:
    old = rules_of("skills@1.0.0")
    median = BaselineTracking("median_quality", roles=("primary",))
    # 1.1.0 has the novel threshold at least at b + (1 − b) / 2 where 1.5 · b is above that
    new = changed(rules_of("skills@1.1.0"), "epochs", baseline=median)
    before = state(old, executable_python={"baseline": "0.800000000", "novel": "0.850000000"})
    found = adopt(before, old, new).thresholds[PYTHON]
    assert found == {"baseline": from_text("0.800000000"), "novel": from_text("0.900000000")}


def test_types_of_other_lines_are_left_alone() -> None:
    old, new = rules_of("skills@1.0.0"), rules_of("skills@1.1.0")
    other = {"workflow": {"baseline": 1}}
    found = adopt(attrs.evolve(state(old), thresholds={**old.seeds, **other}), old, new)
    assert found.thresholds["workflow"] == {"baseline": 1}
