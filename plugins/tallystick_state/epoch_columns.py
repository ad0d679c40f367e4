"""The end of an epoch of records in columns: the next state, the weights and the round scores.

It is the closing of `epoch` and the weighing of `weights`: each rule is computed there, and this
module gives it what it reads of the records, grouped: counts of records of one delta, results of a
skill type, and sums of the samples that steps collect alike. What weights read of earlier epochs is
a value (`Memory`), so that closing is a pure function.

Invariant: the result is, digit for digit, that of `close_epoch`, `round_scores` and `weigh` for the
same records as state events.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

import attrs
import numpy as np

from tallystick_allocation.files import RoundFile
from tallystick_allocation.rules import ALLOCATION
from tallystick_state.attributes import NO_ATTRIBUTES
from tallystick_state.column_rounds import (
    NOTHING_YET,
    ColumnRounds,
    Memory,
    merged,
    of_hotkeys,
)
from tallystick_state.epoch import Alike, Closing, Owner, RecordKey, closed
from tallystick_state.event import StateEvent
from tallystick_state.miners import FLAG, Flags, flag
from tallystick_state.model import Columns, State
from tallystick_state.record_columns import RecordColumns, alike, counts_of
from tallystick_state.roles import Roles
from tallystick_state.round_scores import scores_of_round
from tallystick_state.rules import StateRules
from tallystick_state.weights import LineWeights, weigh


@attrs.frozen(slots=False)
class EpochOutcome:
    """The result of an epoch.

    Attributes:
        state: as the next epoch begins, with the flags that came with the records.
        weighed: the weights as the epoch ends, with every column that they come of.
        flags: the collusion flags of the epoch, by miner and validator.
        memory: what the next epochs read.
        rounds: the records by round.
    """

    state: State
    weighed: LineWeights = attrs.field(repr=False)
    flags: Flags
    memory: Memory = attrs.field(repr=False)
    rounds: ColumnRounds = attrs.field(repr=False, eq=False)

    @cached_property
    def round_scores(self) -> Mapping[int, Mapping[str, int]]:
        """The round scores by round and hotkey, in nano; empty where the rule set has none."""
        return _round_scores(self.rounds)


def close(  # noqa: PLR0913  # what a closing is made of
    state: State,
    records: Iterable[RecordColumns],
    rules: StateRules,
    pinned: Mapping[int, State],
    *,
    base_rules: Callable[[int], StateRules] | None = None,
    alone: Iterable[StateEvent] = (),
    memory: Memory = NOTHING_YET,
    attributes: RoundFile | None = None,
    later: Iterable[StateRules] = (),
) -> EpochOutcome:
    """Close an epoch of records in columns, and weigh its miners.

    Args:
        state: as the epoch ends, without the flags that come with its records.
        records: all that were recorded while it was open, of each skill type at most one.
        rules: the rules of the epoch that ends.
        pinned: by epoch, the state at its start: of each epoch that a record is pinned to.
        base_rules: the rules of such an epoch; by default those of the epoch that ends.
        alone: the events that came alone, such as the flags that the engine gives.
        memory: what earlier epochs left; nothing of an earlier epoch counts without.
        attributes: what the rules ask of the rounds and of miners beside the records.
        later: further rules that a later epoch has, whose windows look back to this one.

    Raises:
        StateError: as `close_epoch`.
    """
    parts = {part.skill_type: part for part in records if len(part)}
    begun = base_rules or (lambda _: rules)
    held = _without_former(memory, state)
    epoch_records = ColumnRecords(parts, tuple(alone), held)
    closing = Closing(rules, pinned, epoch_records, state, begun, attributes)
    after = closed(closing)
    flags = epoch_records.flags()
    rounds = epoch_records.rounds(closing)
    columns = after.carry.get(rules.line, {})
    kept = _next_memory(rounds, held, (rules, *later), columns)
    return EpochOutcome(
        flag(after, rules, flags),
        _weighed(rounds, kept, after, attributes or NO_ATTRIBUTES),
        flags,
        kept,
        rounds,
    )


def _without_former(memory: Memory, state: State) -> Memory:
    """Return what earlier epochs left of those who did not begin anew in the open one."""
    anew = {miner.hotkey for miner in state.miners.values() if miner.anew == state.epoch}
    if not anew:
        return memory
    windows, of_round = (
        {digest: of_hotkeys(samples, lambda hotkey: hotkey not in anew) for digest, samples in own}
        for own in (memory.windows.items(), memory.of_round.items())
    )
    return attrs.evolve(memory, windows=windows, of_round=of_round)


def _next_memory(
    rounds: ColumnRounds, before: Memory, rules: Iterable[StateRules], columns: Columns
) -> Memory:
    closing = rounds.closing
    windows, of_round = dict(before.windows), dict(before.of_round)
    last, epoch = before.round, before.epoch
    newest = max(rounds.numbers, default=None)
    is_later = newest is not None and (last is None or newest >= last)
    if newest is not None and is_later:
        named = rounds.pinned_of(newest)
        known = [named] if newest != last else [named, epoch]
        epoch = min((number for number in known if number is not None), default=epoch)
        last = newest
    weighing = () if epoch is None else (closing.base_rules(epoch),)
    for own in {own.digest: own for own in (*rules, *weighing)}.values():
        steps = own.rule_set.section(ALLOCATION)
        if steps is None:
            continue
        windows[own.digest] = rounds.kept_windows(own, steps)
        if is_later:
            earlier = before.of_round.get(own.digest, {}) if last == before.round else {}
            of_round[own.digest] = merged(earlier, rounds.tasks_of_round(steps, newest))
    carry = {**before.carry, closing.rules.digest: columns}
    return Memory(windows, last, of_round, epoch, carry)


def _weighed(
    rounds: ColumnRounds,
    memory: Memory,
    after: State,
    attributes: RoundFile,
) -> LineWeights:
    """Return the weights by the rules of the last round's epoch, as a state has them."""
    closing = rounds.closing
    rules = closing.rules if memory.epoch is None else closing.base_rules(memory.epoch)
    return weigh(
        rules,
        lambda _, hotkeys, __: memory.samples(rules, hotkeys),
        after.slots.keys(),
        memory.round,
        closing.state.epoch,
        carry=memory.carry.get(rules.digest, {}),
        attributes=attributes,
    )


