"""Round scores: a miner's mean emission of one round, weighted by its reputations.

``twice``: Σ(emission · base weight · reputation) / Σ(base weight · reputation); ``once``:
Σ(emission · reputation) / Σ base weight. See "How Reputation Drives Round Aggregation" of
reputation.txt and E36 to E38 of docs/errata.md. A score is rounded half-even once; like an emission
it may exceed 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable

import attrs

from tallystick.errors import StateError
from tallystick.numbers.nano import from_decimal, round_half_even
from tallystick.numbers.statistics import weighted_average
from tallystick.rules.sections import RoundAggregation
from tallystick.state.event import StateEvent
from tallystick.state.rules import StateRules


@attrs.frozen
class TaskResult:
    """What one record brings into a round score; all in nano.

    Attributes:
        emission: of the record.
        base_weight: of its skill type.
        reputation: of the miner in that type, in the snapshot of the round.
        missed: whether the deadline was missed.
    """

    emission: int
    base_weight: int
    reputation: int
    missed: bool = False


def round_epoch(events: Iterable[StateEvent]) -> int | None:
    """The epoch that a round is pinned to: the first one that its records name.

    A sound round names one; of another one it does not matter which record came first. None without
    records.
    """
    return min((event.epoch for event in events if event.is_record), default=None)


def round_scores(
    events: Iterable[StateEvent],
    rules: StateRules,
    reputation_of: Callable[[StateEvent], int],
    *,
    own_rules: Callable[[StateEvent], StateRules] | None = None,
) -> dict[str, int]:
    """The round scores, in nano, by hotkey; empty where the rule set has none.

    Args:
        events: of one round; events that came alone and records of types without an emission do
            not count. Each validator's record of a task counts on its own.
        rules: the rules of the round.
        reputation_of: the reputation, in nano, of a record's miner in its type, in the snapshot
            that the round is pinned to.
        own_rules: the rules of the epoch that a record is pinned to, by which it was scored and
            which have its base weight; by default the rules of the round.

    Raises:
        StateError: a record has no emission, although it was not missed.
    """
    aggregation = rules.rule_set.aggregation
    if aggregation is None or aggregation.round is None:
        return {}
    results = defaultdict[str, list[TaskResult]](list)
    for event in events:
        base_weights = (rules if own_rules is None else own_rules(event)).base_weights
        if event.is_record and event.skill_type in base_weights:
            base_weight = base_weights[event.skill_type]
            results[event.hotkey].append(_result(event, base_weight, reputation_of(event)))
    return {hotkey: round_score(each, aggregation.round) for hotkey, each in results.items()}


def round_score(results: Iterable[TaskResult], aggregation: RoundAggregation) -> int:
    """The round score of one miner, in nano; ``no_tasks`` where it would be 0/0.

    A missed deadline is left out of both sums, or counts as an emission of 0 in both.
    """
    missed_count = aggregation.missed_deadline == "zero"
    counted = [each for each in results if missed_count or not each.missed]
    weights = [_weight(each, aggregation) for each in counted]
    if not sum(weights):
        return from_decimal(aggregation.no_tasks)
    emissions = [0 if each.missed else each.emission for each in counted]
    if aggregation.base_weight == "twice":
        return weighted_average(emissions, weights)
    return _once(emissions, [each.reputation for each in counted], weights)


def _weight(result: TaskResult, aggregation: RoundAggregation) -> int:
    """What the result adds to the denominator."""
    twice = aggregation.base_weight == "twice"
    return result.base_weight * (result.reputation if twice else 1)


def _once(
    emissions: Collection[int], reputations: Collection[int], base_weights: Collection[int]
) -> int:
    weighted = sum(e * r for e, r in zip(emissions, reputations, strict=True))
    return round_half_even(weighted, sum(base_weights))


def _result(event: StateEvent, base_weight: int, reputation: int) -> TaskResult:
    if event.emission is None and not event.missed:
        raise StateError(
            f"found a record of {event.hotkey} in the round {event.round} without an emission, "
            "expected one: score it under the rule set of the state"
        )
    return TaskResult(event.emission or 0, base_weight, reputation, event.missed)
