"""The input of a step: a population, the results of earlier steps, and attributes.

An attribute is something that a step asks of a miner or of the round beside the columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property

import attrs

from tallystick.errors import AllocationError
from tallystick.io.text import escaped
from tallystick.numbers.text import numbered
from tallystick_allocation.column import Column, Values
from tallystick_allocation.population import (
    LARGEST_ATTRIBUTE,
    MINER,
    ROUND,
    UNGROUPED,
    Attribute,
    Population,
)


@attrs.frozen(slots=False)
class StepInput:
    """The input of a step: the population and the results of earlier steps.

    Attributes:
        population: the miners, and what is known of them.
        keys: whose the places of a column are: the hotkeys of the population, and after them who
            else may get a share.
        values: what earlier steps gave, by name.
    """

    population: Population
    keys: tuple[str, ...]
    values: Mapping[str, Values]

    def __repr__(self) -> str:
        return f"<StepInput of {numbered(self.miners, 'miner')}: {', '.join(self.values)}>"

    @property
    def miners(self) -> int:
        """The number of miners, whose places are the first."""
        return len(self.population.miners)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each key."""
        return {key: index for index, key in enumerate(self.keys)}

    def grouped(self, name: str) -> Mapping[str, Column]:
        """Return the columns of a step by group; its one column under the name of the one group."""
        values = self.values[name]
        return values if isinstance(values, Mapping) else {UNGROUPED: self.column(name, UNGROUPED)}

    def column(self, name: str, group: str) -> Column:
        """Return the column of a group, where a flat one is that of every group.

        Args:
            name: of a step, whose number is that of every place; or of an attribute of miners that
                is a number: who has none has 0, and who is no miner has none.
            group: the name of the group.
        """
        if name.startswith(MINER):
            numbers = [self.number(name, index) or Fraction() for index in range(self.miners)]
            return Column.of([*numbers, *[None] * (len(self.keys) - self.miners)])
        values = self.values[name]
        if isinstance(values, Mapping):
            return values[group]
        return values if isinstance(values, Column) else Column.of([values] * len(self.keys))

    def carried(self, name: str) -> Mapping[int, int]:
        """Return what was carried of a column, in nano, by place; who has left is left out."""
        carried = self.population.carry.get(name, {})
        return {self.places[key]: nano for key, nano in carried.items() if key in self.places}

    def text(self, name: str, place: int | None = None) -> str:
        """Return a text of the miner at a place, or of the round.

        Raises:
            AllocationError: it has none.
        """
        value = self._attribute(name, place)
        if not isinstance(value, str):
            raise self._wrong(name, place, "a text")
        return value

    def flag(self, name: str, place: int) -> bool:
        """Return a flag of a miner; who has none has not.

        Raises:
            AllocationError: it is no flag.
        """
        value = self._attribute(name, place)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(name, place, "true or false")
        return bool(value)

    def number(self, name: str, place: int | None = None) -> Fraction | None:
        """Return a number of the round; or one of a miner, where a flag is 1 or 0, and may lack.

        Raises:
            AllocationError: it is none, or too large.
        """
        value, is_of_round = self._attribute(name, place), place is None
        if isinstance(value, str) or (is_of_round and (value is None or isinstance(value, bool))):
            raise self._wrong(name, place, "a number" if is_of_round else "a flag or a number")
        number = None if value is None else Fraction(value)
        if number is not None and abs(number) > LARGEST_ATTRIBUTE:
            raise self._wrong(name, place, f"at most {LARGEST_ATTRIBUTE}")
        return number

    def _attribute(self, name: str, place: int | None) -> Attribute | None:
        if place is None:
            return self.population.round.get(name.removeprefix(ROUND))
        if place >= self.miners:
            return None
        return self.population.miners[place].attributes.get(name.removeprefix(MINER))

    def _wrong(self, name: str, place: int | None, expected: str) -> AllocationError:
        value = self._attribute(name, place)
        found = "none" if value is None else escaped(str(value))[:60]
        whose = "the round" if place is None else f"the miner {escaped(self.keys[place])}"
        return AllocationError(
            f"{name} of {whose}: found {found}, expected {expected}: say it in the table of miners "
            "or in the file of the round",
            code="attribute-missing",
        )
