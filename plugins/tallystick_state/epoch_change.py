"""The change of an epoch: each line closes over its events, and begins the next by its rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import attrs

from tallystick.errors import StateError
from tallystick_state.adoption import FlaggedBy, adopt
from tallystick_state.epoch import close_epoch
from tallystick_state.event import StateEvent
from tallystick_state.model import State
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.said import Said
from tallystick_state.sections.epochs import EPOCHS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tallystick_state.store.transaction import Transaction


def next_epoch(
    state: State,
    events: Sequence[StateEvent],
    in_force: RulesInForce,
    transaction: Transaction,
    said: Said,
) -> State:
    """The state as the next epoch begins.

    Args:
        state: as the open one ends.
        events: all that were recorded while it was open.
        in_force: the rules of each line in each epoch.
        transaction: has the snapshots of epochs before, their records, and who flagged whom.
        said: by line, what the rules ask of the rounds and of miners beside the records.
    """
    closed = _closed(state, events, in_force, transaction, said)
    return _adopted(closed, in_force, transaction.claims.flags_by)


def _closed(
    state: State,
    events: Sequence[StateEvent],
    in_force: RulesInForce,
    transaction: Transaction,
    said: Said,
) -> State:
    """The state after the open epoch: each line closes over the events of its types."""
    epoch = state.epoch
    for rules in in_force.at(epoch).lines:
        line = rules.line
        own = [each for each in events if in_force.line_of(each.skill_type) == line]
        # rules without epochs pin nothing, and take records of any epoch
        pins = {event.epoch for event in own} if rules.rule_set.section(EPOCHS) else set[int]()

        def newest(hotkey: str, line: str = line) -> Iterator[StateEvent]:
            records = transaction.scored(hotkey, counted_by=epoch)
            return (each for each in records if in_force.line_of(each.skill_type) == line)

        closed = close_epoch(
            state,
            own,
            rules,
            {pin: _pinned(transaction, pin) for pin in sorted(pins)},
            base_rules=in_force.lines[line].at,
            newest=newest,
            said=said.get(line),
        )
        state = attrs.evolve(closed, epoch=epoch)
    return attrs.evolve(state, epoch=epoch + 1)


def _pinned(transaction: Transaction, epoch: int) -> State:
    found = transaction.snapshot(epoch)
    if found is None:
        raise StateError(f"found no snapshot of the epoch {epoch}, expected 0 to the open one")
    return found.state


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
