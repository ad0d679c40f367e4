"""The change of an epoch: each line closes over its events, and begins the next by its rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from tallystick.state.adoption import FlaggedBy, adopt
from tallystick.state.epoch import close_epoch
from tallystick.state.event import StateEvent
from tallystick.state.model import State
from tallystick.state.rules_in_force import RulesInForce


def next_epoch(
    state: State,
    events: Sequence[StateEvent],
    in_force: RulesInForce,
    snapshot: Callable[[int], State],
    flags_by: Callable[[], FlaggedBy],
) -> State:
    """The state as the next epoch begins.

    Args:
        state: as the open one ends.
        events: all that were recorded while it was open.
        in_force: the rules of each line in each epoch.
        snapshot: the state at the start of an epoch that has begun.
        flags_by: who flagged each miner, read where that begins to count.
    """
    return _adopted(_closed(state, events, in_force, snapshot), in_force, flags_by)


def _closed(
    state: State,
    events: Sequence[StateEvent],
    in_force: RulesInForce,
    snapshot: Callable[[int], State],
) -> State:
    """The state after the open epoch: each line closes over the events of its types."""
    epoch = state.epoch
    for rules in in_force.at(epoch).lines:
        own = [each for each in events if in_force.line_of(each.skill_type) == rules.line]
        # rules without epochs pin nothing, and take records of any epoch
        pins = {event.epoch for event in own} if rules.rule_set.epochs else set[int]()
        pinned = {pin: snapshot(pin) for pin in sorted(pins)}
        base_rules = in_force.lines[rules.line].at
        closed = close_epoch(state, own, rules, pinned, base_rules=base_rules)
        state = attrs.evolve(closed, epoch=epoch)
    return attrs.evolve(state, epoch=epoch + 1)


def _adopted(state: State, in_force: RulesInForce, flags_by: Callable[[], FlaggedBy]) -> State:
    """The state of a new epoch under the rules that begin with it, line by line."""
    epoch = state.epoch
    # of the lines that come later still those of the epoch before
    held = {rules.line: rules for rules in in_force.at(epoch - 1).lines}
    for line, timeline in in_force.lines.items():
        new = timeline.begins(epoch)
        if new is not None:
            old = held.pop(line)
            raised = new.quorum > 1 and old.quorum == 1
            state = adopt(
                state,
                old,
                new,
                flagged_by=flags_by() if raised else None,
                quorum_elsewhere=max((each.quorum for each in held.values()), default=1),
            )
            held[line] = new
    return state
