"""``formula``: a formula of the kind measure over earlier steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import attrs

from tallystick.formula.evaluate import evaluate
from tallystick.formula.formula import Formula
from tallystick.formula.tree import BEYOND_RATIOS, Node, bind
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact
from tallystick.population.attributes import miner_number
from tallystick.population.column import Column, Number, Values, absent, column_of
from tallystick.population.step import Given, Range, Step, Stop, hull
from tallystick.rules.allocation import MINER, FormulaStep

_MANY = 32
"""So many rows are worth loading what computes columns."""


@attrs.frozen(eq=False, slots=False)
class FormulaColumnStep(Step):
    """A formula, whose inputs are earlier steps by their names, and flags and numbers of miners.

    Attributes:
        formula: under its name.
        groups: the names of the groups in which it is computed; of one group ``""``.
    """

    rules: FormulaStep
    formula: Formula
    groups: tuple[str, ...]

    @cached_property
    def tree(self) -> Node:
        """The tree with its parameters bound."""
        parameters = {name: Fraction(value) for name, value in self.rules.parameters.items()}
        return bind(self.formula.tree, parameters)

    @property
    def attributes(self) -> tuple[str, ...]:
        """What the formula reads of miners."""
        return tuple(name for name in self.formula.published if name.startswith(MINER))

    @property
    def operation(self) -> list[Any]:
        """The tree rather than its name."""
        return [*super().operation, self.tree.digest]

    def range_of(self, ranges: Mapping[str, Range]) -> Range:
        """The range that the formula declares, which is proved, and what stands for absent ones."""
        found = self.formula.low, self.formula.high
        if self.rules.absent is not None:
            found = hull(found, (Fraction(self.rules.absent),) * 2)
        other = self.rules.otherwise
        return found if other is None else hull(found, ranges[other])

    def apply(self, given: Given) -> Values | Stop:
        """The column, or one for each group."""
        found = {group: self._column(group, given) for group in self.groups}
        return found if self.shape == "grouped" else next(iter(found.values()))

    def reason(self) -> str:
        """Its value."""
        return f"{self.formula.name} is 0, or an input is absent"

    def _column(self, group: str, given: Given) -> Column:
        rules = self.rules
        if rules.only is not None and group not in rules.only:
            other = rules.otherwise
            return _of_group(given.values[other], group) if other else absent(len(given.keys))
        names = self.formula.published
        inputs = {name: self._input(name, group, given) for name in names}
        present = [
            place
            for place in range(len(given.keys))
            if all(cells[place] is not None for cells in inputs.values())
        ]
        found: list[Exact | None] = [None] * len(given.keys)
        if rules.absent is not None:
            found[: given.miners] = [Fraction(rules.absent)] * given.miners
        for place, value in zip(present, self._values(inputs, present), strict=True):
            found[place] = value
        return column_of(found)

    def _values(
        self, inputs: Mapping[str, Sequence[Exact | None]], places: Sequence[int]
    ) -> Iterable[Exact]:
        """The values at some places; what is rounded is computed by doubles with a bound."""
        rows = [_row(inputs, place) for place in places]
        if not self.rules.publish or len(rows) < _MANY or not self._is_beyond_ratios:
            return [evaluate(self.tree, {}, row) for row in rows]
        from tallystick.population.balls import published_rows  # noqa: PLC0415  # loads NumPy

        return [Fraction(nano, NANO) for nano in published_rows(self.tree, rows)]

    @property
    def _is_beyond_ratios(self) -> bool:
        return any(operator in self.tree.by_operator for operator in BEYOND_RATIOS)

    def _input(self, name: str, group: str, given: Given) -> Sequence[Exact | None]:
        """The value of an input at each place."""
        if name.startswith(MINER):
            # who has no such flag has it not; who is no miner has no attributes
            held = [miner_number(given, place, name) or Fraction() for place in range(given.miners)]
            return [*held, *[None] * (len(given.keys) - given.miners)]
        values = given.values[name]
        if isinstance(values, Number):
            return [values.value] * len(given.keys)
        return list(_of_group(values, group).cells)


def _row(inputs: Mapping[str, Sequence[Exact | None]], place: int) -> dict[str, Exact]:
    cells = ((name, values[place]) for name, values in inputs.items())
    return {name: value for name, value in cells if value is not None}


def _of_group(held: Values, group: str) -> Column:
    """The column of a group; a flat one is that of every group."""
    assert not isinstance(held, Number)  # noqa: S101  # as binding has seen to
    return held[group] if isinstance(held, Mapping) else held
