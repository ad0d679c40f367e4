"""Epochs: what happens when one ends (docs/sources.md, Epoch Boundaries).

Closing an epoch runs the steps that the rule set names, in its order. Each step is a function of
what the steps before it made. The order of the events never matters.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from heapq import nlargest
from types import MappingProxyType
from typing import TYPE_CHECKING

import attrs

from tallystick.errors import AllocationError, StateError
from tallystick.numbers.nano import median, round_half_even
from tallystick.records.messages import shown
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick_allocation.files import RoundFile
from tallystick_state.adoption import FlaggedBy, adopt
from tallystick_state.attributes import NO_ATTRIBUTES, RoundFiles, check_attributes, not_carried
from tallystick_state.carry import carried, carried_names, with_columns
from tallystick_state.event import StateEvent
from tallystick_state.miners import has_declared, pinned_reputation
from tallystick_state.model import MinerEntry, State
from tallystick_state.reputation import damped, effect, mean_delta
from tallystick_state.rules import StateRules
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.samples import (
    EpochRecords,
    EventRecords,
    Owner,
    Pins,
    RecordKey,
    events_of_records,
)
from tallystick_state.sections.epochs import EPOCHS, EpochStep, ThresholdTracking
from tallystick_state.sections.reputation import REPUTATION
from tallystick_state.weights import LineRecords

if TYPE_CHECKING:
    from tallystick_state.store.transaction import Transaction


@attrs.frozen
class Closing:
    """The inputs and results of the steps of a closing.

    Attributes:
        rules: of the epoch that ends.
        pins: what the rounds are pinned to: from these rules a newcomer has its reputation there.
        records: those of the epoch, in any order. Those of one validator, miner, task, round and
            pinned epoch are one record, with the events of all (E29).
        state: as the epoch ends; what becomes of it.
        attributes: what the rules ask of the rounds and of miners beside the records.
        means: the mean delta of each reputation that moves, in units of 1.
    """

    rules: StateRules
    pins: Pins
    records: EpochRecords
    state: State
    attributes: RoundFile | None = None
    means: Mapping[Owner, Fraction] = attrs.field(factory=dict)


def close_epoch(closing: Closing) -> State:
    """Return the state as the next epoch begins.

    Returns:
        The state after the steps of the rule set, with what its allocation carries, one epoch on.
        Without either nothing else changes.

    Raises:
        StateError: an event is of a miner that the state lacks, of a type that the miner never
            declared, or pinned to an epoch whose state is not given; or what is carried depends on
            something that is not said.
    """
    rules = closing.rules
    _check(closing)
    epochs = rules.rule_set.section(EPOCHS)
    for step in epochs.steps if epochs is not None else ():
        closing = _STEPS[step](closing)
    closing = carry_columns(closing)
    return attrs.evolve(closing.state, epoch=closing.state.epoch + 1)


def aggregate_deltas(closing: Closing) -> Closing:
    """Return the mean delta of each reputation over all records that take part (E27 to E29)."""
    rules = closing.rules
    if rules.rule_set.section(REPUTATION) is None:
        return closing
    records = [*closing.records.alike]
    bases = _bases(closing, {(epoch, hotkey, name) for (_, hotkey, name, epoch, _), _ in records})
    effects = {events: effect(rules, events) for events in {events for (*_, events), _ in records}}
    delta = cache(lambda events, base: effects[events].delta(base))
    # by reputation and validator how many records have one delta: few do not share it
    counts = defaultdict[Owner, dict[str, Counter[tuple[_Events, int]]]](dict)
    for (validator, hotkey, skill_type, epoch, events), many in records:
        if effects[events].takes_part:
            own = counts[hotkey, skill_type].setdefault(validator, Counter())
            own[events, bases[epoch, hotkey, skill_type]] += many
    means = dict[Owner, Fraction]()
    for owner, of_validators in counts.items():
        sums = (
            (sum((delta(*key) * many for key, many in own.items()), Fraction()), own.total())
            for own in of_validators.values()
        )
        if (mean := mean_delta(rules, sums)) is not None:
            means[owner] = mean
    return attrs.evolve(closing, means=means)


def record_deltas(
    closing: Closing, events: Iterable[StateEvent]
) -> Mapping[RecordKey, tuple[Fraction, bool]]:
    """Return by record of some events its delta, and whether it takes part.

    The delta is of the reputation that a record is pinned to, exact, in units of 1; see
    `record_delta`. There are none where the rules have no
    reputation.
    """
    if closing.rules.rule_set.section(REPUTATION) is None:
        return {}
    records = events_of_records(events)
    bases = _bases(closing, {_base(key) for key in records})
    effects = {events: effect(closing.rules, events) for events in set(records.values())}
    delta = cache(lambda events, base: effects[events].delta(base))
    return {
        key: (delta(events, bases[_base(key)]), effects[events].takes_part)
        for key, events in records.items()
    }


def update_reputations(closing: Closing) -> Closing:
    """Return each reputation moved by its mean delta, damped and clamped (E26)."""
    rules, state = closing.rules, closing.state
    moved: dict[str, dict[str, int]] = defaultdict(dict)
    for (hotkey, skill_type), mean in closing.means.items():
        before = pinned_reputation(state, rules, hotkey, skill_type)
        moved[hotkey][skill_type] = damped(rules, before, mean)
    miners = {
        hotkey: _with(miner, moved[hotkey]) if hotkey in moved else miner
        for hotkey, miner in state.miners.items()
    }
    return attrs.evolve(closing, state=attrs.evolve(state, miners=miners))


def recompute_baselines(closing: Closing) -> Closing:
    """Return the tier baseline of each type after the epoch (E19)."""
    return _with_thresholds(closing, next_baselines)


def recompute_thresholds(closing: Closing) -> Closing:
    """Return the other tracked thresholds of each type, at its new baseline (E21)."""
    return _with_thresholds(closing, _next_thresholds)


def carry_columns(closing: Closing) -> Closing:
    """Carry the columns of the allocation over the rounds of the epoch, in ascending order.

    It is no word of the rule set's steps: it is done where the allocation has such a column, after
    them, and reads nothing that they make.
    """
    if not carried_names(closing.rules):
        return closing
    state, line = closing.state, closing.rules.line
    hotkeys = state.slots.keys()
    before = state.carry.get(line, {})
    if closing.records.owners and hotkeys:
        check_attributes(closing.rules, closing.attributes)
    attributes = closing.attributes or NO_ATTRIBUTES
    try:
        after = carried(
            closing.rules,
            before,
            closing.records,
            closing.pins,
            hotkeys,
            epoch=closing.state.epoch,
            attributes=attributes,
        )
    except AllocationError as error:
        raise not_carried(error) from error
    return attrs.evolve(closing, state=with_columns(state, line, after))


def persist(closing: Closing) -> Closing:
    """Return the end of the steps: what is made by now is what a store keeps."""
    return closing


_STEPS: Mapping[EpochStep, Callable[[Closing], Closing]] = MappingProxyType(
    {
        "aggregate_deltas": aggregate_deltas,
        "update_reputations": update_reputations,
        "recompute_baselines": recompute_baselines,
        "recompute_thresholds": recompute_thresholds,
        "persist": persist,
    }
)


def _check(closing: Closing) -> None:
    miners = closing.state.miners
    for hotkey, skill_type in sorted(closing.records.owners):
        if hotkey not in miners:
            raise StateError(
                f"found an event of the hotkey {shown(hotkey)}, expected a registered miner"
            )
        if not has_declared(miners[hotkey], skill_type):
            raise StateError(
                f"found an event of {shown(hotkey)} for the skill type {shown(skill_type)}, "
                "expected one that the miner declared"
            )


_Events = tuple[str, ...]
_Base = tuple[int, str, str]
"""Key of the reputation of a round: the pinned epoch, the hotkey, the skill type."""


def _base(key: RecordKey) -> _Base:
    """Return the key of the reputation that a record's round pins."""
    _, hotkey, skill_type, _, _, epoch = key
    return epoch, hotkey, skill_type


