"""Adoptions make another state of a state: by hand what no history of `oracle.history` has."""

from decimal import Decimal
from typing import Any

import attrs
from rules.documents import with_section
from state.random_epochs import changed
from state.subnet import rules_of, under

from tallystick.numbers.nano import from_text
from tallystick.rules.model import RuleSet
from tallystick_state.adoption import adopt
from tallystick_state.model import MinerEntry, State
from tallystick_state.rules import StateRules
from tallystick_state.sections.reputation import REPUTATION

PYTHON, RAG = "executable_python", "rag_knowledge"


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


def test_reputations_come_within_the_new_ceiling() -> None:
    old = rules_of("skills@1.1.0")
    narrow = changed(old, "reputation", ceiling=Decimal("0.9"))
    assert adopted(state(old, miner("1.000000000")), old, narrow) == miner("0.900000000")


def test_no_floor_lifts_the_reputation_of_a_type_that_is_gone() -> None:
    old = rules_of("skills@1.1.0")
    higher = changed(old, "reputation", floor=Decimal("0.7"))
    types = {name: of for name, of in old.rule_set.skill_types.items() if name != PYTHON}
    fewer = under(higher, attrs.evolve(higher.rule_set, skill_types=types))
    assert adopted(state(old, miner()), old, fewer) == miner()


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


def test_a_name_that_is_tracked_no_more_is_dropped_and_tracked_anew_seeded() -> None:
    old = rules_of("skills@1.1.0")
    new = changed(rules_of("skills@1.1.0"), "epochs", thresholds={})
    before = state(old, executable_python={"novel": "0.990000000"})
    dropped = adopt(before, old, new)
    assert dropped.thresholds[PYTHON] == {"baseline": old.seeds[PYTHON]["baseline"]}
    assert adopt(dropped, new, old).thresholds == old.seeds


def test_types_of_other_lines_are_left_alone() -> None:
    old, new = rules_of("skills@1.0.0"), rules_of("skills@1.1.0")
    other = {"workflow": {"baseline": 1}}
    found = adopt(attrs.evolve(state(old), thresholds={**old.seeds, **other}), old, new)
    assert found.thresholds["workflow"] == {"baseline": 1}
