"""An allocation by a rule set: what ``tallystick.allocate`` and the command do."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from tallystick.errors import AllocationError, NumberError
from tallystick.io.text import escaped
from tallystick.records.strict_json import without_numpy
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.scorer import load
from tallystick_allocation.allocate import Allocation, roster
from tallystick_allocation.allocate import allocate as run_steps
from tallystick_allocation.binding import BoundAllocation
from tallystick_allocation.column import Column, Values
from tallystick_allocation.files import (
    RoundFile,
    carry_of,
    read_document,
    round_of,
    weights_document,
)
from tallystick_allocation.input_value import InputValue, number_of, shown
from tallystick_allocation.population import Population
from tallystick_allocation.proofs import proved_allocation
from tallystick_allocation.table import TableRow, read_population

FilePath = str | PathLike[str]
Cells = Mapping[str, int | Decimal | Fraction | str]
"""Exact numbers by hotkey."""


def allocate(  # noqa: PLR0913  # what an allocation is asked with
    rules: BoundRules | FilePath,
    population: FilePath | Iterable[TableRow] | Population,
    *,
    round: FilePath | Mapping[str, Any] | None = None,  # noqa: A002  # what it is called everywhere
    carry: FilePath | Mapping[str, Any] | Allocation | None = None,
    given: Mapping[str, Cells | Mapping[str, Cells]] | None = None,
    columns: Collection[str] = (),
) -> Allocation:
    """Return the weights of a population.

    Args:
        rules: a rule set that is loaded, or its reference.
        population: a file of miners or of results, rows of such a file, or a population; numbers
            and lists may be NumPy's.
        round: the file of the round, or what stands in it.
        carry: the file of weights of the round before, what stands in it, or that allocation.
        given: by the name of a step, values that take the place of what it would give: by hotkey,
            or by group and hotkey. What only such steps read is not computed.
        columns: the names of steps, where what they give is asked for and not the weights: they
            alone and what they read is computed, so that a round need not say what others ask for.

    Raises:
        RuleSetError: the rule set does not load, or its steps cannot be proved safe.
        InputError: something is wrong with the population, the round or what was carried.
        AllocationError: the population has no weights by these rules.
    """
    bound = bound_allocation(rules if isinstance(rules, BoundRules) else load(rules))
    if isinstance(population, Population):
        entries = population
    else:
        round_file = RoundFile() if round is None else round_of(_document(round, "round"), bound)
        earlier = weights_document(carry) if isinstance(carry, Allocation) else carry
        carried = {} if earlier is None else carry_of(_document(earlier, "carry"), bound)
        source = Path(population) if isinstance(population, str | PathLike) else population
        entries = read_population(source, bound, round_file, carried)
    return run_steps(bound, entries, _columns(given or {}, bound, entries), columns)


def bound_allocation(rules: BoundRules) -> BoundAllocation:
    """Return the allocation of a rule set, proved.

    Raises:
        AllocationError: it has none.
        RuleSetError: its steps cannot be proved safe.
    """
    bound = proved_allocation(rules)
    if bound is None:
        raise AllocationError(
            f"found no [allocation] in {rules.rule_set.reference}, expected a rule set that "
            "has it: add the section, or name another rule set",
            code="no-allocation",
        )
    return bound


def _document(source: FilePath | Mapping[str, Any], name: str) -> InputValue:
    return read_document(source if isinstance(source, Mapping) else Path(source), name)


def _columns(
    given: Mapping[str, Any], bound: BoundAllocation, population: Population
) -> dict[str, Values]:
    """Values by hotkey as columns."""
    keys = roster(bound, population)
    result: dict[str, Values] = {}
    for name, cells in given.items():
        if bound.step(name).shape == "grouped":
            for group in cells:
                if group not in bound.groups:
                    raise AllocationError(
                        f"found the group {escaped(str(group))} of {name}, expected one of "
                        f"{', '.join(bound.groups)}",
                        code="unknown-group",
                    )
            result[name] = {
                group: _column(cells.get(group, {}), keys, name) for group in bound.groups
            }
        else:
            result[name] = _column(cells, keys, name)
    return result


def _column(cells: Cells, keys: tuple[str, ...], name: str) -> Column:
    unknown = sorted(set(cells) - set(keys))
    if unknown:
        raise AllocationError(
            f"found a value of {name} for {escaped(unknown[0])}, expected a miner of the "
            "population",
            code="unknown-miner",
        )
    return Column.of(_number(cells[key], key, name) if key in cells else None for key in keys)


def _number(value: object, key: str, name: str) -> Fraction:
    try:
        return number_of(without_numpy(value))
    except NumberError as error:
        raise AllocationError(
            f"found {shown(value)} as {name} of {escaped(key)}, expected {error}",
            code="no-number",
        ) from error
