"""Steps that keep something for the next round: ``hold``, with ``reign``, and ``average``."""

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
from tallystick_allocation.column import Column, Numerator
from tallystick_allocation.step_input import StepInput
from tallystick_allocation.steps.select import OrderedStep
from tallystick_allocation.steps.step import (
    NOTHING,
    UNIT,
    BoundStep,
    EarlierSteps,
    Range,
    Remembered,
    StepOfColumn,
    StepResult,
    hull,
    memory_name,
    names,
)

if TYPE_CHECKING:
    from tallystick.rules.toml import KeyPath

MOST_HOLDERS = 256
"""Maximum number of holders that are remembered."""
HELD, REIGN = "held", "reign"
"""Names of the columns kept beside the order of holders: the held value, and the rounds since."""
_ROUNDS: Range = (Fraction(), Fraction(10**9))
"""The range of a number of rounds."""


@attrs.frozen(kw_only=True)
class Hold(OrderedStep):
    """The miner that holds the first place, and those that held it before.

    A holder stays until the value of another exceeds held · (1 + ``margin``) + ``lead``. Both may
    shrink: with each round that it holds by the part ``shrink`` of them, and near a ceiling of the
    value. A place that nobody holds goes to the greatest value. Who holds has 1; of k holders that
    are remembered the one before it (k − 1)/k, and so on.

    Attributes:
        of: the values.
        margin: the part of the held value by which another has to exceed it.
        lead: the difference by which it has to, beside that.
        shrink: the part of margin and lead that is lost with each round.
        least: the part of them that always stays.
        ceiling: the value from which on nothing of them is left, whatever ``least`` is.
        near: the value from which on they shrink towards the ceiling.
        value: whether the value that is held is that of the round in which the place was taken, or
            the holder's own of each round, as far as it has one.
        absent: whether a holder without a value stays.
        floor: who has less neither takes the place nor keeps it, nor does who has nothing above 0.
        last: how many holders are remembered, the present one among them.
    """

    of: str = attrs.field(metadata=names("a column"))
    margin: Decimal = Decimal(0)
    lead: Decimal = Decimal(0)
    shrink: Decimal = Decimal(0)
    least: Decimal = Decimal(0)
    ceiling: Decimal | None = None
    near: Decimal = Decimal(0)
    value: Literal["taken", "own"] = "taken"
    absent: Literal["stays", "leaves"] = "stays"
    floor: Decimal = Decimal(0)
    last: int = 1
    then: tuple[str, ...] = attrs.field(default=(), metadata=names("an order"))
    carry: Literal[True] = True
    memory = ("", HELD, REIGN)
    limits = UNIT
    lack = "another holds the first place by {step.of}"

    @property
    def keeps_absent(self) -> bool:
        """True where a holder without a value stays."""
        return self.absent == "stays"

    @property
    def sizes(self) -> tuple[int, ...]:
        """One more than are remembered."""
        return (self.last + 1,)

    @property
    def marks(self) -> frozenset[Decimal]:
        """The floor."""
        return frozenset({self.floor})

    @property
    def sentence(self) -> str:
        """The margin by which another has to exceed the holder."""
        by = [fraction(Fraction(self.margin)) + " of it"] if self.margin else []
        by += [fraction(Fraction(self.lead))] if self.lead else []
        who = "1 for who has the greatest value of"
        if self.last > 1:
            who = f"the last {self.last} holders of the first place, 1 for the present one, by"
        return f"{who} {self.of}, until another exceeds it{' by ' if by else ''}{' and '.join(by)}"

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require keys that do something."""
        yield from super().mistakes(path, earlier)
        if not self.margin and not self.lead:
            key = "shrink" if self.shrink else "ceiling"
            yield from self.needless(path, key, "a margin or a lead to shrink")
        if not self.shrink:
            yield from self.needless(path, "least", "no such key without shrink")
        if self.ceiling is None:
            yield from self.needless(path, "near", "no such key without ceiling")
        elif self.near >= self.ceiling:
            yield mistake((*path, "near"), shown(self.near), "a value below the ceiling")

    def sums_to_one(self, _: bool, /) -> bool:
        """Return whether only who holds has a value."""
        return self.last == 1

    def range_of_memory(self, part: str, own: Range, inputs: Sequence[Range], /) -> Range:
        """Return the range of the order of holders, of the value, or of a number of rounds."""
        if part == HELD:
            return hull(inputs[0], NOTHING)
        return own if not part else _ROUNDS

    def can_empty(self, ranges: Mapping[str, Range], /) -> bool:
        """Return whether no value may reach the floor."""
        return self.floor > ranges[self.of][1]

    def apply(self, bound: BoundStep, step_input: StepInput, /) -> StepResult:
        """Return the holders, and what is kept of the present one."""
        found = {group: self._held(group, step_input) for group in bound.groups}
        order, held, reign = (
            bound.by_group({group: of_group[part] for group, of_group in found.items()}.__getitem__)
            for part in range(len(self.memory))
        )
        return Remembered(order, {HELD: held, REIGN: reign})

    def threshold(self, held: Exact, reign: int) -> Exact:
        """Return the value that another has to exceed.

        Args:
            held: the value that is held.
            reign: the number of rounds since the place was taken.
        """
        part: Exact = max(Fraction(self.least), 1 - Fraction(self.shrink) * reign)
        if self.ceiling is not None:
            near, ceiling = Fraction(self.near), Fraction(self.ceiling)
            left = (ceiling - held) / (ceiling - near)
            part = part * (Fraction() if left < 0 else Fraction(1) if left > 1 else left)
        return held * (1 + Fraction(self.margin) * part) + Fraction(self.lead) * part

    def _held(self, group: str, step_input: StepInput) -> _Memory:
        """Return what is kept after a round."""
        column = step_input.column(self.of, group)
        before, held, reigns = (
            step_input.carried(memory_name(self.name, part, group)) for part in self.memory
        )
        holders = sorted(before, key=before.__getitem__, reverse=True)
        able = column.kept(column.reaching(0, self.floor))
        # who holds alone has a reign: those before it are remembered by their order
        holder = next(iter(reigns), None)
        value: Exact = Fraction(held[holder], NANO) if holder is not None else Fraction()
        reign = reigns[holder] // NANO if holder is not None else 0
        if holder is not None and not self._stays(holder, column, able):
            holders.remove(holder)
            holder = None
        own = None if holder is None else column.exact(holder)
        value = own if own is not None and self.value == "own" else value
        others = able.kept(place for place in able.present if place != holder)
        best = next(self.order.descending(others, group, step_input), None)
        if best is not None and (holder is None or others.at(best) > self.threshold(value, reign)):
            holders = [best, *(place for place in holders if place != best)]
            return self._kept(holders, best, others.at(best), 0, len(column))
        return self._kept(holders, holder, value, reign + 1, len(column))

    def _stays(self, holder: int, column: Column, able: Column) -> bool:
        """Return whether a holder keeps the place as long as nobody exceeds it."""
        if column.exact(holder) is None:
            return self.absent == "stays"
        return able.exact(holder) is not None

    def _kept(
        self, holders: Sequence[int], holder: int | None, value: Exact, reign: int, length: int
    ) -> _Memory:
        """Return the columns of the order of holders, of the held value and of the reign."""
        order = dict(zip(holders[: self.last], range(self.last, 0, -1), strict=False))
        present = [] if holder is None else [holder]
        return (
            Column(tuple(map(order.get, range(length))), self.last),
            Column.of(value if place == holder else None for place in range(length)),
            Column.constant(present, Fraction(reign), length),
        )


_Memory = tuple[Column, Column, Column]
"""The order of holders, the value that is held, and the rounds since it was taken."""


@attrs.frozen(kw_only=True)
class Reign(StepOfColumn):
    """The rounds since the present holder took the first place: 0 in that one."""

    recalls = True
    limits = _ROUNDS
    meaning = "the rounds since the holder of {step.of} took the first place"

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require a step hold."""
        if not isinstance(earlier.steps[self.of].rules, Hold):
            yield mistake((*path, "of"), shown(self.of), "a step hold")

    def is_whole(self, _: BoundStep, /) -> bool:
        """Return true."""
        return True

    def column(self, group: str, _: BoundStep, step_input: StepInput, /) -> Column:
        """Return the rounds, of the holder alone."""
        return step_input.column(memory_name(self.of, REIGN, ""), group)

    def nothing(self) -> str:
        """Return that others hold."""
        return f"it is not the holder of {self.of}"