def _bases(closing: Closing, bases: Collection[_Base]) -> Mapping[_Base, int]:
    """Return the reputations that the rounds were pinned to, in nano."""
    epochs = sorted({epoch for epoch, _, _ in bases})
    pinned = {epoch: closing.pins.state(epoch) for epoch in epochs}
    for epoch in (epoch for epoch, state in pinned.items() if state is None):
        raise StateError(
            f"found an event that is pinned to epoch {epoch}, expected one whose state is kept"
        )
    rules = {epoch: _base_rules(closing, epoch) for epoch in epochs}
    return {base: pinned_reputation(pinned[base[0]], rules[base[0]], *base[1:]) for base in bases}


def _base_rules(closing: Closing, epoch: int) -> StateRules:
    """Return the rules that say what a newcomer of an epoch begins with."""
    own = closing.pins.base_rules(epoch)
    return closing.rules if own.rule_set.section(REPUTATION) is None else own


def _with(miner: MinerEntry, reputation: Mapping[str, int]) -> MinerEntry:
    return attrs.evolve(miner, reputation={**miner.reputation, **reputation})


_Next = Callable[[StateRules, str, Thresholds, EpochRecords], Thresholds]


def _with_thresholds(closing: Closing, following: _Next) -> Closing:
    """Return the closing with the next thresholds of every type with tiers."""
    rules, state = closing.rules, closing.state
    thresholds = dict(state.thresholds)
    for name, seeds in rules.seeds.items():
        old = {**seeds, **state.thresholds.get(name, {})}
        thresholds[name] = {**old, **following(rules, name, old, closing.records)}
    return attrs.evolve(closing, state=attrs.evolve(state, thresholds=thresholds))


