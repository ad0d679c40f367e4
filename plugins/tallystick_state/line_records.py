"""The records of a line in a store, as its allocation reads them, and what it carries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

import attrs

from tallystick.errors import AllocationError
from tallystick.rules.timeline import Timeline
from tallystick_allocation.files import RoundFile
from tallystick_state.carry import carried
from tallystick_state.event import StateEvent
from tallystick_state.line_weights import LineWeights, Weighing, weigh
from tallystick_state.miners import pinned_reputation
from tallystick_state.model import Columns, State
from tallystick_state.rules import StateRules
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.said import NOTHING_SAID
from tallystick_state.store.transaction import Transaction


@attrs.frozen
class LineRecords:
    """The records of a line.

    Attributes:
        transaction: what is read.
        in_force: the rules of the state.
        line: whose.
        state: the state at the start of an epoch; None of one that has not begun.
        counted_by: records count that were recorded by the end of this epoch; None for all.
        said: what the rules ask of the rounds of an epoch and of miners beside the records.
    """

    transaction: Transaction
    in_force: RulesInForce
    line: str
    state: Callable[[int], State | None]
    counted_by: int | None = None
    said: Callable[[int], RoundFile] = lambda _: NOTHING_SAID

    @property
    def timeline(self) -> Timeline[StateRules]:
        """The rules of the line."""
        return self.in_force.lines[self.line]

    def newest(self, hotkey: str) -> Iterator[StateEvent]:
        """Those of a miner, newest first; see `samples.Records`."""
        # lazily: a window ends long before the records do
        return self.own(self.transaction.scored(hotkey, self.counted_by))

    def reputation(self, event: StateEvent) -> int:
        """The reputation, in nano, that the round of a record pins."""
        pinned = self.state(event.epoch)
        return pinned_reputation(pinned, self.rules_of(event), event.hotkey, event.skill_type)

    def rules_of(self, event: StateEvent) -> StateRules:
        """The rules of the epoch that a record names."""
        return self.timeline.at(event.epoch)

    def own(self, events: Iterable[StateEvent]) -> Iterator[StateEvent]:
        """The events of the line."""
        return (each for each in events if self.in_force.line_of(each.skill_type) == self.line)

    def of_round(self, number: int | None) -> list[StateEvent]:
        """The events of a round; none where there is no round."""
        if number is None:
            return []
        return [*self.own(self.transaction.events_of_round(number, self.counted_by))]

    def columns(self, rules: StateRules, epoch: int, hotkeys: Collection[str]) -> Columns:
        """What the rules carry as an epoch ends, or so far in the open one.

        Rules that hold no more carry what they did as their last epoch ended.

        Args:
            rules: of the line.
            epoch: the epoch.
            hotkeys: of the miners with a slot.

        Raises:
            AllocationError: as `carried`.
        """
        if rules.allocation is None or not rules.allocation.carried:
            return {}
        last = last_epoch_of(self.timeline, rules, epoch)
        state = None if last is None else self.state(last)
        if last is None or state is None:
            return {}
        counted = self.own(self.transaction.events(last))
        before, said = state.carry.get(self.line, {}), self.said(last)
        return carried(rules, before, self, counted, hotkeys, said=said)

    def weighed(
        self,
        rules: StateRules,
        epoch: int,
        hotkeys: Collection[str],
        number: int | None,
        immune: Collection[str] = (),
    ) -> LineWeights:
        """What the miners of the line weigh as an epoch ends, or so far in the open one.

        Args:
            rules: which give the weights.
            epoch: the epoch.
            hotkeys: of the miners with a slot.
            number: the last closed round; None where there is none.
            immune: the hotkeys of miners that the chain still protects.
        """
        try:
            carry = self.columns(rules, epoch, hotkeys)
        except AllocationError as error:
            return LineWeights({}, {}, None, str(error))
        return weigh(
            Weighing(
                rules=rules,
                records=self,
                hotkeys=hotkeys,
                of_round=self.of_round(number),
                carry=carry,
                immune=immune,
                said=self.said(epoch),
            )
        )


def last_epoch_of(timeline: Timeline[StateRules], rules: StateRules, epoch: int) -> int | None:
    """The last epoch up to one in which some rules hold; None where they hold in none."""
    spans = [(a, b) for a, b, held in timeline.spans() if held is rules and a <= epoch]
    return max((epoch if b is None else min(b - 1, epoch) for _, b in spans), default=None)
