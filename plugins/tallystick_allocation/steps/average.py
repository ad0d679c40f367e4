"""``average``: a moving average with the values that the round before carried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Literal

import attrs

from tallystick.errors import AllocationError
from tallystick.io.text import escaped
from tallystick.numbers import real
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact
from tallystick.numbers.text import fraction
from tallystick.rules.findings import Finding, mistake, shown
from tallystick_allocation.column import (
    Column,
    RationalColumn,
    cell_of,
    cell_text,
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
    ColumnStep,
    EarlierSteps,
    Range,
    hull,
    memory_name,
)

if TYPE_CHECKING:
    from tallystick.rules.toml import KeyPath


@attrs.frozen(kw_only=True)
class Average(ColumnStep):
    """A moving average with the values of the round before, which are carried, hence rounded.

    Attributes:
        of: the new values.
        new: their share; a number, or the step that has the share of each miner, from 0 to 1: who
            has none there keeps the previous value.
        down: their share where they are below the previous value; by default as elsewhere.
        newcomer: the previous value of who has none: 0, or the new value itself.
        leaver: what becomes of who has no new value.
        drop_up_to: averages of at most this are dropped.
        normalise: whether they are scaled to the sum 1; by default they are, which has to be said
            of a column that is not known to sum to 1.
        carry: they are rounded, and kept for the next round; it is no average otherwise.
    """

    new: Decimal | str
    down: Decimal | None = None
    newcomer: Literal[0, "new"] = 0
    leaver: Literal["drop", "keep"]
    drop_up_to: Decimal = Decimal(0)
    normalise: bool | None = None
    carry: Literal[True] = True
    memory = ("",)
    keeps_shares = True

    @property
    def scales(self) -> bool:
        """Whether averages are scaled to the sum 1."""
        return self.normalise is not False

    @property
    def keeps_absent(self) -> bool:
        """True unless who has no new value is dropped."""
        return self.leaver == "keep"

    @property
    def is_of_each(self) -> bool:
        """True where no sum of all divides the averages."""
        return not self.scales

    @property
    def sentence(self) -> str:
        """The shares of the new and of the carried value."""
        leaver = "stays" if self.leaver == "keep" else "is dropped"
        if isinstance(self.new, str):
            shares = f"the part {self.new} of the new {self.of} and the rest"
        else:
            new = Fraction(self.new)
            shares = f"{fraction(new)} of the new {self.of} and {fraction(1 - new)}"
        down = "" if self.down is None else f", {fraction(Fraction(self.down))} where it is lower"
        return f"{shares} of the average so far{down}; the average of who has no new value {leaver}"

    def columns(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield the step that it reads, and the one that has shares."""
        yield from super().columns()
        if isinstance(self.new, str):
            yield ("new",), self.new

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require that new values count, and a word about scaling where it is not plain."""
        if isinstance(self.new, Decimal) and not self.new:
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
        return hull(inputs[0], NOTHING, *([UNIT] if self.scales else []))

    def has_some(self, _: bool, /) -> bool:
        """Return true: averages of at most 0 are dropped."""
        return True

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return whether averages above 0 are dropped."""
        return bool(self.drop_up_to)

    def changed(self, column: Column, group: str, _: BoundStep, step_input: StepInput, /) -> Column:
        """Return the averages; `allocate` rounds them."""
        rates = None
        carried = step_input.population.carry.get(memory_name(self.name, "", group), {})
        previous = [carried.get(key) for key in step_input.keys]
        if isinstance(self.new, str):
            rates = step_input.column(self.new, group)
            self._check_rates(rates, step_input)
        if isinstance(column, RationalColumn) and rates is None:
            averages = self._averages(column, previous)
        else:
            cells = [Fraction(self.rate)] * len(column) if rates is None else [*rates.cells]
            averages = column_of(map(self._average, column.cells, previous, cells))
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

    @property
    def rate(self) -> Fraction:
        """The share of new values, where it is a number."""
        return Fraction() if isinstance(self.new, str) else Fraction(self.new)

    def _check_rates(self, rates: Column, step_input: StepInput) -> None:
        for place in rates.present:
            rate = cell_of(rates, place)
            if real.compare(rate, Fraction()) < 0 or real.compare(rate, Fraction(1)) > 0:
                raise AllocationError(
                    f"{self.name}: found {cell_text(rates, place)} of {self.new} of "
                    f"{escaped(step_input.keys[place])}, expected a share from 0 to 1: clip it "
                    "before",
                    code="out-of-range",
                )

    def _averages(self, column: RationalColumn, carried: Sequence[int | None]) -> Column:
        """Return what `_average` gives for each value, as whole numbers over one denominator."""
        up = self.rate
        down = up if self.down is None else Fraction(self.down)
        unit = lcm(up.denominator, down.denominator)
        # of a new value and of a previous one in nano, over the denominator of all
        shares = [(int(rate * unit) * NANO, int((1 - rate) * unit) * column.denominator)
                  for rate in (up, down)]  # fmt: skip
        whole = unit * column.denominator * NANO
        kept, fresh = self.leaver == "keep", self.newcomer == "new"
        low = Fraction(self.drop_up_to)
        least = low.numerator * whole
        averages: list[int | None] = []
        for value, previous in zip(column.numerators, carried, strict=True):
            if value is None:
                average = whole // NANO * previous if kept and previous is not None else None
            elif previous is None and fresh:
                average = value * (whole // column.denominator)
            else:
                before = previous or 0
                of_new, of_previous = shares[value * NANO < before * column.denominator]
                average = of_new * value + of_previous * before
            is_dropped = average is None or average * low.denominator <= least
            averages.append(None if is_dropped else average)
        return over(averages, whole)

    def _average(
        self, value: Exact | None, carried: int | None, rate: Exact | None
    ) -> Exact | None:
        previous = None if carried is None else Fraction(carried, NANO)
        if value is None or (rate is None and previous is not None):
            result: Exact | None = previous if self.leaver == "keep" or value is not None else None
        elif previous is None and self.newcomer == "new":
            result = value
        else:
            before = previous or Fraction()
            is_lower = self.down is not None and real.compare(value, before) < 0
            share = Fraction(self.down or 0) if is_lower else rate or Fraction()
            result = share * value + (1 - share) * before
        if result is None or real.compare(result, Fraction(self.drop_up_to)) <= 0:
            return None
        return result
