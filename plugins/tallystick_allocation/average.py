"""``average``: a moving average with the values that the round before carried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import attrs

from tallystick.numbers import real
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact
from tallystick_allocation.column import Column, RationalColumn, Values, column_of, over, total
from tallystick_allocation.rules import Average
from tallystick_allocation.share import divided
from tallystick_allocation.step import (
    NOTHING,
    UNIT,
    AllocationStep,
    Given,
    Range,
    Stop,
    computes,
    hull,
)


@computes(Average)
@attrs.frozen(eq=False, slots=False)
class AverageStep(AllocationStep):
    """A moving average; what it gives is rounded, as it is carried."""

    rules: Average

    prefers_hotkeys = False

    @property
    def carries(self) -> bool:
        """Always."""
        return True

    def range_of(self, ranges: Mapping[AllocationStep, Range]) -> Range:
        """Return the range of the column, in which carried values were too."""
        result = hull(ranges[self.inputs[0]], NOTHING)
        return hull(result, UNIT) if self.rules.scales else result

    def apply(self, given: Given) -> Values | Stop:
        """Return the averages; `allocate` rounds them."""
        column = given.flat(self.rules.of)
        carried = given.population.carry.get(self.name, {})
        if isinstance(column, RationalColumn):
            averages = self._averages(column, [carried.get(key) for key in given.keys])
        else:
            averages = column_of(
                self._average(value, carried.get(key))
                for key, value in zip(given.keys, column.cells, strict=True)
            )
        whole = total(averages)
        if not self.rules.scales or not real.sign(whole):
            return averages
        return divided(averages, whole)

    def reason(self) -> str:
        """Return that the average is 0."""
        return f"the average of {self.rules.of} is 0"

    def nothing(self) -> str:
        """Return that nothing has come so far, or since it was dropped."""
        when = "so far" if self.rules.leaver == "keep" else "in the round"
        return f"no {self.rules.of} above 0 {when}"

    def _averages(self, column: RationalColumn, carried: Sequence[int | None]) -> Column:
        """Return what `_average` gives for each value, as whole numbers over one denominator."""
        new = Fraction(self.rules.new)
        # of a new value, of a previous one in nano, and of 1, over the denominator of all
        of_new = new.numerator * NANO
        of_previous = (new.denominator - new.numerator) * column.denominator
        whole = new.denominator * column.denominator * NANO
        kept, fresh = self.rules.leaver == "keep", self.rules.newcomer == "new"
        low = Fraction(self.rules.drop_up_to)
        least = low.numerator * whole
        averages: list[int | None] = []
        for value, previous in zip(column.numerators, carried, strict=True):
            if value is None:
                average = whole // NANO * previous if kept and previous is not None else None
            elif previous is None:
                average = value * (whole // column.denominator if fresh else of_new)
            else:
                average = of_new * value + of_previous * previous
            is_dropped = average is None or average * low.denominator <= least
            averages.append(None if is_dropped else average)
        return over(averages, whole)

    def _average(self, value: Exact | None, carried: int | None) -> Exact | None:
        previous = None if carried is None else Fraction(carried, NANO)
        if value is None:
            result: Exact | None = previous if self.rules.leaver == "keep" else None
        else:
            new = Fraction(self.rules.new)
            before = value if self.rules.newcomer == "new" else Fraction()
            before = before if previous is None else previous
            result = new * value + (1 - new) * before
        if result is None or not self._is_dropped(result):
            return result
        return None

    def _is_dropped(self, value: Exact) -> bool:
        low = Fraction(self.rules.drop_up_to)
        return real.compare(value, low) <= 0