@attrs.frozen(kw_only=True)
class Average(StepOfColumn):
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

    new: Decimal | str = attrs.field(metadata=names("a column"))
    down: Decimal | None = None
    newcomer: Literal[0, "new"] = 0
    leaver: Literal["drop", "keep"]
    drop_up_to: Decimal = Decimal(0)
    normalise: bool | None = None
    carry: Literal[True] = True
    memory = ("",)
    keeps_shares = True
    lack = "the average of {step.of} is 0"

    @property
    def scales(self) -> bool:
        """Whether averages are scaled to the sum 1."""
        return self.normalise is not False

    @property
    def keeps_absent(self) -> bool:
        """True unless who has no new value is dropped."""
        return self.leaver == "keep"

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

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require that new values count, and a word about scaling where it is not plain."""
        if isinstance(self.new, Decimal) and not self.new:
            yield mistake((*path, "new"), shown(self.new), "a share above 0")
        if self.normalise is None and not earlier.steps[self.of].sums_to_one:
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

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return whether averages above 0 are dropped."""
        return bool(self.drop_up_to)

    def column(self, group: str, _: BoundStep, step_input: StepInput, /) -> Column:
        """Return the averages; `allocate` rounds them."""
        carried = step_input.population.carry.get(memory_name(self.name, "", group), {})
        previous = [carried.get(key) for key in step_input.keys]
        rates = self._rates(group, step_input)
        averages = self._averages(step_input.column(self.of, group), rates, previous)
        whole = averages.total
        return averages.times(1 / whole) if self.scales and whole else averages

    def nothing(self) -> str:
        """Return that nothing has come so far, or since it was dropped."""
        when = "so far" if self.leaver == "keep" else "in the round"
        return f"no {self.of} above 0 {when}"

    @property
    def rate(self) -> Fraction:
        """The share of new values, where it is a number."""
        return Fraction() if isinstance(self.new, str) else Fraction(self.new)

    def _rates(self, group: str, step_input: StepInput) -> Column:
        """Return the share of the new value of each."""
        if not isinstance(self.new, str):
            places = len(step_input.keys)
            return Column.constant(range(places), self.rate, places)
        rates = step_input.column(self.new, group)
        for place in rates.present:
            if not 0 <= rates.at(place) <= 1:
                raise AllocationError(
                    f"{self.name}: found {real.decimal(rates.at(place))} of {self.new} of "
                    f"{escaped(step_input.keys[place])}, expected a share from 0 to 1: clip it "
                    "before",
                    code="out-of-range",
                )
        return rates

    def _averages(self, column: Column, rates: Column, previous: Sequence[int | None]) -> Column:
        """Return the averages above ``drop_up_to``, from what was carried in nano."""
        down, low = Fraction(self.down or 0), Fraction(self.drop_up_to)
        # shares are over the unit; averages over that, the column's denominator and nano
        unit = lcm(rates.denominator, down.denominator)
        whole = unit * column.denominator * NANO
        averages: list[Numerator | None] = []
        for value, nano, rate in zip(column.numerators, previous, rates.numerators, strict=True):
            average: Numerator | None = None
            carried = (nano or 0) * column.denominator
            if value is None or (rate is None and nano is not None):
                if value is not None or self.leaver == "keep":
                    average = carried * unit
            elif nano is None and self.newcomer == "new":
                average = value * NANO * unit
            else:
                new = (0 if rate is None else rate) * (unit // rates.denominator)
                if self.down is not None and value * NANO < carried:
                    new = down.numerator * (unit // down.denominator)
                average = value * NANO * new + carried * (unit - new)
            is_kept = average is not None and average * low.denominator > low.numerator * whole
            averages.append(average if is_kept else None)
        return Column.over(averages, whole)
