"""The weights of a line, the columns that they come from, and the weights of the chain.

What the chain is given and what a log of epochs says of it are both made here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import attrs

from tallystick.errors import AllocationError
from tallystick.json_values import JsonKey, json_object
from tallystick.numbers.nano import to_decimal, to_text
from tallystick.numbers.text import repr_as
from tallystick.rules.model import RuleSet
from tallystick.rules.timeline import Timeline
from tallystick_allocation.allocate import Allocation, allocate, roster
from tallystick_allocation.binding import BoundAllocation
from tallystick_allocation.column import Column, Values
from tallystick_allocation.files import RoundFile
from tallystick_allocation.population import Miner, Population
from tallystick_allocation.recipients import by_slot
from tallystick_allocation.rules import ALLOCATION, AllocationRules
from tallystick_allocation.step_input import StepInput
from tallystick_allocation.steps.mix import Pools as PoolsStep
from tallystick_allocation.steps.step import BoundStep
from tallystick_allocation.uint16 import dropped, to_uint16
from tallystick_state.attributes import IMMUNE, NO_ATTRIBUTES, closed_attributes
from tallystick_state.carry import carried
from tallystick_state.event import NUMBER_LIMIT, StateEvent
from tallystick_state.miners import begun_anew, without_former
from tallystick_state.model import Columns, State
from tallystick_state.pools import Pools
from tallystick_state.round_scores import round_epoch
from tallystick_state.rules import StateRules
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.samples import EventRecords, Pins, Samples
from tallystick_state.store.transaction import Transaction

if TYPE_CHECKING:
    from tallystick_allocation.explanation import AllocationExplanation


@attrs.frozen
class LineWeights:
    """The weights of the miners of a line.

    Attributes:
        rules: which give them.
        round: the last closed one; None where there is none.
        weights: in nano, by hotkey or by the key of a recipient; empty where nobody has one.
        scores: by hotkey, the last rounded values that all weights come of, in nano; empty where
            there is no such column.
        allocation: every column; None where a step refused what it was given.
        refused: why it did; empty where none did.
    """

    rules: StateRules
    round: int | None
    weights: Mapping[str, int] = attrs.field(factory=dict, repr=repr_as("miner"))
    scores: Mapping[str, int] = attrs.field(factory=dict, repr=repr_as("miner"))
    allocation: Allocation | None = None
    refused: str = ""

    @property
    def reason(self) -> str:
        """The reason for which nobody has a weight; empty where somebody has."""
        if any(self.weights.values()):
            return ""
        if self.refused or self.allocation is None:
            return self.refused or "the rule set has no [allocation]: it weighs nobody"
        reasons = Counter(self.allocation.without.values()).most_common()
        return reasons[0][0] if reasons else "no miner holds a slot"

    def explained(self, hotkey: str, *, sees_rounds: bool = True) -> AllocationExplanation | None:
        """Return every step to the weight of a miner; None where it has none, or is not shown.

        Args:
            hotkey: of the miner.
            sees_rounds: whether scores of one round are shown; without them, weights that come of
                such scores alone have no steps, and of others the round before what is carried is
                left out.
        """
        from tallystick_allocation.explanation import explained  # where it is asked for

        allocation = self.allocation
        if allocation is None or hotkey not in allocation.step_input.places:
            return None
        if sees_rounds:
            return explained(allocation, hotkey, _before_carried(allocation))
        steps = (step for step in allocation.bound.steps if step.name in allocation.columns)
        if any(step.collected is not None and step.collected.of_round for step in steps):
            return None
        return explained(allocation, hotkey)


def weigh(  # noqa: PLR0913  # what weights are of
    rules: StateRules,
    samples: Callable[[AllocationRules, Collection[str], int | None], Samples],
    hotkeys: Collection[str],
    number: int | None,
    epoch: int,
    *,
    carry: Columns = MappingProxyType({}),
    immune: Collection[str] = (),
    attributes: RoundFile = NO_ATTRIBUTES,
) -> LineWeights:
    """Return the weights of a line; what is carried takes the place of the step that carries it.

    Args:
        rules: which give them.
        samples: collects those of the line, as `EpochRecords.samples`.
        hotkeys: of the miners with a slot.
        number: the round that steps collect of which read one alone; None for no round.
        epoch: with which windows of epochs end.
        carry: the columns that are carried, after all that counts.
        immune: the hotkeys of miners that the chain still protects.
        attributes: the attributes of miners, beside that, and of the round.
    """
    bound, steps = rules.allocation, rules.rule_set.section(ALLOCATION)
    if bound is None or steps is None:
        return LineWeights(rules, number)
    collected = samples(steps, frozenset(hotkeys), number)
    population = Population(
        tuple(
            Miner(
                hotkey,
                attributes={IMMUNE: hotkey in immune, **attributes.miners.get(hotkey, {})},
            )
            for hotkey in (collected.hotkeys if is_of_round(rules.rule_set) else {*hotkeys})
        ),
        collected.of_all,
        of_round=collected.of_round,
        round=attributes.round,
        carry=carry,
        now=None if number is None else (number, epoch),
    )
    columns = bound.recalled(carry, roster(bound, population))
    return _allocated(LineWeights(rules, number), bound, population, columns)


def _allocated(
    line: LineWeights, bound: BoundAllocation, population: Population, columns: Mapping[str, Values]
) -> LineWeights:
    """Return a line with the weights of its population, or the reason where a step refuses."""
    try:
        allocation = allocate(bound, population, columns)
    except AllocationError as error:
        return attrs.evolve(line, refused=str(error))
    base, scores = base_of(bound), dict[str, int]()
    if base is not None and not allocation.stopped:
        column = allocation.columns[base.name]
        assert isinstance(column, Column)  # noqa: S101  # its shape is flat
        scores = column.nano_by(roster(bound, population))
    # none where all are 0
    weights = allocation.weights if any(allocation.weights.values()) else {}
    return attrs.evolve(line, weights=weights, scores=scores, allocation=allocation)


def _before_carried(allocation: Allocation) -> Mapping[str, Values]:
    """Return the columns before a carried one, computed from the last closed round.

    Weights come of what is carried, so that these are only to be shown; none where a step refuses
    that round alone.
    """
    bound = allocation.bound
    lacking = [step.name for step in bound.steps if step.name not in allocation.columns]
    carried_columns = {step.name: allocation.columns[step.name] for step in bound.carried}
    try:
        columns = (
            allocate(bound, allocation.step_input.population, carried_columns, lacking).columns
            if lacking
            else {}
        )
    except AllocationError:
        columns = {}
    return {name: columns[name] for name in lacking if name in columns}


def weighed_by(rules: StateRules, scores: Mapping[str, int]) -> LineWeights:
    """Return the weights for all scores, or the reason where a step refuses.

    Args:
        rules: which give them.
        scores: the values of the step `base_of`, in nano, by hotkey.
    """
    bound = rules.allocation
    base = None if bound is None else base_of(bound)
    if bound is None or base is None:
        return LineWeights(rules, None, scores=scores)
    population = Population(tuple(map(Miner, scores)))
    columns = {base.name: Column.of_nano(scores, roster(bound, population))}
    return _allocated(LineWeights(rules, None), bound, population, columns)


def base_of(bound: BoundAllocation) -> BoundStep | None:
    """Return the last step whose rounded values alone decide the weight; None without one."""
    for step in reversed(bound.steps[:-1]):
        if step.shape == "flat" and step.rules.is_rounded:
            after = bound.needed([bound.weight], {step.name})
            if not any(map(_is_of_more, after)):
                return step
    return None


def _is_of_more(step: BoundStep) -> bool:
    """Return whether a step reads more than the columns before it."""
    rules = step.rules
    return step.collected is not None or rules.carries or rules.recalls


def is_of_round(rule_set: RuleSet) -> bool:
    """Return whether weights are of miners with a record in the round alone."""
    rules = rule_set.section(ALLOCATION)
    return rules is not None and rules.miners == "round"


@attrs.frozen(eq=False, slots=False)
class LineRecords:
    """The records of a line as an epoch ends, or so far in the open one.

    Attributes:
        transaction: what is read.
        in_force: the rules of the state.
        line: whose.
        state: the state at the start of an epoch; None of one that has not begun.
        epoch: the epoch; records count that were recorded by its end.
        after: the state then: of its miners that began anew, no earlier records count.
        before: rounds count that an entry with a lower number has closed.
        attributes: what the rules ask of the rounds of the epoch and of miners beside the records;
            by default what it was closed with.
    """

    transaction: Transaction
    in_force: RulesInForce
    line: str
    state: Callable[[int], State | None]
    epoch: int
    after: State
    before: int = NUMBER_LIMIT
    attributes: RoundFile | None = None

    @property
    def timeline(self) -> Timeline[StateRules]:
        """The rules of the line."""
        return self.in_force.lines[self.line]

    @cached_property
    def last_round(self) -> int | None:
        """The last closed round; in a state of several lines, with records of the line."""
        types = self.in_force.types_apart(self.line)
        return self.transaction.last_closed_round(self.before, types=types, counted_by=self.epoch)

    @cached_property
    def of_last_round(self) -> Sequence[StateEvent]:
        """The events of the last closed round; none where there is none."""
        if self.last_round is None:
            return ()
        events = [*self.own(self.transaction.events_of_round(self.last_round, self.epoch))]
        former = {*self._former(self.last_round, {event.hotkey for event in events})}
        return [event for event in events if event.identity not in former]

    @property
    def rules_epoch(self) -> int:
        """The epoch whose rules give the weights: that of the last closed round."""
        pinned = round_epoch(self.of_last_round)
        return self.epoch if pinned is None else pinned

    @property
    def rules(self) -> StateRules:
        """The rules that give the weights."""
        return self.timeline.at(self.rules_epoch)

    def newest(self, hotkey: str) -> Iterator[StateEvent]:
        """Return the records of a miner, newest first; see `EventRecords`."""
        # lazily: a window ends long before the records do
        first = begun_anew(self.after.miners, hotkey)
        return self.own(self.transaction.scored(hotkey, self.epoch, first))

    @property
    def pins(self) -> Pins:
        """The pins of the rounds."""
        return Pins(self.state, self.timeline.at)

    def own(self, events: Iterable[StateEvent]) -> Iterator[StateEvent]:
        """Return the events of the line."""
        return (event for event in events if self.in_force.line_of(event.skill_type) == self.line)

    def _former(self, number: int, hotkeys: Iterable[str]) -> Iterator[bytes]:
        """Yield the identities of events of a round from before their miners began anew."""
        for hotkey in hotkeys:
            first = begun_anew(self.after.miners, hotkey)
            if first > 0:
                events = self.transaction.events_of_round(number, first - 1)
                yield from (event.identity for event in events if event.hotkey == hotkey)

    def _attributes(self, epoch: int) -> RoundFile:
        if epoch == self.epoch and self.attributes is not None:
            return self.attributes
        return closed_attributes(self.transaction, self.in_force, self.line, epoch)

    def _columns(self, rules: StateRules) -> Columns:
        """Return the columns that rules carry as the epoch ends.

        Rules that hold no more carry what they did as their last epoch ended.

        Raises:
            AllocationError: as `carried`.
        """
        if rules.allocation is None or not rules.allocation.carried:
            return {}
        last = last_epoch_of(self.timeline, rules, self.epoch)
        state = None if last is None else self.state(last)
        if last is None or state is None:
            return {}
        miners, hotkeys = self.after.miners, self.after.slots
        events = self.own(self.transaction.events(last))
        counted = [event for event in events if begun_anew(miners, event.hotkey) <= last]
        before = without_former(state.carry.get(self.line, {}), miners, last)
        records, attributes = EventRecords(counted, self.newest), self._attributes(last)
        return carried(
            rules, before, records, self.pins, hotkeys, epoch=last, attributes=attributes
        )

    def weighed(self, immune: Collection[str] = ()) -> LineWeights:
        """Return the weights of the line as the epoch ends.

        Args:
            immune: the hotkeys of miners that the chain still protects.
        """
        rules = self.rules
        try:
            carry = self._columns(rules)
        except AllocationError as error:
            return LineWeights(rules, self.last_round, refused=str(error))
        return weigh(
            rules,
            partial(EventRecords(self.of_last_round, self.newest).samples, self.pins),
            self.after.slots,
            self.last_round,
            self.epoch,
            carry=carry,
            immune=immune,
            attributes=self._attributes(self.epoch),
        )


def last_epoch_of(timeline: Timeline[StateRules], rules: StateRules, epoch: int) -> int | None:
    """Return the last epoch up to one in which some rules hold; None where they hold in none."""
    spans = [(a, b) for a, b, span_rules in timeline.spans() if span_rules is rules and a <= epoch]
    return max((epoch if b is None else min(b - 1, epoch) for _, b in spans), default=None)


@json_object(
    "uids",
    "weights",
    JsonKey("uint16", lambda weights: [*weights.uint16.values()]),
    JsonKey("dropped", left_out="empty"),
    JsonKey("without", lambda w: Counter(sorted(w.without.values())), left_out="empty"),
    JsonKey("reason", lambda weights: "" if weights.uids else weights.reason, left_out="empty"),
)
@attrs.frozen
class Weights:
    """The weights of the slots that have one, ascending.

    Attributes:
        uids: the slots, of those that uint16 drops none.
        weights: their shares.
        uint16: by slot, the shares as Bittensor takes them: what is given to ``set_weights``. Empty
            where a recipient has a share whose slot the chain alone knows, as without it the others
            would be given its share.
        reason: why there is no uint16; empty where there is.
        without: by hotkey, why a miner with a slot has none.
        miners: how many miners hold a slot.
        dropped: by slot, why a weight above 0 is 0 as Bittensor takes it; its share is not among
            ``weights``.
        notes: what steps did otherwise than their rules say alone, for people.
    """

    uids: tuple[int, ...] = attrs.field(repr=repr_as("slot"))
    weights: tuple[Decimal, ...] = attrs.field(repr=repr_as("share"))
    uint16: Mapping[int, int] = attrs.field(repr=repr_as("slot"))
    reason: str = ""
    without: Mapping[str, str] = attrs.field(factory=dict, repr=repr_as("miner"))
    miners: int = 0
    dropped: Mapping[int, str] = attrs.field(factory=dict, repr=repr_as("slot"))
    notes: tuple[str, ...] = ()

    @classmethod
    def of(  # what is told with the weights
        cls,
        weights: Mapping[str, int],
        slots: Mapping[str, int],
        without: Mapping[str, str],
        reason: str,
        notes: tuple[str, ...] = (),
    ) -> Weights:
        """Return weights as the chain takes them.

        Args:
            weights: in nano, by hotkey or by the key of a recipient.
            slots: of the miners, by hotkey.
            without: by hotkey, why a miner with a slot has none.
            reason: why nobody has one, if nobody has.
            notes: of the allocation.
        """
        by_uid, elsewhere = by_slot(weights, slots)
        uids, values = to_uint16(by_uid)
        unknown = ", ".join(
            f"{key} has {to_text(weight)} of all, and the chain alone knows its slot"
            for key, weight in elsewhere.items()
        )
        return cls(
            tuple(uids),
            tuple(to_decimal(by_uid[uid]) for uid in uids),
            {} if unknown else dict(zip(uids, values, strict=True)),
            unknown or ("" if uids else reason),
            without,
            len(slots),
            dropped(by_uid),
            notes,
        )

    def reason_of(self, hotkey: str, uid: int | None) -> str:
        """Return why a miner has no weight; empty where it has one.

        Args:
            hotkey: of the miner.
            uid: its slot; None without one.
        """
        if uid is None:
            return NO_SLOT
        if uid in self.uids:
            return ""
        # where others have one, `reason` is of uint16, not of the miner
        everyone = "" if self.uids else self.reason
        return everyone or self.without.get(hotkey) or self.dropped.get(uid, "")


NO_SLOT = "it holds no slot"
"""Reason of no weight of a miner without a slot."""


def pooled(
    pools: Pools, lines: Mapping[str, Mapping[str, int]], slots: Mapping[str, int]
) -> Mapping[str, int]:
    """Return the weights that lines come to by their pools, in nano, rounded once.

    Args:
        pools: the shares of the lines, and what becomes of that of an idle one.
        lines: by line, the weights that it publishes; none of a line in which nobody has one.
        slots: of the miners, by hotkey.
    """
    population = Population(tuple(Miner(hotkey, uid) for hotkey, uid in slots.items()))
    step = PoolsStep(name="weight", do="pools", of="line", idle=pools.idle, burn=pools.burn)
    shares = {line: Fraction(pools.shares[line]) for line in lines}
    recipients = {*step.recipients(population)}.union(*lines.values())
    keys = (*population.places, *sorted(recipients.difference(slots)))
    columns = {line: Column.of_nano(weights, keys) for line, weights in lines.items()}
    column = step.sum_of_groups(shares, StepInput(population, keys, {"line": columns}))
    return {key: weight for key, weight in column.nano_by(keys).items() if weight}
