"""The rounds of records in columns, as carried columns, weights and round scores read them.

Records that steps collect alike are one sample, the sum of their values (`Sample.records`). Windows
and ``last`` look at tasks one by one; samples of theirs have one task each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain, groupby

import attrs
import numpy as np

from tallystick.numbers.nano import NANO
from tallystick_allocation.population import BY_TYPE, EMISSION, UNGROUPED, Sample, Task
from tallystick_allocation.rules import AllocationRules
from tallystick_state.epoch import Closing
from tallystick_state.event import StateEvent
from tallystick_state.model import Columns
from tallystick_state.record_columns import (
    Ints,
    RecordColumns,
    Rows,
    Truths,
    alike,
    counts_of,
    totals_of,
)
from tallystick_state.rules import StateRules
from tallystick_state.samples import (
    Factors,
    Samples,
    SamplesByValue,
    factors_of,
    no_emission,
    values_of_round,
    windows_of,
)

_Sampled = dict[str, dict[str, dict[str, list[Sample]]]]
"""Samples by value, group and hotkey."""


@attrs.frozen
class Memory:
    """The values of earlier epochs that the weights of a later one come of.

    Attributes:
        windows: the samples of all rounds, as far as windows look back, by the digest of the rules.
        round: the highest round with records; None before one.
        of_round: the samples of that round, by the digest of the rules.
        epoch: the first epoch that its records are pinned to.
        carry: the carried columns as the last epoch under some rules ended, by their digest.
    """

    windows: Mapping[str, SamplesByValue] = attrs.field(factory=dict, repr=False)
    round: int | None = None
    of_round: Mapping[str, SamplesByValue] = attrs.field(factory=dict, repr=False)
    epoch: int | None = None
    carry: Mapping[str, Columns] = attrs.field(factory=dict, repr=False)

    def samples(self, rules: StateRules, hotkeys: Collection[str]) -> Samples:
        """Return the samples of the last round and of the windows for some miners."""
        return Samples(
            *(
                of_hotkeys(by_rules.get(rules.digest, {}), hotkeys.__contains__)
                for by_rules in (self.of_round, self.windows)
            )
        )


NOTHING_YET = Memory()


@attrs.frozen(eq=False, slots=False)
class ColumnRounds:
    """The rounds of records in columns; see `samples.Rounds`.

    Attributes:
        parts: the records by skill type.
        alone: the events that came alone, whose rounds an epoch counts too.
        closing: has the reputations and rules that records are pinned to.
        memory: what earlier epochs left.
    """

    parts: Mapping[str, RecordColumns]
    alone: tuple[StateEvent, ...]
    closing: Closing
    memory: Memory
    _cache: dict[tuple[object, ...], dict[int, dict[str, dict[str, list[Sample]]]]] = attrs.field(
        factory=dict, init=False
    )

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

    def samples(
        self,
        rules: AllocationRules,
        hotkeys: Collection[str],
        number: int | None,
        last: int | None = None,
    ) -> Samples:
        """Return the samples of some steps; see `samples.Rounds`."""
        chosen = frozenset(hotkeys)
        of_round: SamplesByValue = {}
        if number is not None:
            of_round = {
                value: self._rounds_of(rules, value).get(number, {})
                for value in values_of_round(rules)
            }
        return Samples(of_hotkeys(of_round, chosen.__contains__), self._of_all(rules, chosen, last))

    def _of_all(
        self, rules: AllocationRules, hotkeys: Collection[str], last: int | None
    ) -> SamplesByValue:
        windows = windows_of(rules)
        if not windows:
            return {}
        before = self.memory.windows.get(self.closing.rules.digest, {})
        every = merged(before, {value: self._tasks_of(rules, value) for value in windows})
        return {
            value: {
                group: {
                    hotkey: [s for s in own if last is None or s.task is None or s.task[0] <= last]
                    for hotkey, own in by_hotkey.items()
                    if hotkey in hotkeys
                }
                for group, by_hotkey in groups.items()
            }
            for value, groups in every.items()
        }

    def kept_windows(self, rules: StateRules, steps: AllocationRules) -> SamplesByValue:
        """Return the samples of all rounds, as far as the windows of some steps look back."""
        windows = windows_of(steps)
        if not windows:
            return {}
        before = self.memory.windows.get(rules.digest, {})
        sums = [value for value in windows if _is_summed(steps, value)]
        every = merged(
            before,
            {value: self._tasks_of(steps, value) for value in windows if value not in sums},
            {value: self._grouped(steps, self.parts.values(), value, _ALL) for value in sums},
        )
        return {
            value: {
                group: {
                    hotkey: _summed(own) if value in sums else _newest(own, windows[value])
                    for hotkey, own in by_hotkey.items()
                }
                for group, by_hotkey in groups.items()
            }
            for value, groups in every.items()
        }

    def tasks_of_round(self, steps: AllocationRules, number: int | None) -> SamplesByValue:
        """Return the samples of one round, a task each."""
        parts = [part.take(part.round == number) for part in self.parts.values()]
        return {
            value: self._grouped(steps, parts, value, _TASKS) for value in values_of_round(steps)
        }

    def _rounds_of(
        self, rules: AllocationRules, value: str
    ) -> dict[int, dict[str, dict[str, list[Sample]]]]:
        """Return the sums of samples by round, group and hotkey."""
        steps = [s for s in rules.collects if s.value == value and s.records == "round"]
        form = _SHARED if any(step.counts_tasks for step in steps) else _PLAIN
        form = _TASKS if any(step.looks_back for step in steps) else form
        key = value, rules.group if rules.groups else None, factors_of(rules), form
        if key not in self._cache:
            rounds: dict[int, dict[str, dict[str, list[Sample]]]] = {}
            for part in self.parts.values():
                for number, group, hotkey, sample in self._sampled(rules, part, value, form):
                    by_hotkey = rounds.setdefault(number, {}).setdefault(group, {})
                    by_hotkey.setdefault(hotkey, []).append(sample)
            self._cache[key] = rounds
        return self._cache[key]

    def _tasks_of(self, rules: AllocationRules, value: str) -> dict[str, dict[str, list[Sample]]]:
        """Return the samples of all rounds of the epoch, a task each, by group and hotkey."""
        most = windows_of(rules)[value]
        if rules.carries:
            most = None  # carried columns look back from each round
        parts = (_newest_rounds(rules, part, value, most) for part in self.parts.values())
        return self._grouped(rules, parts, value, _TASKS)

    def _grouped(
        self, rules: AllocationRules, parts: Iterable[RecordColumns], value: str, form: str
    ) -> dict[str, dict[str, list[Sample]]]:
        """Return the samples of some records by group and hotkey."""
        groups: dict[str, dict[str, list[Sample]]] = {}
        for part in parts:
            for _, group, hotkey, sample in self._sampled(rules, part, value, form):
                groups.setdefault(group, {}).setdefault(hotkey, []).append(sample)
        return groups

    def _sampled(
        self, rules: AllocationRules, part: RecordColumns, value: str, form: str
    ) -> Iterator[tuple[int, str, str, Sample]]:
        """Yield round, group, hotkey and the sum of records that are collected alike."""
        rows = self._counted(part, value)
        if not len(rows):
            return
        numbers = part.numbers(value)
        values = np.zeros(len(part), np.int64) if numbers is None else _whole(numbers.values)
        values = np.where(part.missed, 0, values)[rows]
        groups, names = _groups_of(rules, part)
        hotkeys, rounds = part.hotkey.codes[rows], part.round[rows]
        missed, tasks = part.missed[rows], part.task_id.codes[rows]
        columns = [rounds, groups[rows], hotkeys, part.epoch[rows], missed.astype(np.int64)]
        sharing = [np.ones(len(rows), np.int64)] * 2
        if form == _SHARED:
            sharing = _sharing(missed, hotkeys, groups[rows], rounds, tasks)
            columns += sharing
        if form == _TASKS:
            columns.append(tasks)
        if form == _ALL:
            columns[0] = np.zeros(len(rows), np.int64)
        order, starts = alike(*columns)
        first = order[starts]
        pinned = Factors(self.closing, factors_of(rules))
        for place, total, many, late, with_missed, without in zip(
            first.tolist(),
            totals_of(values, order, starts),
            counts_of(order, starts).tolist(),
            missed[first].tolist(),
            sharing[0][first].tolist(),
            sharing[1][first].tolist(),
            strict=True,
        ):
            row = int(rows[place])
            hotkey, number = part.hotkey.names[part.hotkey.codes[row]], int(part.round[row])
            task: Task | None = None
            if form == _TASKS:
                task = number, part.task_id.names[part.task_id.codes[row]], part.skill_type
            sample = Sample(
                total,
                task,
                late,
                pinned.of(int(part.epoch[row]), hotkey, part.skill_type),
                many,
                None if form == _TASKS else (with_missed, without),
                int(part.epoch[row]) if form == _TASKS else None,
            )
            yield number, names[groups[row]], hotkey, sample

    def _counted(self, part: RecordColumns, value: str) -> Rows:
        """Return the rows that have a value, or a missed deadline.

        Raises:
            StateError: a record has no emission, although it was not missed.
        """
        numbers = part.numbers(value)
        present = np.zeros(len(part), np.bool_) if numbers is None else numbers.present
        if value == EMISSION:
            has_weight = self._has_emission(part)
            lacking = np.flatnonzero(has_weight & ~present & ~part.missed)
            if len(lacking):
                row = int(lacking[0])
                hotkey = part.hotkey.names[part.hotkey.codes[row]]
                raise no_emission(hotkey, int(part.round[row]))
            return np.flatnonzero(has_weight & (present | part.missed))
        return np.flatnonzero(present | part.missed)

    def _has_emission(self, part: RecordColumns) -> Truths:
        """Return the rows whose own rules give their type a base weight."""
        epochs = [
            epoch
            for epoch in np.unique(part.epoch).tolist()
            if part.skill_type in self.closing.base_rules(epoch).base_weights
        ]
        return np.isin(part.epoch, epochs)


_PLAIN, _SHARED, _TASKS, _ALL = "plain", "shared", "tasks", "all"
"""Forms of sums: of a round; with how many records share a task; of a task; of all rounds."""


def of_hotkeys(samples: SamplesByValue, is_kept: Callable[[str], bool]) -> SamplesByValue:
    """Return the samples of some hotkeys."""
    return {
        value: {
            group: {hotkey: own for hotkey, own in by_hotkey.items() if is_kept(hotkey)}
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


def _sharing(missed: Truths, *task: Ints) -> list[Ints]:
    """Return how many records the task of each row has, with missed ones and without."""
    order, starts = alike(*task)
    counts = counts_of(order, starts)
    in_time = np.add.reduceat((~missed).astype(np.int64)[order], starts)
    sharing = []
    for per_task in (counts, in_time):
        per_row = np.empty(len(order), np.int64)
        per_row[order] = np.repeat(per_task, counts)
        sharing.append(per_row)
    return sharing


def _is_summed(rules: AllocationRules, value: str) -> bool:
    """Return whether the windows of a value need no more than sums over all rounds."""
    steps = [s for s in rules.collects if s.value == value and s.records == "window"]
    return not rules.carries and not any(step.counts_tasks or step.looks_back for step in steps)


def _summed(samples: Iterable[Sample]) -> list[Sample]:
    """Return the samples with those of the same factors as one."""
    sums: dict[tuple[object, ...], Sample] = {}
    for sample in samples:
        key = sample.missed, tuple(sorted(sample.factors.items()))
        other = sums.get(key)
        if other is None:
            sums[key] = sample
        else:
            value = (other.value or 0) + (sample.value or 0)
            sums[key] = attrs.evolve(sample, value=value, records=other.records + sample.records)
    return [*sums.values()]


def _newest(samples: Sequence[Sample], most: int | None) -> list[Sample]:
    """Return the samples of the newest tasks, until so many of them have a value."""
    if most is None:
        return [*samples]
    kept, left = list[Sample](), most
    newest_first = sorted(samples, key=_task, reverse=True)
    for _, same in groupby(newest_first, key=_task):
        if not left:
            break
        of_task = [*same]
        kept += of_task
        left -= any(not sample.missed for sample in of_task)
    return kept


def _task(sample: Sample) -> Task:
    return sample.task or (-1, "", "")


def _newest_rounds(
    rules: AllocationRules, part: RecordColumns, value: str, most: int | None
) -> RecordColumns:
    """Return the records of the newest rounds of each miner that hold so many tasks with a value.

    Those of older rounds are behind every window.
    """
    numbers = part.numbers(value)
    if most is None or numbers is None:
        return part
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
    if not oldest:
        return part
    limit = np.full(int(owner.max()) + 1, np.iinfo(np.int64).min)
    limit[[*oldest]] = [*oldest.values()]
    return part.take(part.round >= limit[owner])


def merged(*every: SamplesByValue) -> SamplesByValue:
    """Return the samples of all, those of one value, group and hotkey together."""
    together: _Sampled = {}
    for samples in every:
        for value, groups in samples.items():
            for group, by_hotkey in groups.items():
                to = together.setdefault(value, {}).setdefault(group, {})
                for hotkey, own in by_hotkey.items():
                    to.setdefault(hotkey, []).extend(own)
    return together