def _next_thresholds(
    rules: StateRules, skill_type: str, old: Thresholds, records: EpochRecords
) -> Thresholds:
    names = rules.epochs.thresholds
    return {name: next_threshold(rules, skill_type, name, old, records) for name in names}


def next_baselines(
    rules: StateRules, skill_type: str, old: Thresholds, records: EpochRecords
) -> Thresholds:
    """Return the baseline of a skill type after an epoch, by threshold name, in nano.

    Args:
        rules: the rules.
        skill_type: one with tiers.
        old: the thresholds that the state tracks.
        records: those of the epoch.

    Returns:
        The median quality of the epoch, published once, or the seed, as the rule set says; the
        old one when nothing was scored, or when nothing tracks it (E19).

    Raises:
        StateError: the rule set has no epochs.
    """
    tracking, names = rules.epochs.baseline, rules.tiers[skill_type].tracked
    if tracking is not None and tracking.mode == "published":
        return {name: rules.seeds[skill_type][name] for name in names}
    qualities = (
        () if tracking is None else records.qualities(skill_type, tracking.roles, per_miner=False)
    )
    if not qualities:
        return {name: old[name] for name in names}
    return dict.fromkeys(names, median(qualities))


def next_threshold(
    rules: StateRules, skill_type: str, name: str, old: Thresholds, records: EpochRecords
) -> int:
    """Return a tracked threshold of a skill type after an epoch, in nano (E20, E21).

    The median of the best results, smoothed with the old threshold, published once; too few results
    keep the old one. It is at least what the threshold's own formula gives at the new baseline.

    Args:
        rules: the rules.
        skill_type: one with tiers.
        name: of a threshold that the rule set tracks.
        old: the thresholds that the state tracks, with the new baseline.
        records: those of the epoch.

    Raises:
        StateError: the rule set has no epochs.
    """
    tracking, tiers = rules.epochs.thresholds[name], rules.tiers[skill_type]
    qualities = records.qualities(skill_type, tracking.roles, per_miner=tracking.per_miner)
    best = nlargest(tracking.best, qualities)
    enough = len(best) >= tracking.minimum
    floor = tiers.thresholds({baseline: old[baseline] for baseline in tiers.tracked})[name]
    return max(floor, _smoothed(tracking, best, old[name]) if enough else old[name])


def _smoothed(tracking: ThresholdTracking, best: Sequence[int], old: int) -> int:
    """Return the new share of the median, descending, and the old share of the old, in nano."""
    middle = Fraction(best[(len(best) - 1) // 2] + best[len(best) // 2], 2)
    exact = Fraction(tracking.new) * middle + Fraction(tracking.old) * old
    return round_half_even(exact.numerator, exact.denominator)


def next_epoch(
    state: State,
    events: Sequence[StateEvent],
    in_force: RulesInForce,
    transaction: Transaction,
    attributes: RoundFiles,
) -> State:
    """Return the state as the next epoch begins.

    Args:
        state: as the open one ends.
        events: all that were recorded while it was open.
        in_force: the rules of each line in each epoch.
        transaction: has the snapshots of epochs before, their records, and who flagged whom.
        attributes: by line, what the rules ask of the rounds and of miners beside the records.
    """
    after = _closed(state, events, in_force, transaction, attributes)
    return _adopted(after, in_force, transaction.claims.flags_by)


def _closed(
    state: State,
    events: Sequence[StateEvent],
    in_force: RulesInForce,
    transaction: Transaction,
    attributes: RoundFiles,
) -> State:
    """Return the state after the open epoch: each line closes over the events of its types."""
    epoch = state.epoch
    pinned = cache(transaction.state)
    for rules in in_force.at(epoch).lines:
        # rules without epochs pin nothing, and take records of any epoch
        pins = pinned if rules.rule_set.section(EPOCHS) else (lambda _: None)
        line = LineRecords(transaction, in_force, rules.line, pins, epoch, state)
        records = EventRecords(tuple(line.own(events)), line.newest)
        closing = Closing(rules, line.pins, records, state, attributes.get(rules.line))
        state = attrs.evolve(close_epoch(closing), epoch=epoch)
    return attrs.evolve(state, epoch=epoch + 1)


def _adopted(state: State, in_force: RulesInForce, flags_by: Callable[[], FlaggedBy]) -> State:
    """Return the state of a new epoch under the rules that begin with it, line by line."""
    epoch = state.epoch
    # of the lines that come later still those of the epoch before
    current = {rules.line: rules for rules in in_force.at(epoch - 1).lines}
    for line, timeline in in_force.lines.items():
        new = timeline.begins(epoch)
        if new is not None:
            old = current.pop(line)
            raised = new.quorum > 1 and old.quorum == 1
            state = adopt(
                state,
                old,
                new,
                flagged_by=flags_by() if raised else None,
                quorum_elsewhere=max((other.quorum for other in current.values()), default=1),
            )
            current[line] = new
    return state
