"""Admission: which signals a state takes, which it knows already, and which it refuses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import attrs

from tallystick.records.messages import shown
from tallystick.records.rejects import Reject
from tallystick.state.event import StateEvent
from tallystick.state.miners import has_declared
from tallystick.state.model import State
from tallystick.state.rules import StateRules

CODES: Mapping[str, str] = MappingProxyType(
    {
        "conflict": "the same validator said something else of the same task, or under the same id",
        "future-epoch": "the epoch has not begun in this state",
        "other-epoch": "a round is pinned to one epoch, but its records name two",
        "other-round": "the record belongs to another round than the one that is closed",
        "undeclared-type": "the miner never declared the skill type",
        "unknown-miner": "no miner of this state has the hotkey",
    }
)
"""Why a state refuses a good record or event, and what it means."""

Known = Mapping[bytes, StateEvent]
"""Signals that are recorded already, by identity."""


@attrs.frozen
class Admitted:
    """What becomes of some lines.

    Attributes:
        signals: those that are new, in order.
        duplicates: how many were known already.
        refused: why others cannot be recorded.
    """

    signals: tuple[StateEvent, ...]
    duplicates: int
    refused: tuple[Reject, ...]


def admit(
    state: State, law: StateRules, lines: Iterable[tuple[int, StateEvent]], known: Known
) -> Admitted:
    """Tell new signals from known ones and from those that are refused.

    Args:
        state: the live state.
        law: its law.
        lines: signals with the numbers of their lines.
        known: at least those of the recorded signals that have the identity of one of the lines.
    """
    new: dict[bytes, StateEvent] = {}
    refused, duplicates = list[Reject](), 0
    for line, signal in lines:
        identity = signal.identity
        before = known.get(identity) or new.get(identity)
        if before == signal:
            duplicates += 1
        elif before is not None:
            refused.append(_conflict(line, signal))
        elif (reject := refusal(state, law, line, signal)) is not None:
            refused.append(reject)
        else:
            new[identity] = signal
    return Admitted(tuple(new.values()), duplicates, tuple(refused))


def refusal(state: State, law: StateRules, line: int, signal: StateEvent) -> Reject | None:
    """Why a state cannot take a signal, if so; pinned epochs that are over are welcome (E40)."""
    miner = state.miners.get(signal.hotkey)
    path = "miner.hotkey" if signal.is_record else "hotkey"
    if miner is None:
        wanted = "a registered miner: register it with tallystick miner register"
        return Reject(line, "unknown-miner", path, shown(signal.hotkey), wanted)
    if not has_declared(miner, signal.skill_type):
        wanted = f"one that {signal.hotkey} declared: {', '.join(miner.types)}"
        return Reject(line, "undeclared-type", "skill_type", shown(signal.skill_type), wanted)
    if law.rule_set.epochs is not None and signal.epoch > state.epoch:
        wanted = f"at most {state.epoch}, the open epoch: close the epochs before it first"
        return Reject(line, "future-epoch", "epoch", str(signal.epoch), wanted)
    return None


def other_round(line: int, signal: StateEvent, number: int) -> Reject:
    """The refusal of a record of another round than the one that is closed."""
    return Reject(line, "other-round", "round", str(signal.round), f"the round {number}")


def other_epoch(line: int, signal: StateEvent, pinned: int) -> Reject:
    """The refusal of a record that pins its round to another epoch than the records before it."""
    wanted = f"the epoch {pinned}, as the records of the round {signal.round} before it"
    return Reject(line, "other-epoch", "epoch", str(signal.epoch), wanted)


def _conflict(line: int, signal: StateEvent) -> Reject:
    if signal.is_record:
        wanted = f"the record of {signal.validator} that is known, or a new task"
        return Reject(line, "conflict", "task_id", shown(signal.task_id), wanted)
    wanted = f"the event of {signal.validator} that is known, or a new id"
    return Reject(line, "conflict", "id", shown(signal.id), wanted)