def _round_scores(rounds: ColumnRounds) -> Mapping[int, Mapping[str, int]]:
    closing, everyone = rounds.closing, rounds.hotkeys
    scores = {}
    for number in rounds.numbers:
        epoch = rounds.pinned_of(number)
        rules = closing.rules if epoch is None else closing.base_rules(epoch)
        of_round = scores_of_round(rules, rounds, number, everyone)
        if of_round:
            scores[number] = of_round
    return scores


@attrs.frozen(eq=False, slots=False)
class ColumnRecords:
    """The records of an epoch in columns; see `epoch.EpochRecords`.

    Attributes:
        parts: the records by skill type.
        alone: the events that came alone.
        memory: what earlier epochs left.
    """

    parts: Mapping[str, RecordColumns]
    alone: tuple[StateEvent, ...] = ()
    memory: Memory = NOTHING_YET
    _rounds: list[ColumnRounds] = attrs.field(factory=list, init=False)

    @cached_property
    def owners(self) -> Collection[Owner]:
        """The hotkeys and skill types of all events."""
        owners = {(event.hotkey, event.skill_type) for event in self.alone}
        for name, part in self.parts.items():
            names = part.hotkey.names
            owners |= {(names[code], name) for code in np.unique(part.hotkey.codes).tolist()}
        return owners

    def alike(self) -> Sequence[tuple[Alike, int]]:
        """Return the records of one delta, with their number."""
        return self._alike

    @cached_property
    def _alike(self) -> Sequence[tuple[Alike, int]]:
        late = defaultdict[RecordKey, list[StateEvent]](list)
        for event in self.alone:
            about = event.validator, event.hotkey, event.skill_type
            late[*about, event.task_id, event.round, event.epoch].append(event)
        found, joined = list[tuple[Alike, int]](), defaultdict[str, list[int]](list)
        for (validator, hotkey, name, _, _, epoch), events in late.items():
            names = [*chain.from_iterable(event.events for event in events)]
            row = self._row(events[0])
            if row is not None:
                # with its record they are one
                joined[name].append(row)
                column = self.parts[name].events
                names += column.names[column.codes[row]]
            found.append(((validator, hotkey, name, epoch, tuple(sorted(names))), 1))
        for name, part in self.parts.items():
            is_other = np.ones(len(part), np.bool_)
            is_other[joined[name]] = False
            found += _alike(part.take(is_other) if joined[name] else part)
        return found

    def _row(self, about: StateEvent) -> int | None:
        """Return the row of the record that an event is about, if it is of this epoch."""
        part = self.parts.get(about.skill_type)
        if part is None:
            return None
        is_row = (part.round == about.round) & (part.epoch == about.epoch)
        for column, name in (
            (part.validator, about.validator),
            (part.hotkey, about.hotkey),
            (part.task_id, about.task_id),
        ):
            if name not in column.names:
                return None
            is_row &= column.codes == column.names.index(name)
        rows = np.flatnonzero(is_row)
        return int(rows[0]) if len(rows) else None

    def qualities(self, skill_type: str, roles: Roles, *, per_miner: bool) -> Sequence[int]:
        """Return the qualities that feed thresholds; see `epoch.EpochRecords`."""
        part = self.parts.get(skill_type)
        if part is None or part.quality is None:
            return []
        codes = [code for code, role in enumerate(part.role.names) if role in roles]
        rows = np.flatnonzero(part.scored & ~part.missed & np.isin(part.role.codes, codes))
        qualities = part.quality[rows]
        if per_miner and len(rows):
            order, starts = alike(part.hotkey.codes[rows])
            qualities = np.maximum.reduceat(qualities[order], starts)
        listed: list[int] = qualities.tolist()
        return listed

    def rounds(self, closing: Closing) -> ColumnRounds:
        """Return the records by round, grouped once: no step changes what they are read by."""
        if not self._rounds:
            self._rounds.append(ColumnRounds(self.parts, self.alone, closing, self.memory))
        return self._rounds[0]

    def flags(self) -> Flags:
        """Return the collusion flags that came with the records, or alone."""
        flags = Counter[tuple[str, str]]()
        for (validator, hotkey, _, _, names), many in self.alike():
            if FLAG in names:
                flags[hotkey, validator] += names.count(FLAG) * many
        return flags


def _alike(part: RecordColumns) -> Iterator[tuple[Alike, int]]:
    columns = part.validator.codes, part.hotkey.codes, part.epoch, part.events.codes
    order, starts = alike(*columns)
    rows = order[starts]
    codes = (column[rows].tolist() for column in columns)
    validators, hotkeys, events = part.validator.names, part.hotkey.names, part.events.names
    for validator, hotkey, epoch, names, many in zip(
        *codes, counts_of(order, starts).tolist(), strict=True
    ):
        key = validators[validator], hotkeys[hotkey], part.skill_type, epoch, events[names]
        yield key, many
