"""The records of an epoch as what reads them sees them, and the samples that steps collect."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from itertools import chain, groupby
from operator import attrgetter
from typing import Protocol

import attrs

from tallystick.errors import StateError
from tallystick.numbers.nano import from_text
from tallystick_allocation.population import BY_TYPE, EMISSION, UNGROUPED, Sample, Task
from tallystick_allocation.rules import AllocationRules
from tallystick_state.event import StateEvent
from tallystick_state.miners import pinned_reputation
from tallystick_state.model import State
from tallystick_state.roles import Roles
from tallystick_state.rules import StateRules

BASE_WEIGHT, REPUTATION_FACTOR = FACTORS = ("base_weight", "reputation")
"""Factors, in nano, by which a weighted mean of a state can weigh a record."""
SamplesByValue = Mapping[str, Mapping[str, Mapping[str, Sequence[Sample]]]]
"""Samples by the ``value`` of steps, by group and by hotkey."""
Owner = tuple[str, str]
"""Owner of a reputation: a hotkey and a skill type."""
RecordKey = tuple[str, str, str, str, int, int]
"""Key of a record: validator, hotkey, skill type, task, round, pinned epoch."""
Alike = tuple[str, str, str, int, tuple[str, ...]]
"""Records of one delta: validator, hotkey, skill type, pinned epoch, and events, sorted."""

_RECORD_KEY: Callable[[StateEvent], RecordKey] = attrgetter(
    "validator", "hotkey", "skill_type", "task_id", "round", "epoch"
)


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


@attrs.frozen
class Pins:
    """The rules and the reputations that rounds are pinned to, by epoch.

    Attributes:
        state: returns the state as an epoch begins; None of one that is not known.
        base_rules: returns the rules by which the records of an epoch were scored.
    """

    state: Callable[[int], State | None]
    base_rules: Callable[[int], StateRules]

    def reputation(self, epoch: int, hotkey: str, skill_type: str) -> int:
        """Return the reputation, in nano, that a round pinned to an epoch has of a miner."""
        return pinned_reputation(self.state(epoch), self.base_rules(epoch), hotkey, skill_type)

    def factors(
        self, names: Iterable[str], epoch: int, hotkey: str, skill_type: str
    ) -> Mapping[str, int]:
        """Return the factors of a miner's records of a type in an epoch, by name, in nano."""
        return {
            name: self.reputation(epoch, hotkey, skill_type)
            if name == REPUTATION_FACTOR
            else self.base_rules(epoch).base_weights[skill_type]
            for name in names
        }


@attrs.frozen
class Samples:
    """Samples that steps collect.

    Attributes:
        of_round: of one round alone.
        of_all: of the last tasks.
    """

    of_round: SamplesByValue
    of_all: SamplesByValue

    @property
    def hotkeys(self) -> set[str]:
        """The hotkeys of all samples."""
        return {
            hotkey
            for by_value in (self.of_round, self.of_all)
            for groups in by_value.values()
            for by_hotkey in groups.values()
            for hotkey in by_hotkey
        }


class EpochRecords(Protocol):
    """The records of one line that an epoch has counted, as its closing and weights read them.

    There are two: state events (`EventRecords`), and columns.
    """

    @property
    def owners(self) -> Collection[Owner]:
        """The hotkeys and skill types of all events."""

    @property
    def numbers(self) -> Sequence[int]:
        """The rounds, ascending."""

    @property
    def alike(self) -> Iterable[tuple[Alike, int]]:
        """The records of one delta, with their number; one key may come again."""

    def qualities(self, skill_type: str, roles: Roles, *, per_miner: bool) -> Sequence[int]:
        """Return the qualities of some roles that feed the thresholds of a type.

        A late submission earns nothing, so it raises nobody's bar either (E96).

        Args:
            skill_type: the type.
            roles: of the miners.
            per_miner: whether only the best of each miner counts.

        Returns:
            The qualities in nano, in any order.
        """

    def samples(
        self,
        pins: Pins,
        rules: AllocationRules,
        hotkeys: Collection[str],
        number: int | None,
        last: int | None = None,
    ) -> Samples:
        """Return the samples of some steps.

        Args:
            pins: what the rounds are pinned to.
            rules: the steps.
            hotkeys: of the population.
            number: the round that steps collect of which read one alone; None for no round.
            last: windows end with this round; by default with the newest.

        Raises:
            StateError: a mean is weighed by what no state knows, or a record has no emission.
        """


