"""Round scores: the result of the allocation step that reads one round alone.

In the shipped sets it is a miner's mean emission, weighted by its reputations. See "How Reputation
Drives Round Aggregation" of docs/sources.md and E36 to E38 of docs/errata.md. A score is rounded
half-even once; like an emission it may exceed 1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tallystick.numbers import real
from tallystick_allocation.population import UNGROUPED
from tallystick_allocation.rules import ALLOCATION, AllocationRules, round_score
from tallystick_state.event import StateEvent
from tallystick_state.rules import StateRules
from tallystick_state.samples import EpochRecords, EventRecords, Pins


def round_epoch(events: Iterable[StateEvent]) -> int | None:
    """Return the epoch that a round is pinned to: the first one that its records name.

    A sound round names one; of another one it does not matter which record came first. None without
    records.
    """
    return min((event.epoch for event in events if event.is_record), default=None)


def round_scores(events: Iterable[StateEvent], rules: StateRules, pins: Pins) -> dict[str, int]:
    """Return the round scores, in nano, by hotkey; empty where the rule set has none.

    Args:
        events: of one round; events that came alone and records of types without an emission do
            not count. Each validator's record of a task counts on its own.
        rules: the rules of the round.
        pins: of the round.

    Raises:
        StateError: a record has no emission, although it was not missed.
    """
    records = EventRecords([*events])
    hotkeys = {event.hotkey for event in records.events}
    scores = (scores_of_round(rules, records, pins, n, hotkeys) for n in records.numbers)
    return next(scores, {})


def scores_of_round(
    rules: StateRules, records: EpochRecords, pins: Pins, number: int, hotkeys: Collection[str]
) -> dict[str, int]:
    """Return the scores of some miners in a round, in nano; see `round_scores`.

    Args:
        rules: the rules of the round.
        records: those of the round, and of others.
        pins: of the round.
        number: of the round.
        hotkeys: of the miners.

    Raises:
        StateError: as `round_scores`.
    """
    step, allocation = round_score(rules.rule_set), rules.rule_set.section(ALLOCATION)
    # with groups there is no one score of a miner
    if step is None or (allocation is not None and allocation.groups):
        return {}
    collected = records.samples(pins, AllocationRules((step,)), hotkeys, number)
    samples = collected.of_round.get(step.value, {}).get(UNGROUPED, {})
    scores = {hotkey: step.value_of(own) for hotkey, own in samples.items()}
    return {hotkey: real.publish(score) for hotkey, score in scores.items() if score is not None}
