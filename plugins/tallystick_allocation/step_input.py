"""The input of a step: a population, the results of earlier steps, and attributes.

An attribute is something that a step asks of a miner or of the round beside the columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import attrs

from tallystick.errors import AllocationError
from tallystick.io.text import escaped
from tallystick.numbers.text import numbered
from tallystick_allocation.column import Column, Number, Values
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

    def flat(self, name: str) -> Column:
        """Return the column of a step that gives one."""
        column = self.values[name]
        assert not isinstance(column, Number | Mapping)  # noqa: S101  # as binding has seen to
        return column

    def grouped(self, name: str) -> Mapping[str, Column]:
        """Return the columns of a step by group; its one column under the name of the one group."""
        column = self.values[name]
        assert not isinstance(column, Number)  # noqa: S101  # as binding has seen to
        return column if isinstance(column, Mapping) else {UNGROUPED: column}

    def column(self, name: str, group: str) -> Column:
        """Return the column of a group, where a flat one is that of every group.

        Args:
            name: of a step that gives a column, or of an attribute of miners that is a number; who
                has no such flag has it not, and who is no miner has no attributes.
            group: the name of the group.
        """
        if name.startswith(MINER):
            miners = range(self.miners)
            numbers = [self.miner_number(index, name) or Fraction() for index in miners]
            return Column.of([*numbers, *[None] * (len(self.keys) - self.miners)])
        column = self.values[name]
        assert not isinstance(column, Number)  # noqa: S101  # as binding has seen to
        return column[group] if isinstance(column, Mapping) else column

    def carried(self, name: str) -> Mapping[int, int]:
        """Return what was carried of a column, in nano, by place; who has left is left out."""
        carried = self.population.carry.get(name, {})
        return {self.places[key]: nano for key, nano in carried.items() if key in self.places}

    def miner_text(self, place: int, name: str) -> str:
        """Return a text of a miner.

        Raises:
            AllocationError: it has none.
        """
        return _text(self._of_miner(place, name), name, self._miner(place))

    def miner_flag(self, place: int, name: str) -> bool:
        """Return a flag of a miner; who has none has not.

        Raises:
            AllocationError: it is no flag.
        """
        value = self._of_miner(place, name)
        if value is not None and not isinstance(value, bool):
            raise _wrong(name, self._miner(place), value, "true or false")
        return bool(value)

    def miner_number(self, place: int, name: str) -> Fraction | None:
        """Return a flag of a miner as 1 or 0, or a number of it.

        Raises:
            AllocationError: it is a text, or too large.
        """
        value = self._of_miner(place, name)
        if isinstance(value, str):
            raise _wrong(name, self._miner(place), value, "a flag or a number")
        number = None if value is None else Fraction(value)
        if number is not None and abs(number) > LARGEST_ATTRIBUTE:
            raise _wrong(name, self._miner(place), value, f"at most {LARGEST_ATTRIBUTE}")
        return number

    def round_text(self, name: str) -> str:
        """Return a text of the round.

        Raises:
            AllocationError: it has none.
        """
        return _text(self.population.round.get(name.removeprefix(ROUND)), name, "the round")

    def round_number(self, name: str) -> Fraction:
        """Return a number of the round.

        Raises:
            AllocationError: it has none.
        """
        value = self.population.round.get(name.removeprefix(ROUND))
        if not isinstance(value, int | Decimal) or isinstance(value, bool):
            raise _wrong(name, "the round", value, "a number")
        return Fraction(value)

    def _of_miner(self, place: int, name: str) -> Attribute | None:
        if place >= self.miners:
            return None
        return self.population.miners[place].attributes.get(name.removeprefix(MINER))

    def _miner(self, place: int) -> str:
        return f"the miner {escaped(self.keys[place])}"


def _text(value: Attribute | None, name: str, whose: str) -> str:
    if not isinstance(value, str):
        raise _wrong(name, whose, value, "a text")
    return value


def _wrong(name: str, whose: str, value: Attribute | None, expected: str) -> AllocationError:
    what = "none" if value is None else escaped(str(value))[:60]
    return AllocationError(
        f"{name} of {whose}: found {what}, expected {expected}: say it in the table of miners or "
        "in the file of the round",
        code="attribute-missing",
    )
