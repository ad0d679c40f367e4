"""The end of an epoch of records in columns: the next state, the weights and the round scores.

It is the closing of `epoch` and the weighing of `weights`: each rule is computed there, and this
module gives it what it reads of the records, grouped: counts of records of one delta, results of a
skill type, and sums of the samples that steps collect alike. What weights read of earlier epochs is
a value (`Memory`), so that closing is a pure function.

Records that steps collect alike are one sample, the sum of their values (`Sample.records`). Windows
and ``last`` look at tasks one by one; samples of theirs have one task each.

Invariant: the result is, digit for digit, that of `close_epoch`, `round_scores` and `weigh` for the
same records as state events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import chain

import attrs
import numpy as np

from tallystick.numbers.nano import NANO
from tallystick_allocation.files import RoundFile
from tallystick_allocation.population import (
    BY_TYPE,
    EMISSION,
    QUALITY,
    UNGROUPED,
    Sample,
)
from tallystick_allocation.rules import ALLOCATION, AllocationRules
from tallystick_state.attributes import NO_ATTRIBUTES
from tallystick_state.epoch import Closing, close_epoch
from tallystick_state.event import StateEvent
from tallystick_state.miners import FLAG, Flags, flag
from tallystick_state.model import Columns, State
from tallystick_state.record_columns import (
    Ints,
    RecordColumns,
    Rows,
    Truths,
    alike,
    counts_of,
    joined,
    totals_of,
)
from tallystick_state.roles import Roles
from tallystick_state.round_scores import scores_of_round
from tallystick_state.rules import StateRules
from tallystick_state.samples import (
    Alike,
    Owner,
    Pins,
    Samples,
    SamplesByValue,
    factors_of,
    no_emission,
    values_of_round,
    windows_of,
)
from tallystick_state.weights import LineWeights, weigh

Parts = Mapping[str, RecordColumns]
"""Records by skill type."""


@attrs.frozen
class Memory:
    """The records that earlier epochs left, of which the weights of a later one come.

    Attributes:
        records: those of the last round, and those that windows look back on: of windows without a
            limit all.
        pinned: by epoch, the state at its start: of each epoch that one of these is pinned to.
        round: the highest round with records; None before one.
        epoch: the first epoch that the records of that round are pinned to.
        carry: the carried columns as the last epoch under some rules ended, by their digest.
    """

    records: Parts = attrs.field(factory=dict, repr=False)
    pinned: Mapping[int, State] = attrs.field(factory=dict, repr=False)
    round: int | None = None
    epoch: int | None = None
    carry: Mapping[str, Columns] = attrs.field(factory=dict, repr=False)


NOTHING_YET = Memory()


@attrs.frozen(slots=False)
class EpochOutcome:
    """The result of an epoch.

    Attributes:
        state: as the next epoch begins, with the flags that came with the records.
        weighed: the weights as the epoch ends, with every column that they come of.
        flags: the collusion flags of the epoch, by miner and validator.
        memory: what the next epochs read.
        records: those of the epoch.
        closing: what they are pinned to.
    """

    state: State
    weighed: LineWeights = attrs.field(repr=False)
    flags: Flags
    memory: Memory = attrs.field(repr=False)
    records: ColumnRecords = attrs.field(repr=False, eq=False)
    closing: Closing = attrs.field(repr=False, eq=False)

    @cached_property
    def round_scores(self) -> Mapping[int, Mapping[str, int]]:
        """The round scores by round and hotkey, in nano; empty where the rule set has none."""
        records, closing = self.records, self.closing
        scores = {}
        for number in records.numbers:
            epoch = records.pinned_of(number)
            rules = closing.rules if epoch is None else closing.pins.base_rules(epoch)
            of_round = scores_of_round(rules, records, closing.pins, number, records.hotkeys)
            if of_round:
                scores[number] = of_round
        return scores


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
        alone: the flags that the engine gives; no other event comes alone here.
        memory: what earlier epochs left; nothing of an earlier epoch counts without.
        attributes: what the rules ask of the rounds and of miners beside the records.
        later: further rules that a later epoch has, whose windows look back to this one.

    Raises:
        StateError: as `close_epoch`.
    """
    parts = {part.skill_type: part for part in records if len(part)}
    before = _without_former(memory.records, state)
    epoch_records = ColumnRecords(parts, tuple(alone), _together(before, parts))
    pins = Pins({**memory.pinned, **pinned}.get, base_rules or (lambda _: rules))
    closing = Closing(rules, pins, epoch_records, state, attributes)
    after = close_epoch(closing)
    flags = epoch_records.flags()
    columns = after.carry.get(rules.line, {})
    kept = _next_memory(epoch_records, closing, memory, (rules, *later), columns)
    weighed = _weighed(closing, kept, after, attributes or NO_ATTRIBUTES)
    return EpochOutcome(
        flag(after, rules.quorum, flags), weighed, flags, kept, epoch_records, closing
    )


