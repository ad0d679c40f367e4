"""Steps that stretch and bound: ``z_score``, ``lift``, ``cap`` and ``statistic``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import attrs

from tallystick.errors import AllocationError
from tallystick.numbers import real
from tallystick.numbers.real import Exact
from tallystick.numbers.text import fraction, numbered
from tallystick_allocation.column import (
    Column,
    Number,
    RationalColumn,
    Values,
    ascending,
    column_of,
    constant,
    mapped,
    over,
    positive,
    total,
)
from tallystick_allocation.rules import CapStep as CapRules
from tallystick_allocation.rules import Lift, Statistic, ZScore
from tallystick_allocation.step import (
    AllocationStep,
    ColumnStep,
    Given,
    Range,
    Stop,
    computes,
    hull,
    refuse_negative,
)

_FURTHEST = Fraction(1000)
"""Maximum distance from the mean of a million values, in standard deviations: √(n − 1)."""


@computes(ZScore)
@attrs.frozen(eq=False, slots=False)
class ZScoreStep(ColumnStep):
    """The distance of each value from the mean, in standard deviations."""

    rules: ZScore

    prefers_hotkeys = False

    def range_of(self, ranges: Mapping[AllocationStep, Range]) -> Range:
        """Return the range that a million miners allow, with the value of a flat column."""
        del ranges
        return hull((-_FURTHEST, _FURTHEST), (Fraction(self.rules.flat),) * 2)

    def apply(self, given: Given) -> Values | Stop:
        """Return the scores; the end of the allocation where all is 0 and the rule set says so."""
        column = given.grouped(self.rules.of)
        present = [(cells, index) for cells in column.values() for index in cells.present]
        stops = self.rules.zero == "stop" and bool(present)
        if stops and all(not real.sign(_at(cells, index)) for cells, index in present):
            return Stop(tuple(sorted({index for _, index in present})))
        return super().apply(given)

    def changed(self, column: Column, group: str, given: Given) -> Column:
        """Return the scores."""
        del group, given
        present = column.present
        divisor = len(present) - (self.rules.deviation == "sample")
        if present and not divisor:
            raise AllocationError(
                f"{self.name}: found one miner, whose sample has no deviation, expected at least "
                'two: say deviation = "population" if one is enough',
                code="z-score-of-one",
            )
        if not present:
            return column
        # with a = n·x − Σx the score is a over the root of Σa²/divisor: no mean is divided out
        gaps = _gaps(column, len(present))
        squares = real.total(gap * gap for gap in gaps.values())
        if not real.sign(squares):
            return constant(present, Fraction(self.rules.flat), len(column))
        inverse = 1 / real.power(squares / divisor, Fraction(1, 2))
        return column_of(
            gaps[index] * inverse if index in gaps else None for index in range(len(column))
        )

    def reason(self) -> str:
        """Return the mean."""
        return f"{self.rules.of} is the mean"


@computes(Lift)
@attrs.frozen(eq=False, slots=False)
class LiftStep(ColumnStep):
    """The values moved so that the lowest has a value of its own."""

    rules: Lift

    prefers_hotkeys = False

    def range_of(self, ranges: Mapping[AllocationStep, Range]) -> Range:
        """Return a range as wide as that of the column."""
        low, high = ranges[self.inputs[0]]
        lowest = Fraction(self.rules.lowest)
        return lowest, high - low + lowest

    def changed(self, column: Column, group: str, given: Given) -> Column:
        """Return the values, moved."""
        del group, given
        order = ascending(column)
        if not order:
            return column
        least = column.exact(order[0][0])
        assert least is not None  # noqa: S101  # it is present
        by = Fraction(self.rules.lowest) - least
        return mapped(column, lambda value: value + by)


@computes(CapRules)
@attrs.frozen(eq=False, slots=False)
class CapStep(ColumnStep):
    """No value above a share; the excess goes to the others in proportion."""

    rules: CapRules

    prefers_hotkeys = False

    def range_of(self, ranges: Mapping[AllocationStep, Range]) -> Range:
        """Shares are in [0, 1]."""
        del ranges
        return Fraction(), Fraction(1)

    def changed(self, column: Column, group: str, given: Given) -> Column:
        """Return the values, capped."""
        del group
        refuse_negative(column, self, given)
        holders = len(positive(column))
        if not holders:
            return column
        if self.rules.excess == "water_filling":
            return _water_filled(column, self._limit(holders))
        return self._once(column, self._limit_alone(holders))

    def notes(self, given: Given) -> Iterator[str]:
        """Yield that so few miners cannot hold the cap."""
        for column in given.grouped(self.rules.of).values():
            holders = len(positive(column))
            if self.rules.lowest_share is not None and 0 < holders * self.rules.share < 1:
                few = numbered(holders, "miner")
                yield f"{self.name}: cap {self.rules.share} cannot hold for {few}: equal shares"

    def _limit_alone(self, miners: int) -> Fraction:
        share = Fraction(self.rules.share)
        return share if self.rules.lowest_share is None else max(share, Fraction(1, miners))

    def _limit(self, miners: int) -> Fraction:
        limit = self._limit_alone(miners)
        if limit * miners < 1:
            raise AllocationError(
                f"{self.name}: found {miners} {'miner' if miners == 1 else 'miners'} and a cap of "
                f"{fraction(limit)}, which hold {fraction(limit * miners)} together, expected 1: "
                'say lowest_share = "one_over_miners" if the cap may rise',
                code="cap-cannot-hold",
            )
        return limit

    def _once(self, column: Column, limit: Fraction) -> Column:
        """Return the excess goes once to who is not above, who may be above then."""
        above = [p for p in column.present if real.compare(_at(column, p), limit) > 0]
        below = sorted({*column.present} - {*above})
        if not above:
            return column
        if not below:
            return constant(above, Fraction(1, len(above)), len(column))
        excess = real.total(_at(column, index) - limit for index in above)
        takers = real.total(_at(column, index) for index in below)
        if not real.sign(takers):
            raise AllocationError(
                f"{self.name}: found an excess above the cap of {fraction(limit)} and nobody with "
                "a value who could take it, expected one",
                code="cap-cannot-hold",
            )
        factor = 1 + excess / takers
        raised = dict.fromkeys(above, limit) | {p: _at(column, p) * factor for p in below}
        return column_of(raised.get(index) for index in range(len(column)))


@computes(Statistic)
@attrs.frozen(eq=False, slots=False)
class StatisticStep(AllocationStep):
    """One number of a column."""

    rules: Statistic

    prefers_hotkeys = False

    def range_of(self, ranges: Mapping[AllocationStep, Range]) -> Range:
        """Return the range of the column, or of its sum, with the number of an empty one."""
        low, high = result = ranges[self.inputs[0]]
        if self.rules.statistic == "sum":
            million = 1_000_000
            result = min(low, Fraction()) * million, max(high, Fraction()) * million
        return (
            result if self.rules.empty is None else hull(result, (Fraction(self.rules.empty),) * 2)
        )

    def apply(self, given: Given) -> Values | Stop:
        """Return the number."""
        column = given.flat(self.rules.of)
        above = self.rules.above
        if above is not None:
            low = Fraction(above)
            cells = (
                v if v is not None and real.compare(v, low) > 0 else None for v in column.cells
            )
            column = column_of(cells)
        return Number(self._number(column))

    def _number(self, column: Column) -> Exact | None:
        order = [index for equal in ascending(column) for index in equal]
        if not order:
            return self._empty()
        match self.rules.statistic:
            case "min":
                return column.exact(order[0])
            case "max":
                return column.exact(order[-1])
            case "sum":
                return total(column)
            case "mean":
                return total(column) / len(order)
        middle = len(order) // 2
        higher = _at(column, order[middle])
        return higher if len(order) % 2 else (_at(column, order[middle - 1]) + higher) / 2

    def _empty(self) -> Fraction:
        if self.rules.empty is None:
            raise AllocationError(
                f"{self.name}: found no value of {self.rules.of} that counts, expected one: say "
                "empty = 0, or another number, if there may be none",
                code="statistic-of-none",
            )
        return Fraction(self.rules.empty)


def _gaps(column: Column, count: int) -> dict[int, Exact]:
    """n·x − Σx of each place with a value."""
    if isinstance(column, RationalColumn):
        whole = sum(n for n in column.numerators if n is not None)
        numerators = enumerate(column.numerators)
        return {i: Fraction(n * count - whole) for i, n in numerators if n is not None}
    sum_of_all = total(column)
    return {index: _at(column, index) * count - sum_of_all for index in column.present}


def _water_filled(column: Column, limit: Fraction) -> Column:
    """Nobody above the limit; the excess goes to the others in proportion, until nobody is.

    Taking the largest first is the same as capping all at once and repeating: the factor of the
    others only grows while more are capped, so who is above stays above.
    """
    order = [index for equal in reversed(ascending(column)) for index in equal]
    whole_numbers = isinstance(column, RationalColumn)
    values: Sequence[int | Exact | None]
    values = column.numerators if isinstance(column, RationalColumn) else tuple(column.cells)
    left: int | Exact = column.denominator if isinstance(column, RationalColumn) else Fraction(1)
    share, scale = limit.numerator, limit.denominator
    # what is left of 1 once k are capped is (scale − k·share)/scale
    rest = scale
    for index in order:
        value = values[index]
        assert value is not None  # noqa: S101  # it is present
        if not _is_above(value * rest, share * left):
            break
        rest, left = rest - share, left - value
    raised = [None if v is None else _lower(v * rest, share * left) for v in values]
    if whole_numbers:
        return over(raised, scale * left)  # type: ignore[arg-type]  # whole numbers, as tested
    return column_of(None if v is None else v / (scale * left) for v in raised)  # type: ignore[misc]  # exact, as tested


def _is_above(first: int | Exact, second: int | Exact) -> bool:
    return first > second


def _lower(first: int | Exact, second: int | Exact) -> int | Exact:
    return second if _is_above(first, second) else first


def _at(column: Column, place: int) -> Exact:
    value = column.exact(place)
    assert value is not None  # noqa: S101  # of a place with a value
    return value
