"""An explanation of an allocation: every column for one miner."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from tallystick.errors import InputError
from tallystick.io.text import escaped
from tallystick.json_values import JsonKey, JsonObject, json_fields, json_object, json_value
from tallystick.numbers import real
from tallystick_allocation.allocate import Allocation
from tallystick_allocation.column import Column, Values
from tallystick_allocation.steps.step import BoundStep

Cell = str | None
"""A value as text, exact where it ends within 25 places; None where there is none."""


@json_object(JsonKey("step", "name"), "do", "reads", JsonKey("published", "is_published"), "value")
@attrs.frozen
class ExplainedStep:
    """The result of one step for one miner.

    Attributes:
        name: of the step.
        do: what it does.
        reads: the earlier steps that it reads.
        is_published: whether the value was rounded.
        value: the value, or one for each group; a number is that of all miners.
        is_computed: false of a step that was not needed.
    """

    name: str
    do: str
    reads: tuple[str, ...]
    is_published: bool
    value: Cell | Mapping[str, Cell]
    is_computed: bool = True


@json_fields(nano=("weight",))
@attrs.frozen
class AllocationExplanation:
    """Every column for one miner.

    Attributes:
        hotkey: who it is.
        steps: in order.
        weight: in nano; None without one.
        without: why there is no weight above 0; empty where there is one.
    """

    hotkey: str
    steps: tuple[ExplainedStep, ...]
    weight: int | None
    without: str = ""

    def to_dict(self) -> JsonObject:
        """Return the explanation as JSON values."""
        value: JsonObject = json_value(self)
        return value


def explained(
    allocation: Allocation, hotkey: str, more: Mapping[str, Values] | None = None
) -> AllocationExplanation:
    """Return every column for one miner, or for who else gets a share.

    Args:
        allocation: what is explained.
        hotkey: whose.
        more: by the name of a step that was not needed, what it gives.

    Raises:
        InputError: the population has no such miner.
    """
    index = allocation.step_input.places.get(hotkey)
    if index is None:
        raise InputError(
            f"found the hotkey {escaped(hotkey)}, expected a miner of the population to explain"
        )
    columns = {**(more or {}), **allocation.columns}
    return AllocationExplanation(
        hotkey,
        tuple(_step(step, columns.get(step.name), index) for step in allocation.bound.steps),
        allocation.weights.get(hotkey),
        allocation.without.get(hotkey, ""),
    )


def _step(step: BoundStep, found: Values | None, place: int) -> ExplainedStep:
    return ExplainedStep(
        step.name,
        step.rules.do,
        tuple(read.name for read in step.inputs),
        step.rules.is_rounded,
        None if found is None else _value(found, place),
        found is not None,
    )


def _value(values: Values, place: int) -> Cell | Mapping[str, Cell]:
    if isinstance(values, Mapping):
        return {group: _cell(column, place) for group, column in values.items()}
    return _cell(values, place) if isinstance(values, Column) else real.decimal(values)


def _cell(column: Column, place: int) -> Cell:
    value = column.exact(place)
    return None if value is None else real.decimal(value)