def _without_former(records: Parts, state: State) -> Parts:
    """Return the records of earlier epochs of those who did not begin anew in the open one."""
    anew = {miner.hotkey for miner in state.miners.values() if miner.anew == state.epoch}
    return (
        {name: part.take(~part.is_of(anew)) for name, part in records.items()} if anew else records
    )


def _together(first: Parts, second: Parts) -> Parts:
    """Return the records of both, those of one skill type together."""
    names = dict.fromkeys((*first, *second))
    return {
        name: joined([side[name] for side in (first, second) if name in side]) for name in names
    }


def _next_memory(
    records: ColumnRecords,
    closing: Closing,
    before: Memory,
    rules: Iterable[StateRules],
    columns: Columns,
) -> Memory:
    last, epoch = before.round, before.epoch
    newest = max(records.numbers, default=None)
    if newest is not None and (last is None or newest >= last):
        named = records.pinned_of(newest)
        known = [named] if newest != last else [named, epoch]
        epoch = min((number for number in known if number is not None), default=epoch)
        last = newest
    weighing = () if epoch is None else (closing.pins.base_rules(epoch),)
    sections = {own.digest: own.rule_set.section(ALLOCATION) for own in (*rules, *weighing)}
    steps = [section for section in sections.values() if section is not None]
    kept = {
        name: part.take(_is_still_read(part, last, steps)) for name, part in records.every.items()
    }
    epochs = {epoch for part in kept.values() for epoch in np.unique(part.epoch).tolist()}
    return Memory(
        {name: part for name, part in kept.items() if len(part)},
        {pin: state for pin in epochs if (state := closing.pins.state(pin)) is not None},
        last,
        epoch,
        {**before.carry, closing.rules.digest: columns},
    )


def _is_still_read(
    part: RecordColumns, last: int | None, every: Iterable[AllocationRules]
) -> Truths:
    """Return the rows of the last round, and those that windows of some steps look back on."""
    is_read: Truths = part.round == (-1 if last is None else last)
    for steps in every:
        for value, most in windows_of(steps).items():
            # of records without the value only missed deadlines count
            has_value = value in part.values
            is_read = is_read | (_in_window(steps, part, value, most) if has_value else part.missed)
    return is_read


def _weighed(closing: Closing, memory: Memory, after: State, attributes: RoundFile) -> LineWeights:
    """Return the weights by the rules of the last round's epoch, as a state has them."""
    rules = closing.rules if memory.epoch is None else closing.pins.base_rules(memory.epoch)
    newest = {name: part.take(part.round == memory.round) for name, part in memory.records.items()}
    return weigh(
        rules,
        partial(ColumnRecords(newest, (), memory.records).samples, closing.pins),
        after.slots.keys(),
        memory.round,
        closing.state.epoch,
        carry=memory.carry.get(rules.digest, {}),
        attributes=attributes,
    )


