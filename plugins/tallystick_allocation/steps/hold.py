"""``hold``: who is best stays so until somebody exceeds it by a margin; ``reign``: for how long."""

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
    cell_of,
    column_of,
    kept,
    positive,
)
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
class Hold(OrderedStep, StepOfColumn):
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
    then: tuple[str, ...] = ()
    carry: Literal[True] = True
    memory = ("", HELD, REIGN)

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
        if not self.margin and not self.lead and (self.shrink or self.ceiling is not None):
            key = "shrink" if self.shrink else "ceiling"
            yield mistake((*path, key), shown(getattr(self, key)), "a margin or a lead to shrink")
        if self.least and not self.shrink:
            yield mistake((*path, "least"), shown(self.least), "no such key without shrink")
        if self.near and self.ceiling is None:
            yield mistake((*path, "near"), shown(self.near), "no such key without ceiling")
        if self.ceiling is not None and self.near >= self.ceiling:
            yield mistake((*path, "near"), shown(self.near), "a value below the ceiling")

    def sums_to_one(self, _: bool, /) -> bool:
        """Return whether only who holds has a value."""
        return self.last == 1

    def range_of(self, _: BoundStep, __: Sequence[Range], /) -> Range:
        """Return [0, 1]."""
        return UNIT

    def range_of_memory(self, part: str, own: Range, inputs: Sequence[Range], /) -> Range:
        """Return the range of the order of holders, of the value, or of a number of rounds."""
        if part == HELD:
            return hull(inputs[0], NOTHING)
        return own if not part else _ROUNDS

    def has_some(self, _: bool, /) -> bool:
        """Return true: no holder has 0."""
        return True

    def can_empty(self, ranges: Mapping[str, Range], /) -> bool:
        """Return whether no value may reach the floor."""
        return self.floor > ranges[self.of][1]

    def apply(self, bound: BoundStep, step_input: StepInput, /) -> StepResult:
        """Return the holders, and what is kept of the present one."""
        columns = step_input.grouped(self.of)
        found = {group: self._held(columns[group], group, step_input) for group in bound.groups}
        order, held, reign = (
            bound.by_group({group: of_group[part] for group, of_group in found.items()}.__getitem__)
            for part in range(len(self.memory))
        )
        return Remembered(order, {HELD: held, REIGN: reign})

    def reason(self) -> str:
        """Return that others hold."""
        return f"another holds the first place by {self.of}"

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

    def _held(self, column: Column, group: str, step_input: StepInput) -> _Memory:
        """Return what is kept after a round."""
        before, held, reigns = (
            step_input.carried(memory_name(self.name, part, group)) for part in self.memory
        )
        holders = sorted(before, key=before.__getitem__, reverse=True)
        able = self._able(column)
        # who holds alone has a reign: those before it are remembered by their order
        holder = next(iter(reigns), None)
        value: Exact = Fraction(held[holder], NANO) if holder is not None else Fraction()
        reign = reigns[holder] // NANO if holder is not None else 0
        if holder is not None and not self._stays(holder, column, able):
            holders.remove(holder)
            holder = None
        own = None if holder is None else column.exact(holder)
        value = own if own is not None and self.value == "own" else value
        others = kept(able, (place for place in able.present if place != holder))
        best = next(self.order.descending(others, group, step_input), None)
        if best is not None and (
            holder is None or real.compare(cell_of(others, best), self.threshold(value, reign)) > 0
        ):
            holders = [best, *(place for place in holders if place != best)]
            return self._kept(holders, best, cell_of(others, best), 0, len(column))
        return self._kept(holders, holder, value, reign + 1, len(column))

    def _stays(self, holder: int, column: Column, able: Column) -> bool:
        """Return whether a holder keeps the place as long as nobody exceeds it."""
        if column.exact(holder) is None:
            return self.absent == "stays"
        return able.exact(holder) is not None

    def _able(self, column: Column) -> Column:
        """Return the values above 0 that reach the floor."""
        floor = Fraction(self.floor)
        places = positive(column)
        return kept(column, [p for p in places if real.compare(cell_of(column, p), floor) >= 0])

    def _kept(
        self, holders: Sequence[int], holder: int | None, value: Exact, reign: int, length: int
    ) -> _Memory:
        """Return the columns of the order of holders, of the held value and of the reign."""
        order = dict(zip(holders[: self.last], range(self.last, 0, -1), strict=False))
        present = range(length)
        return (
            RationalColumn(tuple(map(order.get, present)), self.last),
            column_of(value if place == holder else None for place in present),
            RationalColumn(tuple(reign if place == holder else None for place in present)),
        )


_Memory = tuple[Column, Column, Column]
"""The order of holders, the value that is held, and the rounds since it was taken."""


@attrs.frozen(kw_only=True)
class Reign(StepOfColumn):
    """The rounds since the present holder took the first place: 0 in that one."""

    recalls = True

    @property
    def sentence(self) -> str:
        """The step whose holder it is about."""
        return f"the rounds since the holder of {self.of} took the first place"

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require a step hold."""
        if not isinstance(earlier.steps[self.of], Hold):
            yield mistake((*path, "of"), shown(self.of), "a step hold")

    def is_whole(self, _: BoundStep, /) -> bool:
        """Return true."""
        return True

    def range_of(self, _: BoundStep, __: Sequence[Range], /) -> Range:
        """Return the range of a number of rounds."""
        return _ROUNDS

    def apply(self, _: BoundStep, step_input: StepInput, /) -> StepResult:
        """Return the rounds, of the holder alone."""
        return step_input.values[memory_name(self.of, REIGN, "")]

    def nothing(self) -> str:
        """Return that others hold."""
        return f"it is not the holder of {self.of}"
