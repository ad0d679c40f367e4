"""Carried columns: what an allocation keeps of the rounds before, in the state.

They move when an epoch is closed, over the rounds that it counted, in ascending order; so it does
not matter in which order records came. In between they are computed, never kept. Whoever holds no
slot is dropped: a hotkey that comes back begins anew, and nobody is paid for having left.
"""

from __future__ import annotations

from collections.abc import Collection

from tallystick.errors import AllocationError
from tallystick_allocation.files import RoundFile
from tallystick_allocation.population import Miner, Population
from tallystick_allocation.rules import ALLOCATION
from tallystick_state.attributes import ATTRIBUTE_CODES, NO_ATTRIBUTES
from tallystick_state.model import Columns, State
from tallystick_state.rules import StateRules
from tallystick_state.samples import EpochRecords, Pins


def carried_names(rules: StateRules) -> tuple[str, ...]:
    """Return the columns that the allocation of some rules carries, in the order of its steps."""
    return () if rules.allocation is None else rules.allocation.carried_names


def carried(  # noqa: PLR0913  # what is carried on, and over what
    rules: StateRules,
    before: Columns,
    records: EpochRecords,
    pins: Pins,
    hotkeys: Collection[str],
    *,
    epoch: int,
    attributes: RoundFile = NO_ATTRIBUTES,
) -> Columns:
    """Return the columns of a line after an epoch, or after what it has counted so far.

    A round for which a step refuses what the records came to moves nothing.

    Args:
        rules: of the line.
        before: the columns as the epoch began.
        records: those of the line that the epoch has counted.
        pins: what their rounds are pinned to.
        hotkeys: of the miners with a slot.
        epoch: with which windows of epochs end.
        attributes: what the rules ask of the rounds and of miners beside the records.

    Raises:
        AllocationError: a step asks for something that is not said, or is told it wrong.
    """
    from tallystick_allocation.allocate import carry_on, roster  # where something is carried

    bound, steps = rules.allocation, rules.rule_set.section(ALLOCATION)
    if bound is None or steps is None or not bound.carried or not hotkeys:
        return {}
    miners = tuple(
        Miner(hotkey, attributes=attributes.miners.get(hotkey, {})) for hotkey in {*hotkeys}
    )
    keys = {*roster(bound, Population(miners, round=attributes.round))}
    columns = {
        name: {key: nano for key, nano in before.get(name, {}).items() if key in keys}
        for name in bound.carried_names
    }
    for number in records.numbers:
        samples = records.samples(pins, steps, keys, number, last=number)
        population = Population(
            miners,
            samples.of_all,
            of_round=samples.of_round,
            round=attributes.round,
            carry=columns,
            now=(number, epoch),
        )
        try:
            after = carry_on(bound, population)
        except AllocationError as error:
            if error.code in ATTRIBUTE_CODES:
                raise
            continue
        columns = {name: dict(column) for name, column in after.items()}
    return {name: column for name, column in columns.items() if column}


def with_columns(state: State, line: str, columns: Columns) -> State:
    """Return the state with other columns of a line; none are left out."""
    others = {
        name: columns_of_line for name, columns_of_line in state.carry.items() if name != line
    }
    carry = {**others, line: columns} if columns else others
    return State(state.epoch, state.miners, state.thresholds, dict(sorted(carry.items())))