@attrs.frozen(eq=False, slots=False)
class ColumnRecords:
    """The records of an epoch in columns; see `samples.EpochRecords`.

    Attributes:
        parts: the records.
        alone: the flags that the engine gives, whose rounds an epoch counts too.
        every: the records with those of earlier epochs, for windows.
    """

    parts: Parts
    alone: tuple[StateEvent, ...]
    every: Parts
    _cache: dict[tuple[object, ...], dict[int, dict[str, dict[str, list[Sample]]]]] = attrs.field(
        factory=dict, init=False
    )

    @cached_property
    def owners(self) -> Collection[Owner]:
        """The hotkeys and skill types of all events."""
        owners = {(event.hotkey, event.skill_type) for event in self.alone}
        for name, part in self.parts.items():
            names = part.hotkey.names
            owners |= {(names[code], name) for code in np.unique(part.hotkey.codes).tolist()}
        return owners

    @cached_property
    def numbers(self) -> Sequence[int]:
        """The rounds, ascending."""
        return sorted({*self._epochs, *(event.round for event in self.alone)})

    @cached_property
    def hotkeys(self) -> frozenset[str]:
        """The hotkeys of all records."""
        return frozenset(chain.from_iterable(part.hotkey.names for part in self.parts.values()))

    @cached_property
    def _epochs(self) -> Mapping[int, int]:
        """The first epoch that the records of each round are pinned to."""
        epochs: dict[int, int] = {}
        for part in self.parts.values():
            order, starts = alike(part.round, part.epoch)
            rows = order[starts]
            for number, epoch in zip(
                part.round[rows].tolist(), part.epoch[rows].tolist(), strict=True
            ):
                epochs[number] = min(epoch, epochs.get(number, epoch))
        return epochs

    def pinned_of(self, number: int | None) -> int | None:
        """Return the epoch that a round is pinned to; None where it has no records."""
        return None if number is None else self._epochs.get(number)

    @cached_property
    def alike(self) -> Sequence[tuple[Alike, int]]:
        """The records of one delta, with their number."""
        # a flag of the engine is about a task that no record has
        flags = (
            ((flag.validator, flag.hotkey, flag.skill_type, flag.epoch, flag.events), 1)
            for flag in self.alone
        )
        return [*flags, *chain.from_iterable(map(_alike, self.parts.values()))]

    def qualities(self, skill_type: str, roles: Roles, *, per_miner: bool) -> Sequence[int]:
        """Return the qualities that feed thresholds; see `samples.EpochRecords`."""
        part = self.parts.get(skill_type)
        numbers = None if part is None else part.values.get(QUALITY)
        if part is None or numbers is None:
            return []
        codes = [code for code, role in enumerate(part.role.names) if role in roles]
        rows = np.flatnonzero(numbers.present & ~part.missed & np.isin(part.role.codes, codes))
        qualities = numbers.values[rows]
        if per_miner and len(rows):
            order, starts = alike(part.hotkey.codes[rows])
            qualities = np.maximum.reduceat(qualities[order], starts)
        listed: list[int] = qualities.tolist()
        return listed

    def samples(
        self,
        pins: Pins,
        rules: AllocationRules,
        hotkeys: Collection[str],
        number: int | None,
        last: int | None = None,
    ) -> Samples:
        """Return the samples of some steps; see `samples.EpochRecords`."""
        chosen = frozenset(hotkeys)
        of_round: SamplesByValue = {}
        if number is not None:
            of_round = {
                value: self._rounds_of(pins, rules, value).get(number, {})
                for value in values_of_round(rules)
            }
        of_all = {value: self._tasks_of(pins, rules, value) for value in windows_of(rules)}
        return Samples(_chosen(of_round, chosen, None), _chosen(of_all, chosen, last))

    def _rounds_of(
        self, pins: Pins, rules: AllocationRules, value: str
    ) -> dict[int, dict[str, dict[str, list[Sample]]]]:
        """Return the sums of samples by round, group and hotkey."""
        steps = [s for s in rules.collects if s.value == value and s.records == "round"]
        by_task = any(step.counts_tasks or step.looks_back for step in steps)
        key = value, rules.group if rules.groups else None, factors_of(rules), by_task
        # no step changes what records are read by
        if key not in self._cache:
            rounds: dict[int, dict[str, dict[str, list[Sample]]]] = {}
            for part in self.parts.values():
                for number, group, hotkey, sample in _sampled(pins, rules, part, value, by_task):
                    by_hotkey = rounds.setdefault(number, {}).setdefault(group, {})
                    by_hotkey.setdefault(hotkey, []).append(sample)
            self._cache[key] = rounds
        return self._cache[key]

    def _tasks_of(
        self, pins: Pins, rules: AllocationRules, value: str
    ) -> dict[str, dict[str, list[Sample]]]:
        """Return the samples of all rounds, a task each, by group and hotkey."""
        most = windows_of(rules)[value]
        if rules.carries:
            most = None  # carried columns look back from each round
        groups: dict[str, dict[str, list[Sample]]] = {}
        for part in self.every.values():
            in_window = part.take(_in_window(rules, part, value, most))
            for _, group, hotkey, sample in _sampled(pins, rules, in_window, value, True):
                groups.setdefault(group, {}).setdefault(hotkey, []).append(sample)
        return groups

    def flags(self) -> Flags:
        """Return the collusion flags that came with the records, and those of the engine."""
        flags = Counter[tuple[str, str]]()
        for (validator, hotkey, _, _, names), many in self.alike:
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