@attrs.frozen
class EventRecords:
    """State events of one line.

    Attributes:
        events: all of them, in any order.
        newest: the records of a miner in all rounds, those of earlier epochs too, newest first: by
            round, task, skill type and validator; read where steps look back.
    """

    events: Collection[StateEvent]
    newest: Callable[[str], Iterable[StateEvent]] = lambda _: ()

    @cached_property
    def owners(self) -> Collection[Owner]:
        """The hotkeys and skill types of all events."""
        return {(event.hotkey, event.skill_type) for event in self.events}

    @property
    def numbers(self) -> Sequence[int]:
        """The rounds, ascending."""
        return sorted(self._rounds)

    @property
    def alike(self) -> Iterator[tuple[Alike, int]]:
        """Each record on its own."""
        for key, events in events_of_records(self.events).items():
            validator, hotkey, skill_type, _, _, epoch = key
            yield (validator, hotkey, skill_type, epoch, events), 1

    def qualities(self, skill_type: str, roles: Roles, *, per_miner: bool) -> Sequence[int]:
        """Return the qualities that feed thresholds; see `EpochRecords`."""
        scored = [
            (event.hotkey, from_text(event.quality))
            for event in self._by_type.get(skill_type, ())
            if event.quality is not None and not event.missed and event.role in roles
        ]
        # of a miner the last value stays, which is its best
        return [*dict(sorted(scored)).values()] if per_miner else [quality for _, quality in scored]

    def samples(
        self,
        pins: Pins,
        rules: AllocationRules,
        hotkeys: Collection[str],
        number: int | None,
        last: int | None = None,
    ) -> Samples:
        """Return the samples of some steps; see `EpochRecords`."""
        events = () if number is None else self._rounds.get(number, ())
        records = [event for event in events if event.is_record and event.hotkey in hotkeys]
        of_round = ((value, event) for value in values_of_round(rules) for event in records)
        of_all = chain.from_iterable(
            read_by_windows(rules, self._until(hotkey, last)) for hotkey in hotkeys
        )
        return Samples(_collected(rules, pins, of_round), _collected(rules, pins, of_all))

    def _until(self, hotkey: str, last: int | None) -> Iterator[StateEvent]:
        """Yield the records of a miner up to a round, newest first; nothing is read before."""
        for event in self.newest(hotkey):
            if last is None or event.round <= last:
                yield event

    @cached_property
    def _by_type(self) -> Mapping[str, Sequence[StateEvent]]:
        by_type = defaultdict[str, list[StateEvent]](list)
        for event in self.events:
            by_type[event.skill_type].append(event)
        return by_type

    @cached_property
    def _rounds(self) -> Mapping[int, Sequence[StateEvent]]:
        rounds = defaultdict[int, list[StateEvent]](list)
        for event in self.events:
            rounds[event.round].append(event)
        return rounds


def events_of_records(events: Iterable[StateEvent]) -> Mapping[RecordKey, tuple[str, ...]]:
    """Return the names of the events of each record; events that came alone join their record."""
    records: dict[RecordKey, tuple[str, ...]] = {}
    several: dict[RecordKey, list[tuple[str, ...]]] = {}
    for event in events:
        key = _RECORD_KEY(event)
        if key in records:
            several.setdefault(key, [records[key]]).append(event.events)
        else:
            records[key] = event.events
    joined = {key: tuple(sorted(chain.from_iterable(parts))) for key, parts in several.items()}
    return records | joined


def read_by_windows(
    rules: AllocationRules, newest_first: Iterable[StateEvent]
) -> Iterator[tuple[str, StateEvent]]:
    """Yield the last of a miner's tasks, as many as any step looks back: each value and record."""
    left = dict(windows_of(rules))
    # lazily: a window ends long before the records do
    for _, same in groupby(newest_first if left else (), key=_task):
        events = [*same]
        for value, most in left.items():
            yield from ((value, event) for event in events)
            # the tasks of each group are counted on their own, so that all have to be read
            scored = any(not event.missed and event.value(value) is not None for event in events)
            if scored and most is not None and not rules.groups:
                left[value] = most - 1
        left = {value: most for value, most in left.items() if most is None or most > 0}
        if not left:
            return


def _collected(
    rules: AllocationRules, pins: Pins, values: Iterable[tuple[str, StateEvent]]
) -> SamplesByValue:
    """Return the samples of values of records, as far as records of their types have such.

    Raises:
        StateError: a mean is weighed by what no state knows, or a record has no emission.
    """
    # one mapping for all records of an epoch, a miner and a type
    factors = cache(partial(pins.factors, factors_of(rules)))
    samples: dict[str, dict[str, dict[str, list[Sample]]]] = {}
    for value, event in values:
        measured = event.value(value)
        if value == EMISSION:
            if event.skill_type not in pins.base_rules(event.epoch).base_weights:
                continue
            if measured is None and not event.missed:
                raise no_emission(event.hotkey, event.round)
        if measured is None and not event.missed:
            continue
        pinned = factors(event.epoch, event.hotkey, event.skill_type)
        sample = Sample(measured, _task(event), event.missed, pinned, epoch=event.epoch)
        by_hotkey = samples.setdefault(value, {}).setdefault(_group(rules, event), {})
        by_hotkey.setdefault(event.hotkey, []).append(sample)
    return samples


def _group(rules: AllocationRules, event: StateEvent) -> str:
    if not rules.groups:
        return UNGROUPED
    return event.skill_type if rules.group == BY_TYPE else event.group or UNGROUPED


def _task(event: StateEvent) -> Task:
    return event.round, event.task_id, event.skill_type


def no_emission(hotkey: str, number: int) -> StateError:
    """Return the error of a record of a round without an emission."""
    return StateError(
        f"found a record of {hotkey} in the round {number} without an emission, "
        "expected one: score it under the rule set of the state"
    )
