"""Samples: values of the records of a state that the steps of an allocation collect."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from typing import Protocol

import attrs

from tallystick.errors import StateError
from tallystick_allocation.population import Sample, Task
from tallystick_allocation.rules import EMISSION, QUALITY, UNGROUPED, AllocationRules, Collect
from tallystick_state.event import StateEvent
from tallystick_state.rules import StateRules


class Records(Protocol):
    """The records of one line of a state, as far as an allocation reads them."""

    def newest(self, hotkey: str) -> Iterable[StateEvent]:
        """Return the records of a miner, newest first: by round, task, skill type and validator."""

    def reputation(self, event: StateEvent) -> int:
        """Return the reputation, in nano, that the round of a record pins."""

    def rules_of(self, event: StateEvent) -> StateRules:
        """Return the rules by which a record was scored: those of the epoch that it names."""


def samples_of(
    rules: AllocationRules,
    records: Records,
    hotkeys: Collection[str],
    of_round: Iterable[StateEvent],
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
    collected.check_factors()
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
        of_round: of one round alone.
        of_all: of the last tasks.
    """

    rules: AllocationRules
    records: Records
    of_round: dict[str, dict[str, dict[str, list[Sample]]]] = attrs.field(factory=dict)
    of_all: dict[str, dict[str, dict[str, list[Sample]]]] = attrs.field(factory=dict)

    @property
    def hotkeys(self) -> set[str]:
        """The hotkeys of all samples."""
        return {
            hotkey
            for samples in (self.of_round, self.of_all)
            for groups in samples.values()
            for samples_by_hotkey in groups.values()
            for hotkey in samples_by_hotkey
        }

    @cached_property
    def windows(self) -> Mapping[str, int | None]:
        """The values collected of all rounds, each with its maximum number of tasks (None: all)."""
        windows: dict[str, int | None] = {}
        for step in self._collects:
            if step.records == "window":
                most = windows.get(step.value, 0)
                unlimited = step.last is None or most is None
                windows[step.value] = None if unlimited else max(most or 0, step.last or 0)
        return windows

    @cached_property
    def _collects(self) -> tuple[Collect, ...]:
        return tuple(step for step in self.rules.steps if isinstance(step, Collect))

    @cached_property
    def _factors(self) -> tuple[str, ...]:
        return tuple(sorted({n for step in self._collects for n in (*step.times, *step.over)}))

    def check_factors(self) -> None:
        """Refuse means that are weighed by what no state knows.

        Raises:
            StateError: there is such.
        """
        for name in self._factors:
            if name not in _FACTORS:
                raise StateError(
                    f"found a mean that is weighed by {name}, expected {' or '.join(_FACTORS)}: a "
                    "state knows no other; weigh a table by it with tallystick allocate"
                )

    def take(self, event: StateEvent) -> None:
        """Take what is collected of the round of a record alone."""
        for value in self._values_of_round:
            self._take(value, event, self.of_round)

    def take_windows(self, newest_first: Iterable[StateEvent]) -> None:
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
        return tuple(sorted({step.value for step in self._collects if step.records == "round"}))

    def _take(
        self, value: str, event: StateEvent, to: dict[str, dict[str, dict[str, list[Sample]]]]
    ) -> None:
        """Take a value of a record, if records of its type have such."""
        measured = _value(event, value)
        if value == EMISSION:
            if event.skill_type not in self.records.rules_of(event).base_weights:
                return
            if measured is None and not event.missed:
                raise _no_emission(event)
        if measured is None and not event.missed:
            return
        weights = {name: _FACTORS[name](self.records, event) for name in self._factors}
        sample = Sample(measured, _task(event), event.missed, weights)
        group = self._group(event)
        to.setdefault(value, {}).setdefault(group, {}).setdefault(event.hotkey, []).append(sample)

    def _group(self, event: StateEvent) -> str:
        if not self.rules.groups:
            return UNGROUPED
        return event.skill_type if self.rules.group == _SKILL_TYPE else event.group or UNGROUPED


_SKILL_TYPE = "skill_type"
_FACTORS: Mapping[str, Callable[[Records, StateEvent], int]] = {
    "base_weight": lambda records, event: records.rules_of(event).base_weights[event.skill_type],
    "reputation": lambda records, event: records.reputation(event),
}
"""Factors in nano by which a weighted mean of a state can weigh a record."""


def _value(event: StateEvent, value: str) -> int | Fraction | None:
    if value == QUALITY:
        return event.quality
    return event.emission if value == EMISSION else event.measures.get(value)


def _task(event: StateEvent) -> Task:
    return event.round, event.task_id, event.skill_type


def _no_emission(event: StateEvent) -> StateError:
    return StateError(
        f"found a record of {event.hotkey} in the round {event.round} without an emission, "
        "expected one: score it under the rule set of the state"
    )
