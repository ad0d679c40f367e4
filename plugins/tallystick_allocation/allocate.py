"""An allocation, run: from a population to weights."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

import attrs

from tallystick.errors import AllocationError, UndecidedError
from tallystick.numbers import real
from tallystick.numbers.text import numbered
from tallystick_allocation.binding import BoundAllocation, unknown_step
from tallystick_allocation.column import Column, Values, columns_in
from tallystick_allocation.population import UNGROUPED, Population
from tallystick_allocation.recipients import OWNER, slot_of
from tallystick_allocation.step_input import StepInput
from tallystick_allocation.steps.step import BoundStep, Remembered, Stop, memory_name


@attrs.frozen(slots=False)
class Allocation:
    """The weights of a population, with the columns that they follow from.

    Attributes:
        bound: the steps.
        step_input: the population, and what each step gave.
        weights: in nano, by hotkey or by the key of a recipient; who has none is left out, who has
            0 is not.
        carry: by the column and by hotkey, what is kept for the next round, in nano; the column is
            a step that carries its result, or what it keeps beside.
        stopped: the step that ended the allocation with zeros; None where none did.
    """

    bound: BoundAllocation
    step_input: StepInput
    weights: Mapping[str, int]
    carry: Mapping[str, Mapping[str, int]]
    stopped: str | None = None

    def __repr__(self) -> str:
        weighed = numbered(sum(map(bool, self.weights.values())), "miner")
        return f"<Allocation by {self.bound.reference}: {weighed} with a weight>"

    @property
    def columns(self) -> Mapping[str, Values]:
        """The results of the steps by name; their places are those of `keys`."""
        return self.step_input.values

    @property
    def keys(self) -> tuple[str, ...]:
        """The hotkeys, or slots, of the places of a column."""
        return self.step_input.keys

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of steps that could not do what they say, such as a cap of too few miners."""
        has = self.columns.keys()
        steps = (s for s in self.bound.steps if all(each.name in has for each in s.inputs))
        return tuple(note for step in steps for note in step.rules.notes(self.step_input))

    @property
    def recipients(self) -> frozenset[str]:
        """The keys that get a share by name, of miners too."""
        steps, population = self.bound.steps, self.step_input.population
        return frozenset(key for step in steps for key in step.rules.recipients(population))

    def nano(self, name: str) -> dict[str, int] | dict[str, dict[str, int]] | int:
        """Return the result of a step, rounded half-even to whole nano, for display.

        Returns:
            By hotkey; of a column of groups by group and hotkey; of a number that.

        Raises:
            AllocationError: no such step was run.
        """
        if name not in self.columns:
            raise unknown_step(name, self.columns)
        values = self.columns[name]
        if isinstance(values, Mapping):
            return {group: column.nano_by(self.keys) for group, column in values.items()}
        return values.nano_by(self.keys) if isinstance(values, Column) else real.publish(values)

    @cached_property
    def without(self) -> Mapping[str, str]:
        """The step that took the weight of each miner without one, and why, by hotkey."""
        result = {}
        has = {name: _holders(values) for name, values in self.columns.items()}
        for index, miner in enumerate(self.step_input.population.miners):
            if not self.weights.get(miner.hotkey):
                result[miner.hotkey] = self._reason(index, has)
        return result

    def _reason(self, place: int, has: Mapping[str, frozenset[int]]) -> str:
        """Return the step on the way back from the weight where something before was above 0."""
        if self.stopped is not None:
            return f"{self.stopped}: all values are 0"
        step = self.bound.weight
        while step.name in has:
            # what was given in the place of a step came from nowhere
            sources = [e for e in step.inputs if e.shape != "number" and e.name in has]
            if not sources or any(place in has.get(source.name, ()) for source in sources):
                break
            step = sources[0]
        is_absent = step.name in has and not _has_value(self.columns[step.name], place)
        return f"{step.name}: {step.rules.nothing() if is_absent else step.rules.reason()}"


