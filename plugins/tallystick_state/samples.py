"""Samples: values of the records of a state that the steps of an allocation collect."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from typing import Protocol

import attrs

from tallystick.errors import StateError
from tallystick_allocation.population import BY_TYPE, EMISSION, QUALITY, UNGROUPED, Sample, Task
from tallystick_allocation.rules import AllocationRules
from tallystick_state.event import SampledEvent, StateEvent
from tallystick_state.rules import StateRules

BASE_WEIGHT, REPUTATION_FACTOR = FACTORS = ("base_weight", "reputation")
"""Factors, in nano, by which a weighted mean of a state can weigh a record."""
Event = StateEvent | SampledEvent
"""A state event, or what is read of one here."""
SamplesByValue = Mapping[str, Mapping[str, Mapping[str, Sequence[Sample]]]]
"""Samples by the ``value`` of steps, by group and by hotkey."""


def factors_of(rules: AllocationRules) -> tuple[str, ...]:
    """Return the factors by which weighted means weigh a record, in name order.

    Raises:
        StateError: no state knows one of them.
    """
    names = {name for step in rules.collects for name in (*step.times, *step.over)}
    for name in sorted(names - {*FACTORS}):
        raise StateError(
            f"found a mean that is weighed by {name}, expected {' or '.join(FACTORS)}: a "
            "state knows no other; weigh a table by it with tallystick allocate"
        )
    return tuple(sorted(names))


def values_of_round(rules: AllocationRules) -> tuple[str, ...]:
    """Return the values that steps collect of one round alone, in name order."""
    return tuple(sorted({step.value for step in rules.collects if step.records == "round"}))


def windows_of(rules: AllocationRules) -> Mapping[str, int | None]:
    """Return the values collected of all rounds, each with its maximum of tasks (None: all)."""
    windows: dict[str, int | None] = {}
    for step in rules.collects:
        if step.records == "window":
            most = windows.get(step.value, 0)
            unlimited = step.last is None or most is None
            windows[step.value] = None if unlimited else max(most or 0, step.last or 0)
    return windows


def hotkeys_of(*samples: SamplesByValue) -> set[str]:
    """Return the hotkeys of some samples."""
    return {
        hotkey
        for by_value in samples
        for groups in by_value.values()
        for by_hotkey in groups.values()
        for hotkey in by_hotkey
    }


class Records(Protocol):
    """The records of one line of a state, as far as an allocation reads them."""

    def newest(self, hotkey: str) -> Iterable[Event]:
        """Return the records of a miner, newest first: by round, task, skill type and validator."""

    def reputation(self, event: Event) -> int:
        """Return the reputation, in nano, that the round of a record pins."""

    def rules_of(self, event: Event) -> StateRules:
        """Return the rules by which a record was scored: those of the epoch that it names."""


class Rounds(Protocol):
    """The records of one line, round by round, as carried columns and weights read them.

    There are two: of state events (`EventRounds`), and of columns.
    """

    @property
    def numbers(self) -> Sequence[int]:
        """The rounds that an epoch has counted, ascending."""

    def samples(
        self,
        rules: AllocationRules,
        hotkeys: Collection[str],
        number: int | None,
        last: int | None = None,
    ) -> Samples:
        """Return the samples of some steps.

        Args:
            rules: the steps.
            hotkeys: of the population.
            number: the round that steps collect of which read one alone; None for no round.
            last: windows end with this round; by default with the newest.

        Raises:
            StateError: a mean is weighed by what no state knows.
        """


class Samples(Protocol):
    """Samples that steps collect, by their ``value``, by group and by hotkey."""

    @property
    def of_round(self) -> SamplesByValue:
        """The samples of one round alone."""

    @property
    def of_all(self) -> SamplesByValue:
        """The samples of the last tasks."""

    @property
    def hotkeys(self) -> set[str]:
        """The hotkeys of all samples."""


@attrs.frozen
class EventRounds:
    """The rounds of state events.

    Attributes:
        records: of the line.
        events: by round.
    """

    records: Records
    events: Mapping[int, Sequence[Event]]

    @classmethod
    def of(cls, records: Records, events: Iterable[Event]) -> EventRounds:
        """Return the rounds of some events of a line, in any order."""
        rounds = defaultdict[int, list[Event]](list)
        for event in events:
            rounds[event.round].append(event)
        return cls(records, rounds)

    @property
    def numbers(self) -> Sequence[int]:
        """The rounds, ascending."""
        return sorted(self.events)

    def samples(
        self,
        rules: AllocationRules,
        hotkeys: Collection[str],
        number: int | None,
        last: int | None = None,
    ) -> Samples:
        """Return the samples of some steps; see `Rounds`."""
        of_round = () if number is None else self.events.get(number, ())
        return samples_of(rules, self.records, hotkeys, of_round, last)


def samples_of(
    rules: AllocationRules,
    records: Records,
    hotkeys: Collection[str],
    of_round: Iterable[Event],
    last: int | None = None,
) -> Collected:
    """Collect the samples of the steps.

    Args:
        rules: the steps.
        records: of the line.
        hotkeys: of the population.
        of_round: the events of the round that steps collect of which read one alone.
        last: windows end with this round; by default with the newest.

    Raises:
        StateError: a mean is weighed by what no state knows.
    """
    collected = Collected(rules, records)
    for event in of_round:
        if event.is_record and event.hotkey in hotkeys:
            collected.take(event)
    for hotkey in hotkeys if collected.windows else ():
        newest = records.newest(hotkey)
        collected.take_windows(newest if last is None else (e for e in newest if e.round <= last))
    return collected


@attrs.frozen(eq=False, slots=False)
class Collected:
    """Samples that steps collect, by their ``value``, by group and by hotkey.

    Attributes:
        rules: the steps.
        records: of the line.
        factors: what weighted means weigh by.
        of_round: of one round alone.
        of_all: of the last tasks.
    """

    rules: AllocationRules
    records: Records
    factors: tuple[str, ...] = attrs.field(init=False)
    of_round: dict[str, dict[str, dict[str, list[Sample]]]] = attrs.field(factory=dict)
    of_all: dict[str, dict[str, dict[str, list[Sample]]]] = attrs.field(factory=dict)
    # the same for all records of an epoch and a type
    _base_weights: dict[tuple[int, str], Mapping[str, int]] = attrs.field(factory=dict, init=False)

    @property
    def hotkeys(self) -> set[str]:
        """The hotkeys of all samples."""
        return hotkeys_of(self.of_round, self.of_all)

    @factors.default
    def _factors_of_rules(self) -> tuple[str, ...]:
        return factors_of(self.rules)

    @cached_property
    def windows(self) -> Mapping[str, int | None]:
        """The values collected of all rounds, each with its maximum number of tasks (None: all)."""
        return windows_of(self.rules)

    def take(self, event: Event) -> None:
        """Take what is collected of the round of a record alone."""
        for value in self._values_of_round:
            self._take(value, event, self.of_round)

    def take_windows(self, newest_first: Iterable[Event]) -> None:
        """Take the last of a miner's tasks, as many as any step looks back."""
        left = dict(self.windows)
        for _, same in groupby(newest_first, key=_task):
            events = [*same]
            for value, most in [*left.items()]:
                for event in events:
                    self._take(value, event, self.of_all)
                # the tasks of each group are counted on their own, so that all have to be read
                scored = any(
                    not sampled.missed and _value(sampled, value) is not None for sampled in events
                )
                if scored and most is not None and not self.rules.groups:
                    left[value] = most - 1
            left = {value: most for value, most in left.items() if most is None or most > 0}
            if not left:
                return

    @cached_property
    def _values_of_round(self) -> tuple[str, ...]:
        return values_of_round(self.rules)

    def _take(
        self, value: str, event: Event, to: dict[str, dict[str, dict[str, list[Sample]]]]
    ) -> None:
        """Take a value of a record, if records of its type have such."""
        measured = _value(event, value)
        if value == EMISSION:
            if event.skill_type not in self._weights(event):
                return
            if measured is None and not event.missed:
                raise no_emission(event.hotkey, event.round)
        if measured is None and not event.missed:
            return
        weights = {name: self._factor(name, event) for name in self.factors}
        sample = Sample(measured, _task(event), event.missed, weights, epoch=event.epoch)
        group = self._group(event)
        to.setdefault(value, {}).setdefault(group, {}).setdefault(event.hotkey, []).append(sample)

    def _group(self, event: Event) -> str:
        if not self.rules.groups:
            return UNGROUPED
        return event.skill_type if self.rules.group == BY_TYPE else event.group or UNGROUPED

    def _factor(self, name: str, event: Event) -> int:
        if name == REPUTATION_FACTOR:
            return self.records.reputation(event)
        return self._weights(event)[event.skill_type]

    def _weights(self, event: Event) -> Mapping[str, int]:
        """Return the base weights by the rules of a record."""
        key = event.epoch, event.skill_type
        if key not in self._base_weights:
            self._base_weights[key] = self.records.rules_of(event).base_weights
        return self._base_weights[key]


def _value(event: Event, value: str) -> int | Fraction | None:
    if value == QUALITY:
        return event.quality
    return event.emission if value == EMISSION else event.measures.get(value)


def _task(event: Event) -> Task:
    return event.round, event.task_id, event.skill_type


def no_emission(hotkey: str, number: int) -> StateError:
    """Return the error of a record of a round without an emission."""
    return StateError(
        f"found a record of {hotkey} in the round {number} without an emission, "
        "expected one: score it under the rule set of the state"
    )
