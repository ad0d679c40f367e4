"""``average``: a moving average with the values that the round before carried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import attrs

from tallystick.numbers import real
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact
from tallystick.numbers.text import fraction
from tallystick.rules.findings import Finding, mistake, shown
from tallystick_allocation.column import (
    Column,
    RationalColumn,
    Values,
    column_of,
    divided,
    over,
    total,
)
from tallystick_allocation.step_input import StepInput
from tallystick_allocation.steps.step import (
    NOTHING,
    UNIT,
    BoundStep,
    EarlierSteps,
    Range,
    StepOfColumn,
    Stop,
    hull,
)

if TYPE_CHECKING:
    from tallystick.rules.toml import KeyPath


@attrs.frozen(kw_only=True)
class Average(StepOfColumn):
    """A moving average with the values of the round before, which are carried, hence rounded.

    Attributes:
        of: the new values.
        new: their share.
        newcomer: the previous value of who has none: 0, or the new value itself.
        leaver: what becomes of who has no new value.
        drop_up_to: averages of at most this are dropped.
        normalise: whether they are scaled to the sum 1; by default they are, which has to be said
            of a column that is not known to sum to 1.
        carry: they are rounded, and kept for the next round; it is no average otherwise.
    """

    new: Decimal
    newcomer: Literal[0, "new"] = 0
    leaver: Literal["drop", "keep"]
    drop_up_to: Decimal = Decimal(0)
    normalise: bool | None = None
    carry: Literal[True] = True
    takes = "flat"
    gives = "flat"
    carries = True
    keeps_shares = True

    @property
    def scales(self) -> bool:
        """Whether averages are scaled to the sum 1."""
        return self.normalise is not False

    @property
    def is_of_each(self) -> bool:
        """True where no sum of all divides the averages."""
        return not self.scales

    @property
    def sentence(self) -> str:
        """The shares of the new and of the carried value."""
        new = Fraction(self.new)
        leaver = "stays" if self.leaver == "keep" else "is dropped"
        return (
            f"{fraction(new)} of the new {self.of} and {fraction(1 - new)} of the average "
            f"so far; the average of who has no new value {leaver}"
        )

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require that new values count, and a word about scaling where it is not plain."""
        if not self.new:
            yield mistake((*path, "new"), shown(self.new), "a share above 0")
        if self.normalise is None and self.of not in earlier.whole:
            expected = (
                f"true, which divides the averages of a round by their sum, or false, as {self.of} "
                "is not known to sum to 1"
            )
            yield mistake((*path, "normalise"), "", expected)

    def sums_to_one(self, _: bool, /) -> bool:
        """Return whether averages are scaled to sum to 1."""
        return self.scales

    def range_of(self, _: BoundStep, inputs: Sequence[Range], /) -> Range:
        """Return the range of the column, in which carried values were too."""
        return hull(*inputs, NOTHING, *([UNIT] if self.scales else []))

    def has_some(self, _: bool, /) -> bool:
        """Return true: averages of at most 0 are dropped."""
        return True

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return whether averages above 0 are dropped."""
        return bool(self.drop_up_to)

    def apply(self, _: BoundStep, step_input: StepInput, /) -> Values | Stop:
        """Return the averages; `allocate` rounds them."""
        column = step_input.flat(self.of)
        carried = step_input.population.carry.get(self.name, {})
        if isinstance(column, RationalColumn):
            averages = self._averages(column, [carried.get(key) for key in step_input.keys])
        else:
            averages = column_of(
                self._average(value, carried.get(key))
                for key, value in zip(step_input.keys, column.cells, strict=True)
            )
        whole = total(averages)
        if not self.scales or not real.sign(whole):
            return averages
        return divided(averages, whole)

    def reason(self) -> str:
        """Return that the average is 0."""
        return f"the average of {self.of} is 0"

    def nothing(self) -> str:
        """Return that nothing has come so far, or since it was dropped."""
        when = "so far" if self.leaver == "keep" else "in the round"
        return f"no {self.of} above 0 {when}"

    def _averages(self, column: RationalColumn, carried: Sequence[int | None]) -> Column:
        """Return what `_average` gives for each value, as whole numbers over one denominator."""
        new = Fraction(self.new)
        # of a new value, of a previous one in nano, and of 1, over the denominator of all
        of_new = new.numerator * NANO
        of_previous = (new.denominator - new.numerator) * column.denominator
        whole = new.denominator * column.denominator * NANO
        kept, fresh = self.leaver == "keep", self.newcomer == "new"
        low = Fraction(self.drop_up_to)
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
            result: Exact | None = previous if self.leaver == "keep" else None
        else:
            new = Fraction(self.new)
            before = value if self.newcomer == "new" else Fraction()
            before = before if previous is None else previous
            result = new * value + (1 - new) * before
        if result is None or not self._is_dropped(result):
            return result
        return None

    def _is_dropped(self, value: Exact) -> bool:
        low = Fraction(self.drop_up_to)
        return real.compare(value, low) <= 0