def allocate(
    bound: BoundAllocation,
    population: Population,
    given: Mapping[str, Values] | None = None,
    columns: Collection[str] = (),
) -> Allocation:
    """Return the weights of a population.

    Args:
        bound: the steps.
        population: the miners, and what is known of them.
        given: columns that take the place of what steps of their names would give, and are rounded
            as theirs; their places are those of `roster`.
        columns: the steps that are asked for, where not the weights are: they alone and what they
            read is computed, and nothing is weighed or carried.

    Raises:
        AllocationError: a step refuses what it is given; there are no weights then.
    """
    sinks = [*map(bound.step, columns)] or [*bound.unread, *bound.carried]
    state, stop = _run(bound, population, sinks, given or {})
    if stop is not None or columns:
        places = () if stop is None or columns else stop.places
        zeros = {state.keys[place]: 0 for place in places}
        return Allocation(bound, state, zeros, {}, None if stop is None else stop.step)
    weights = state.column(bound.weight.name, UNGROUPED).nano_by(state.keys)
    return Allocation(bound, state, weights, _kept(state, bound))


def carry_on(bound: BoundAllocation, population: Population) -> Mapping[str, Mapping[str, int]]:
    """Return the values that are carried to the next round, in nano by step and hotkey.

    Raises:
        AllocationError: as `allocate`.
    """
    state, stop = _run(bound, population, bound.carried, {})
    return _kept(state, bound) if stop is None else population.carry


def roster(bound: BoundAllocation, population: Population) -> tuple[str, ...]:
    """Return the keys of the places of a column: the hotkeys, ascending, then other recipients.

    Raises:
        AllocationError: a miner is called like a slot, or like the owner, that gets a share.
    """
    recipients = {key for step in bound.steps for key in step.rules.recipients(population)}
    for key in sorted(recipients.intersection(population.places)):
        if key == OWNER or slot_of(key) is not None:
            raise AllocationError(
                f"found a miner that is called {key}, expected a hotkey: what is meant for "
                "another would be its own",
                code="hotkey-of-slot",
            )
    return (*population.places, *sorted(recipients.difference(population.places)))


def _run(
    bound: BoundAllocation,
    population: Population,
    sinks: Iterable[BoundStep],
    given: Mapping[str, Values],
) -> tuple[StepInput, Stop | None]:
    """Return the results of some steps and those that they read, and how they end early."""
    keys, values = roster(bound, population), dict[str, Values]()
    for name, column in given.items():
        step = bound.step(name)
        # what stands in the place of a step that carries goes with what it kept beside
        values.update(step.recalled(population.carry, keys))
        values[name] = _rounded(step, column)
    state = StepInput(population, keys, values)
    try:
        for step in bound.needed(sinks, given):
            result = step.apply(state)
            if isinstance(result, Stop):
                return state, result
            if isinstance(result, Remembered):
                for part, column in result.memory.items():
                    values[memory_name(step.name, part, "")] = _published(column)
                result = result.values
            values[step.name] = _rounded(step, result)
    except UndecidedError as error:
        raise AllocationError(f"{step.name}: {error}", code="undecided") from error
    return state, None


def _rounded(step: BoundStep, values: Values) -> Values:
    return _published(values) if step.rules.is_rounded else values


def _published(values: Values) -> Values:
    if isinstance(values, Mapping):
        return {group: column.published for group, column in values.items()}
    return values.published if isinstance(values, Column) else real.places(values, 9)


def _kept(step_input: StepInput, bound: BoundAllocation) -> dict[str, dict[str, int]]:
    """Return what is kept for the next round, in nano by column and key."""
    return {
        name: step_input.column(memory_name(step.name, part, ""), group).nano_by(step_input.keys)
        for step in bound.carried
        for name, part, group in step.memory
    }


def _has_value(values: Values, place: int) -> bool:
    columns = columns_in(values)
    return not columns or any(column.exact(place) is not None for column in columns)


def _holders(values: Values) -> frozenset[int]:
    """Return the places that have a value above 0."""
    return frozenset(index for column in columns_in(values) for index in column.positive)