def _sampled(
    pins: Pins, rules: AllocationRules, part: RecordColumns, value: str, by_task: bool
) -> Iterator[tuple[int, str, str, Sample]]:
    """Yield round, group, hotkey and the sum of records that are collected alike."""
    rows = _counted(pins, part, value)
    if not len(rows):
        return
    numbers = part.values.get(value)
    values = np.zeros(len(part), np.int64) if numbers is None else _whole(numbers.values)
    values = np.where(part.missed, 0, values)[rows]
    groups, names = _groups_of(rules, part)
    columns = [part.round, groups, part.hotkey.codes, part.epoch, part.missed.astype(np.int64)]
    if by_task:
        columns.append(part.task_id.codes)
    order, starts = alike(*(column[rows] for column in columns))
    first = rows[order[starts]]
    factors = cache(partial(pins.factors, factors_of(rules)))
    for number, group, hotkey, epoch, late, task, total, many in zip(
        part.round[first].tolist(),
        groups[first].tolist(),
        part.hotkey.take(first).values(),
        part.epoch[first].tolist(),
        part.missed[first].tolist(),
        part.task_id.take(first).values(),
        totals_of(values, order, starts),
        counts_of(order, starts).tolist(),
        strict=True,
    ):
        apart = ((number, task, part.skill_type), epoch) if by_task else (None, None)
        pinned = factors(epoch, hotkey, part.skill_type)
        yield number, names[group], hotkey, Sample(total, apart[0], late, pinned, many, apart[1])


def _counted(pins: Pins, part: RecordColumns, value: str) -> Rows:
    """Return the rows that have a value, or a missed deadline.

    Raises:
        StateError: a record has no emission, although it was not missed.
    """
    numbers = part.values.get(value)
    present = np.zeros(len(part), np.bool_) if numbers is None else numbers.present
    if value == EMISSION:
        has_weight = _has_emission(pins, part)
        lacking = np.flatnonzero(has_weight & ~present & ~part.missed)
        if len(lacking):
            row = int(lacking[0])
            hotkey = part.hotkey.names[part.hotkey.codes[row]]
            raise no_emission(hotkey, int(part.round[row]))
        return np.flatnonzero(has_weight & (present | part.missed))
    return np.flatnonzero(present | part.missed)


def _has_emission(pins: Pins, part: RecordColumns) -> Truths:
    """Return the rows whose own rules give their type a base weight."""
    epochs = [
        epoch
        for epoch in np.unique(part.epoch).tolist()
        if part.skill_type in pins.base_rules(epoch).base_weights
    ]
    return np.isin(part.epoch, epochs)


def _chosen(samples: SamplesByValue, hotkeys: Collection[str], last: int | None) -> SamplesByValue:
    """Return the samples of some hotkeys, those of tasks up to a round."""
    return {
        value: {
            group: {
                hotkey: [s for s in own if last is None or s.task is None or s.task[0] <= last]
                for hotkey, own in by_hotkey.items()
                if hotkey in hotkeys
            }
            for group, by_hotkey in groups.items()
        }
        for value, groups in samples.items()
    }


def _groups_of(rules: AllocationRules, part: RecordColumns) -> tuple[Ints, Sequence[str]]:
    """Return the code of the group of each row, and the names of the groups."""
    alone = np.zeros(len(part), np.int64)
    if not rules.groups:
        return alone, (UNGROUPED,)
    if rules.group == BY_TYPE:
        return alone, (part.skill_type,)
    return (alone, (UNGROUPED,)) if part.group is None else (part.group.codes, part.group.names)


def _whole(values: Ints | np.ndarray) -> np.ndarray:
    """Return values of one unit: where one is a fraction, all are."""
    if values.dtype != np.object_:
        return values
    column = np.empty(len(values), np.object_)
    column[:] = [v if isinstance(v, Fraction) else Fraction(v, NANO) for v in values.tolist()]
    return column


def _in_window(rules: AllocationRules, part: RecordColumns, value: str, most: int | None) -> Truths:
    """Return the rows of the newest rounds of each miner that hold so many tasks with a value.

    Those of older rounds are behind every window.
    """
    numbers = part.values.get(value)
    if most is None or numbers is None:
        return np.ones(len(part), np.bool_)
    groups, _ = _groups_of(rules, part)
    has_value = np.flatnonzero(numbers.present & ~part.missed)
    owner = part.hotkey.codes * (int(groups.max(initial=0)) + 1) + groups
    order, starts = alike(*(c[has_value] for c in (owner, part.round, part.task_id.codes)))
    tasks = has_value[order[starts]]
    # tasks by owner and round, ascending: from the end of an owner count those of newer rounds
    owners, starts = alike(owner[tasks])
    oldest = dict[int, int]()
    for own in np.split(tasks[owners], starts[1:]):
        if len(own) >= most:
            rounds = np.sort(part.round[own])
            oldest[int(owner[own[0]])] = int(rounds[len(rounds) - most])
    limit = np.full(int(owner.max(initial=0)) + 1, np.iinfo(np.int64).min)
    limit[[*oldest]] = [*oldest.values()]
    is_in_window: Truths = part.round >= limit[owner]
    return is_in_window
