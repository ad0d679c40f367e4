"""Steps that stretch and bound: ``z_score``, ``lift`` and ``cap``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import attrs

from tallystick.errors import AllocationError
from tallystick.numbers import real
from tallystick.numbers.real import Exact
from tallystick.numbers.text import fraction, numbered
from tallystick.rules.findings import Finding, mistake, shown
from tallystick_allocation.column import (
    Column,
    RationalColumn,
    ascending,
    cell_of,
    column_of,
    constant,
    mapped,
    over,
    positive,
    total,
)
from tallystick_allocation.step_input import StepInput
from tallystick_allocation.steps.step import (
    UNIT,
    BoundStep,
    ColumnStep,
    EarlierSteps,
    Range,
    StepResult,
    Stop,
    hull,
)

if TYPE_CHECKING:
    from tallystick.rules.toml import KeyPath

_FURTHEST = Fraction(1000)
"""Maximum distance from the mean of a million values, in standard deviations: √(n − 1)."""


@attrs.frozen(kw_only=True)
class ZScore(ColumnStep):
    """The distance of each value from the mean, in standard deviations.

    Attributes:
        of: the column.
        deviation: of a population, or of a sample.
        flat: the value of all where none deviates.
        zero: whether a column of zeros ends the allocation with zeros, or is flat as any.
    """

    deviation: Literal["population", "sample"]
    flat: Decimal = Decimal(0)
    zero: Literal["stop", "flat"] = "flat"

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Refuse to stop at zeros in groups: one group cannot end the whole allocation."""
        if self.zero == "stop" and earlier.shapes[self.of] == "grouped":
            expected = '"flat": a group alone cannot end the allocation'
            yield mistake((*path, "zero"), shown(self.zero), expected)

    def range_of(self, _: BoundStep, __: Sequence[Range], /) -> Range:
        """Return the range that a million miners allow, with the value of a flat column."""
        return hull((-_FURTHEST, _FURTHEST), (Fraction(self.flat),) * 2)

    def apply(self, bound: BoundStep, step_input: StepInput, /) -> StepResult:
        """Return the scores; the end of the allocation where all is 0 and the rule set says so."""
        column = step_input.grouped(self.of)
        present = [(cells, index) for cells in column.values() for index in cells.present]
        stops = self.zero == "stop" and bool(present)
        if stops and all(not real.sign(cell_of(cells, index)) for cells, index in present):
            return Stop(tuple(sorted({index for _, index in present})))
        return super().apply(bound, step_input)

    def changed(self, column: Column, _: str, __: BoundStep, ___: StepInput, /) -> Column:
        """Return the scores."""
        present = column.present
        divisor = len(present) - (self.deviation == "sample")
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
            return constant(present, Fraction(self.flat), len(column))
        inverse = 1 / real.power(squares / divisor, Fraction(1, 2))
        return column_of(
            gaps[index] * inverse if index in gaps else None for index in range(len(column))
        )

    def reason(self) -> str:
        """Return the mean."""
        return f"{self.of} is the mean"


