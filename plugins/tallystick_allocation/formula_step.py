"""``formula``: a formula of the kind measure over earlier steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import attrs

from tallystick.formula.evaluate import evaluate
from tallystick.formula.formula import Formula
from tallystick.formula.tree import BEYOND_RATIOS, Node, bind
from tallystick.numbers import real
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact
from tallystick_allocation.attributes import miner_number
from tallystick_allocation.column import (
    Column,
    Number,
    RationalColumn,
    Values,
    absent,
    column_of,
)
from tallystick_allocation.rules import MINER, FormulaStep
from tallystick_allocation.step import (
    AllocationStep,
    Given,
    Range,
    Stop,
    Surroundings,
    computes,
    hull,
)

_Input = Column | Number
_MANY = 32
"""Minimum number of rows for which loading NumPy pays."""


@computes(FormulaStep)
@attrs.frozen(eq=False, slots=False)
class FormulaColumnStep(AllocationStep):
    """A formula, whose inputs are earlier steps by their names, and flags and numbers of miners.

    Attributes:
        formula: under its name.
        groups: the names of the groups in which it is computed; of one group ``""``.
    """

    rules: FormulaStep
    formula: Formula
    groups: tuple[str, ...]

    prefers_hotkeys = False
    is_score = True

    @classmethod
    def bound(cls, parts: Mapping[str, Any], surroundings: Surroundings) -> FormulaColumnStep:
        """Return the step with its formula."""
        formula = surroundings.registry.formulas[parts["rules"].formula]
        return cls(**parts, formula=formula, groups=surroundings.groups_of(parts["shape"]))

    @cached_property
    def tree(self) -> Node:
        """The tree with its parameters bound."""
        parameters = {name: Fraction(value) for name, value in self.rules.parameters.items()}
        return bind(self.formula.tree, parameters)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of miners that the formula reads."""
        return tuple(name for name in self.formula.published if name.startswith(MINER))

    @property
    def operation(self) -> list[Any]:
        """The tree rather than its name."""
        return [*super().operation, self.tree.digest]

    def range_of(self, ranges: Mapping[AllocationStep, Range]) -> Range:
        """The range that the formula declares, which is proved, and what stands for absent ones."""
        result = self.formula.low, self.formula.high
        if self.rules.absent is not None:
            result = hull(result, (Fraction(self.rules.absent),) * 2)
        # of what it reads only the column for the other groups is handed on as it is
        others = (ranges[step] for step in self.inputs if step.name == self.rules.otherwise)
        return hull(result, *others)

    def apply(self, given: Given) -> Values | Stop:
        """Return the column, or one for each group."""
        result = {group: self._column(group, given) for group in self.groups}
        return result if self.shape == "grouped" else next(iter(result.values()))

    def reason(self) -> str:
        """Return that its value is 0."""
        return f"{self.formula.name} is 0, or an input is absent"

    def _column(self, group: str, given: Given) -> Column:
        rules = self.rules
        if rules.only is not None and group not in rules.only:
            other = rules.otherwise
            return _of_group(given.values[other], group) if other else absent(len(given.keys))
        names = self.formula.published
        inputs = {name: self._input(name, group, given) for name in names}
        present = [index for index in range(len(given.keys)) if _is_present(inputs, index)]
        if rules.publish and len(present) >= _MANY and self._is_beyond_ratios:
            return self._published(inputs, present, given)
        result = self._empty(given)
        for index in present:
            result[index] = evaluate(self.tree, {}, _row(inputs, index))
        return column_of(result)

    def _published(
        self, inputs: Mapping[str, _Input], places: Sequence[int], given: Given
    ) -> RationalColumn:
        """Return rounded values, by doubles with a bound, or by the reference."""
        from tallystick_allocation.balls import published_rows  # loads NumPy

        result = [None if cell is None else real.publish(cell) for cell in self._empty(given)]
        nanos = published_rows(self.tree, inputs, places, lambda place: _row(inputs, place))
        for place, nano in zip(places, nanos, strict=True):
            result[place] = nano
        return RationalColumn(tuple(result), NANO)

    def _empty(self, given: Given) -> list[Exact | None]:
        """Return the values of who lacks an input."""
        result: list[Exact | None] = [None] * len(given.keys)
        if self.rules.absent is not None:
            result[: given.miners] = [Fraction(self.rules.absent)] * given.miners
        return result

    @property
    def _is_beyond_ratios(self) -> bool:
        return any(operator in self.tree.by_operator for operator in BEYOND_RATIOS)

    def _input(self, name: str, group: str, given: Given) -> _Input:
        """Return the value of an input at each place; a number is that of every place."""
        if name.startswith(MINER):
            # who has no such flag has it not; who is no miner has no attributes
            miners = range(given.miners)
            numbers = [miner_number(given, index, name) or Fraction() for index in miners]
            return column_of([*numbers, *[None] * (len(given.keys) - given.miners)])
        values = given.values[name]
        return values if isinstance(values, Number) else _of_group(values, group)


def _is_present(inputs: Mapping[str, _Input], place: int) -> bool:
    return all(
        (read.value if isinstance(read, Number) else _raw(read, place)) is not None
        for read in inputs.values()
    )


def _raw(column: Column, place: int) -> object:
    if isinstance(column, RationalColumn):
        return column.numerators[place]
    return column.values[place]


def _row(inputs: Mapping[str, _Input], place: int) -> dict[str, Exact]:
    """Return the exact value of each input at a place, where all have one."""
    result = {}
    for name, read in inputs.items():
        value = read.value if isinstance(read, Number) else read.exact(place)
        if value is not None:
            result[name] = value
    return result


def _of_group(held: Values, group: str) -> Column:
    """Return the column of a group; a flat one is that of every group."""
    assert not isinstance(held, Number)  # noqa: S101  # as binding has seen to
    return held[group] if isinstance(held, Mapping) else held
