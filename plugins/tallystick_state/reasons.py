"""Why an answer is empty: who is missing, and what would help."""

from __future__ import annotations

from tallystick.numbers.nano import from_decimal, to_text
from tallystick.numbers.text import numbered
from tallystick_allocation.rules import ALLOCATION, Collect
from tallystick_state.carry import carried_names
from tallystick_state.groups import is_ejected
from tallystick_state.model import State
from tallystick_state.rules import StateRules

_REGISTER = "register miners with tallystick miner register or miner sync"
NO_MINERS = f"no miner is registered: {_REGISTER}"
"""Why a state has no miners."""
NO_RECORD = "no record in the round"
"""Why a miner has no weight under rules that give weights to those of one round alone."""
REFUSED = "the rules refuse what they are given"
"""Why nobody has a weight where a step refuses the round."""
NO_LINE = "no weight in any line"
"""Why a miner has no weight in a state whose lines share all."""
NO_ROUNDS = "no record is recorded yet: record some with tallystick round close"
"""Why a state has no rounds."""


def no_candidates(state: State, skill_type: str, rules: StateRules) -> str:
    """Why no miner can be selected for a type."""
    declared = [each for each in state.miners.values() if skill_type in each.types]
    if not declared:
        return f"no miner declares {skill_type}: {_REGISTER}"
    left = {
        "without a slot": [each for each in declared if each.uid is None],
        "ejected by collusion flags": [
            each for each in declared if each.uid is not None and is_ejected(rules, each)
        ],
    }
    others = len(declared) - sum(map(len, left.values()))
    parts = [f"{len(found)} {why}" for why, found in left.items() if found]
    if others:
        minimum = to_text(from_decimal(rules.groups.minimum_reputation))
        parts.append(f"{others} below the minimum reputation {minimum}")
    return f"{numbered(len(declared), 'miner')} of {skill_type}: {', '.join(parts)}"


def no_weights(state: State, rules: StateRules, last_round: int | None) -> str:
    """Why no miner has a weight.

    Args:
        state: the live state.
        rules: its rules.
        last_round: the last closed round; None when none is.
    """
    if not state.miners:
        return NO_MINERS
    if all(each.uid is None for each in state.miners.values()):
        return f"no miner holds a slot: {_REGISTER}"
    allocation = rules.rule_set.section(ALLOCATION)
    if allocation is None:
        return (
            f"{rules.rule_set.reference} has no [allocation]: it scores records, and weighs nobody"
        )
    steps = allocation.steps
    if any(isinstance(step, Collect) and step.records == "window" for step in steps):
        return (
            "no miner with a slot has a score above 0 in its window: close rounds with tallystick "
            "round close"
        )
    if carried_names(rules.rule_set):
        return (
            "no miner with a slot has a score above 0 in any round: close rounds with tallystick "
            "round close"
        )
    if last_round is None:
        return "no round is closed yet: close one with tallystick round close"
    return f"no miner with a slot has a score above 0 in round {last_round}, the last closed one"