@attrs.frozen(kw_only=True)
class Lift(ColumnStep):
    """The values moved so that the lowest of them is ``lowest``."""

    lowest: Decimal

    def range_of(self, _: BoundStep, inputs: Sequence[Range], /) -> Range:
        """Return a range as wide as that of the column."""
        ((low, high),) = inputs
        lowest = Fraction(self.lowest)
        return lowest, high - low + lowest

    def has_some(self, _: bool, /) -> bool:
        """Return whether the lowest value is above 0."""
        return self.lowest > 0

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return false: who is above the lowest stays above it."""
        return False

    def changed(self, column: Column, _: str, __: BoundStep, ___: StepInput, /) -> Column:
        """Return the values, moved."""
        order = ascending(column)
        if not order:
            return column
        least = column.exact(order[0][0])
        assert least is not None  # noqa: S101  # it is present
        by = Fraction(self.lowest) - least
        return mapped(column, lambda value: value + by)


@attrs.frozen(kw_only=True)
class CapStep(ColumnStep):
    """No value above ``share``; the excess goes to the others in proportion.

    Attributes:
        of: a column whose sum is 1.
        share: the largest value.
        excess: given once to who is not above, or until nobody is above.
        lowest_share: ``one_over_miners``: for n miners with a value the cap is at least 1/n.
    """

    share: Decimal
    excess: Literal["once", "water_filling"]
    lowest_share: Literal["one_over_miners"] | None = None
    needs_nonnegative = True
    can_bind = True

    @property
    def sentence(self) -> str:
        """The cap."""
        least = ", or an equal share where that is more" if self.lowest_share else ""
        return (
            f"{self.of}, at most {fraction(Fraction(self.share))}{least}; what is above goes "
            "to the others in proportion"
        )

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require a share of one whole."""
        if self.of not in earlier.normalised:
            expected = (
                "a column that sums to exactly 1, such as one of share, which is not published"
            )
            yield mistake((*path, "of"), shown(self.of), expected)
        if not self.share:
            yield mistake((*path, "share"), shown(self.share), "a share above 0")

    def sums_to_one(self, _: bool, /) -> bool:
        """Return true: capped shares always sum to 1."""
        return True

    def has_some(self, inputs: bool, /) -> bool:
        """Return whether the column has somebody."""
        return inputs

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return whether too few miners for the cap have no weights."""
        return self.lowest_share is None and self.excess != "once"

    def range_of(self, _: BoundStep, __: Sequence[Range], /) -> Range:
        """Return [0, 1], as values are shares of one whole."""
        return UNIT

    def changed(self, column: Column, _: str, __: BoundStep, step_input: StepInput, /) -> Column:
        """Return the values, capped."""
        self.refuse_negative(column, step_input)
        holders = len(positive(column))
        if not holders:
            return column
        if self.excess == "water_filling":
            return _water_filled(column, self._limit(holders))
        return self._once(column, self._limit_alone(holders))

    def notes(self, step_input: StepInput, /) -> Iterator[str]:
        """Yield that so few miners cannot hold the cap."""
        for column in step_input.grouped(self.of).values():
            holders = len(positive(column))
            if self.lowest_share is not None and 0 < holders * self.share < 1:
                few = numbered(holders, "miner")
                yield f"{self.name}: cap {self.share} cannot hold for {few}: equal shares"

    def _limit_alone(self, miners: int) -> Fraction:
        share = Fraction(self.share)
        return share if self.lowest_share is None else max(share, Fraction(1, miners))

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
        """Return the values with the excess given once to who is not above, who may be then."""
        above = [p for p in column.present if real.compare(cell_of(column, p), limit) > 0]
        below = sorted({*column.present} - {*above})
        if not above:
            return column
        if not below:
            return constant(above, Fraction(1, len(above)), len(column))
        excess = real.total(cell_of(column, index) - limit for index in above)
        takers = real.total(cell_of(column, index) for index in below)
        if not real.sign(takers):
            raise AllocationError(
                f"{self.name}: found an excess above the cap of {fraction(limit)} and nobody with "
                "a value who could take it, expected one",
                code="cap-cannot-hold",
            )
        factor = 1 + excess / takers
        raised = dict.fromkeys(above, limit) | {p: cell_of(column, p) * factor for p in below}
        return column_of(raised.get(index) for index in range(len(column)))


def _gaps(column: Column, count: int) -> dict[int, Exact]:
    """n·x − Σx of each place with a value."""
    if isinstance(column, RationalColumn):
        whole = sum(n for n in column.numerators if n is not None)
        numerators = enumerate(column.numerators)
        return {i: Fraction(n * count - whole) for i, n in numerators if n is not None}
    sum_of_all = total(column)
    return {index: cell_of(column, index) * count - sum_of_all for index in column.present}


def _water_filled(column: Column, limit: Fraction) -> Column:
    """Return the values with the excess given to the others in proportion until nobody is above.

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
