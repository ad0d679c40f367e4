"""Steps that make shares, and that stretch and bound values.

These are ``share``, ``equal`` and ``by_rank``; ``z_score``, ``lift`` and ``cap``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Literal

import attrs

from tallystick.errors import AllocationError
from tallystick.numbers import real
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact
from tallystick.numbers.text import fraction, numbered
from tallystick.rules.findings import Finding, mistake, shown
from tallystick_allocation.column import Column
from tallystick_allocation.population import MOST_MINERS
from tallystick_allocation.step_input import StepInput
from tallystick_allocation.steps.memory import MOST_HOLDERS, Hold
from tallystick_allocation.steps.select import Order, OrderedStep, Top
from tallystick_allocation.steps.step import (
    UNIT,
    AllocationStep,
    BoundStep,
    EarlierSteps,
    Range,
    StepOfColumn,
    StepResult,
    Stop,
    hull,
    names,
)

if TYPE_CHECKING:
    from tallystick.rules.toml import KeyPath

_MOST_POWERS = MOST_HOLDERS
"""Maximum number of powers of a ratio: the k-th has k times its digits."""
_LEAST_SUM = Fraction(1, NANO)
"""No sum of published values, other than 0, is nearer to 0."""
_FURTHEST = Fraction(1000)
"""Maximum distance from the mean of a million values, in standard deviations: √(n − 1)."""


@attrs.frozen(kw_only=True)
class Share(StepOfColumn):
    """Each value over the sum of all.

    Attributes:
        of: the column.
        zero: what a sum of 0 gives: zeros, equal parts, or no weights at all.
        below: whether values below 0 are refused, or kept: shares are then in no range, and a sum
            below 0 turns the sign of each.
        drop_zero: whether who has 0 is left out.
    """

    zero: Literal["zero", "equal", "refuse"] = "refuse"
    below: Literal["refuse", "keep"] = "refuse"
    drop_zero: bool = False
    needs_nonnegative = True
    keeps_somebody = True
    meaning = "the part that the miner has of the sum of {step.of} over all miners"

    @property
    def refuses_negative(self) -> bool:
        """True unless it keeps values below 0."""
        return self.below == "refuse"

    def mistakes_as_last(self, path: KeyPath, /) -> Iterator[Finding]:
        """Refuse to keep values below 0."""
        if self.below == "keep":
            expected = '"refuse" in the last step: no weight is below 0'
            yield mistake((*path, "below"), shown(self.below), expected)

    def sums_to_one(self, _: bool, /) -> bool:
        """Return true: shares always sum to 1."""
        return True

    def range_of(self, _: BoundStep, inputs: Sequence[Range], /) -> Range:
        """Return [0, 1], or more where values below 0 are kept, whose sum can be near 0."""
        ((low, high),) = inputs
        if self.below == "refuse" or low >= 0:
            return UNIT
        furthest = max(-low, high) / _LEAST_SUM
        return hull((-furthest, furthest), UNIT)

    def column(self, group: str, _: BoundStep, step_input: StepInput, /) -> Column:
        """Return the shares."""
        column = step_input.column(self.of, group)
        if self.below == "refuse":
            self.refuse_negative(column, step_input)
        present = column.present
        if not present:
            return column
        shares = self._shares(column, present)
        return shares.kept(p for p, share in shares.numbers if share) if self.drop_zero else shares

    def reason(self) -> str:
        """Return that the share is 0, or below."""
        return super().reason() if self.below == "refuse" else "the share is 0 or below"

    def _shares(self, column: Column, present: Sequence[int]) -> Column:
        whole = column.total
        if whole:
            if self.below == "keep":
                self._refuse_near_zero(column, whole)
            return column.times(1 / whole)
        if self.zero != "refuse":
            part = Fraction(1, len(present)) if self.zero == "equal" else Fraction()
            return Column.constant(present, part, len(column))
        raise AllocationError(
            f"{self.name}: found a sum of 0 of {self.of} over {len(present)} miners, "
            'expected another one: say zero = "zero" or "equal" if that is no mistake',
            code="share-undefined",
        )

    def _refuse_near_zero(self, column: Column, whole: real.Exact) -> None:
        """Refuse a sum that values of both signs leave nearer to 0 than any published one."""
        if abs(whole) < _LEAST_SUM and column.negative and column.positive:
            raise AllocationError(
                f"{self.name}: found a sum of {real.decimal(whole, 25)} of {self.of}, "
                f"expected 0, or one at least {fraction(_LEAST_SUM)} from it, as values below 0 "
                "are kept",
                code="share-undefined",
            )


@attrs.frozen(kw_only=True)
class Equal(StepOfColumn):
    """Equal parts for the miners of a column, in whichever group, that have a flag."""

    where: str | None = attrs.field(default=None, metadata=names("a flag"))
    gives = "flat"
    limits = UNIT

    @property
    def sentence(self) -> str:
        """The meaning of its values, for people."""
        flag = "" if self.where is None else f" that is {self.where}"
        return f"an equal part for each miner of {self.of}{flag}"

    def sums_to_one(self, _: bool, /) -> bool:
        """Return true: equal parts always sum to 1."""
        return True

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return whether nobody may have the flag."""
        return self.where is not None

    def column(self, _: str, __: BoundStep, step_input: StepInput, /) -> Column:
        """Return the one column."""
        groups = step_input.grouped(self.of).values()
        present, where = {index for column in groups for index in column.present}, self.where
        if where is not None:
            present = {index for index in present if step_input.flag(where, index)}
        part = Fraction(1, len(present) or 1)
        return Column.constant(present, part, len(step_input.keys))

    def reason(self) -> str:
        """Return that the miner is absent, or without the flag."""
        flag = "" if self.where is None else f", or not {self.where}"
        return f"not in {self.of}{flag}"


@attrs.frozen(kw_only=True)
class ByRank(OrderedStep, StepOfColumn):
    """A part for each place: from a list, as powers of a ratio, or by the number of miners.

    Attributes:
        of: what orders the miners; after ``top`` in the order of that.
        parts: of the places, from the first.
        ratio: the place i from 0 gets ``ratio`` to the power i.
        ladder: of n miners the place i gets n − i, or the logarithm of n + 1 − i.
        first: how many places have a power of the ratio; by default as many as the step before
            leaves at most.
        tail: the part of each place behind them.
        short: whether the parts of those present are scaled to the sum 1.
        ties: in the order, or equal values share the mean of their places.
        then: by what equal values are ordered; see `Order`.
    """

    parts: tuple[Decimal, ...] | None = None
    ratio: Decimal | None = None
    ladder: Literal["linear", "logarithmic"] | None = None
    first: int | None = None
    tail: Decimal = Decimal(0)
    short: Literal["normalise", "leave"] = "normalise"
    ties: Literal["order", "pooled"] = "order"
    then: tuple[str, ...] = attrs.field(default=(), metadata=names("an order"))
    lack = "{step.of} is too low for a place with a part"
    meaning = "a part for each place by {step.of}"

    @property
    def sizes(self) -> tuple[int, ...]:
        """One more than there are parts."""
        return (len(self.parts or ()) + 1,)

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require either parts, a ratio or a ladder."""
        yield from super().mistakes(path, earlier)
        ways = [key for key in ("parts", "ratio", "ladder") if getattr(self, key) is not None]
        if len(ways) != 1:
            yield mistake(path, " and ".join(ways) or "neither", "either parts, ratio or ladder")
        if self.parts is not None and not any(self.parts):
            yield mistake((*path, "parts"), "parts of 0", "a part above 0")
        if self.ladder is not None or self.ratio is None:
            yield from self.needless(path, "first", "no such key but with ratio")
        if self.ladder is not None:
            yield from self.needless(path, "tail", "no such key but with ratio or parts")
        source = earlier.steps[self.of].rules
        powers = self.first or _most_of(source)
        if self.ratio is not None and not 0 < powers <= _MOST_POWERS:
            expected = (
                f"a step top with k of at most {_MOST_POWERS}, as a ratio has many digits, or "
                "first of at most as many"
            )
            yield mistake((*path, "of"), shown(self.of), expected)
        if _most_of(source):
            expected = f"no such key after {source.do}, in whose order the parts are given"
            yield from self.needless(path, "then", expected)

    def sums_to_one(self, _: bool, /) -> bool:
        """Return whether the parts of those present are scaled to sum to 1."""
        return self.short == "normalise"

    def range_of(self, _: BoundStep, __: Sequence[Range], /) -> Range:
        """Return [0, 1], but of the parts of a ladder that are not scaled."""
        if self.ladder is None or self.short == "normalise":
            return UNIT
        return Fraction(), Fraction(MOST_MINERS)

    def prefers_hotkeys(self, bound: BoundStep, /) -> bool:
        """Return whether equals get parts of their own, in an order that no round draws anew."""
        return self.ties != "pooled" and not self._order(bound).is_drawn

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return whether the first place has no part."""
        return self.parts is not None and self.parts[0] <= 0

    def column(self, group: str, bound: BoundStep, step_input: StepInput, /) -> Column:
        """Return the parts."""
        column, order = step_input.column(self.of, group), self._order(bound)
        places = list(order.descending(column, group, step_input))
        parts = [*islice(self._parts(len(places), bound), len(places))]
        whole = real.total(parts)
        if self.short == "normalise" and whole:
            parts = [part / whole for part in parts]
        if self.ties == "pooled":
            parts = list(_pooled(order.equals(column, group, step_input), parts))
        by_place = dict(zip(places, parts, strict=True))
        return Column.of(map(by_place.get, range(len(column))))

    def _order(self, bound: BoundStep) -> Order:
        """Return the order of equals, which is that of the step that chose them."""
        source = bound.inputs[0].rules
        return source.order if isinstance(source, Top) else self.order

    def _parts(self, miners: int, bound: BoundStep) -> Iterator[Exact]:
        """Yield the part of each place, from the first."""
        if self.ladder is not None:
            # who is last of n gets 1, or the logarithm of 2
            whole = map(Fraction, range(miners, 0, -1))
            yield from whole if self.ladder == "linear" else (real.log(n + 1) for n in whole)
            return
        parts: Iterator[Fraction] = map(Fraction, self.parts or ())
        if self.ratio is not None:
            first = self.first or _most_of(bound.inputs[0].rules)
            parts = islice(_powers(Fraction(self.ratio)), first)
        yield from chain(parts, repeat(Fraction(self.tail)))


@attrs.frozen(kw_only=True)
class ZScore(StepOfColumn):
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
    lack = "{step.of} is the mean"

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
        present = [(cells, place) for cells in column.values() for place in cells.present]
        if self.zero == "stop" and present and not any(cells.at(p) for cells, p in present):
            return Stop(self.name, tuple(sorted({place for _, place in present})))
        return super().apply(bound, step_input)

    def column(self, group: str, _: BoundStep, step_input: StepInput, /) -> Column:
        """Return the scores."""
        column = step_input.column(self.of, group)
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
        count, whole = len(present), column.total
        gaps = column.changed(lambda value: value * count - whole)
        squares = gaps.changed(lambda gap: gap * gap).total
        if not squares:
            return Column.constant(present, Fraction(self.flat), len(column))
        return gaps.times(1 / real.power(squares / divisor, Fraction(1, 2)))


@attrs.frozen(kw_only=True)
class Lift(StepOfColumn):
    """The values moved so that the lowest of them is ``lowest``."""

    lowest: Decimal
    keeps_somebody = True

    def range_of(self, _: BoundStep, inputs: Sequence[Range], /) -> Range:
        """Return a range as wide as that of the column."""
        ((low, high),) = inputs
        lowest = Fraction(self.lowest)
        return lowest, high - low + lowest

    def column(self, group: str, _: BoundStep, step_input: StepInput, /) -> Column:
        """Return the values, moved."""
        column = step_input.column(self.of, group)
        order = column.ascending()
        if not order:
            return column
        by = Fraction(self.lowest) - column.at(order[0][0])
        return column.changed(lambda value: value + by)


@attrs.frozen(kw_only=True)
class CapStep(StepOfColumn):
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
    limits = UNIT
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
        if not earlier.steps[self.of].is_normalised:
            expected = (
                "a column that sums to exactly 1, such as one of share, which is not published"
            )
            yield mistake((*path, "of"), shown(self.of), expected)
        if not self.share:
            yield mistake((*path, "share"), shown(self.share), "a share above 0")

    def sums_to_one(self, _: bool, /) -> bool:
        """Return true: capped shares always sum to 1."""
        return True

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return whether too few miners for the cap have no weights."""
        return self.lowest_share is None and self.excess != "once"

    def column(self, group: str, _: BoundStep, step_input: StepInput, /) -> Column:
        """Return the values, capped."""
        column = step_input.column(self.of, group)
        self.refuse_negative(column, step_input)
        holders = len(column.positive)
        if not holders:
            return column
        limit, capped, result = self._limit(holders), set[int](), column
        # the factor of the others only grows while more are capped: who is above stays above
        while above := {*result.reaching(limit)}.difference(capped):
            capped |= above
            others = column.kept({*column.present}.difference(capped))
            result = self._filled(others, column.total, capped, limit)
            if self.excess == "once":
                break
        return result

    def notes(self, step_input: StepInput, /) -> Iterator[str]:
        """Yield that so few miners cannot hold the cap."""
        for column in step_input.grouped(self.of).values():
            holders = len(column.positive)
            if self.lowest_share is not None and 0 < holders * self.share < 1:
                few = numbered(holders, "miner")
                yield f"{self.name}: cap {self.share} cannot hold for {few}: equal shares"

    def _limit(self, miners: int) -> Fraction:
        share = Fraction(self.share)
        limit = share if self.lowest_share is None else max(share, Fraction(1, miners))
        if self.excess != "once" and limit * miners < 1:
            raise AllocationError(
                f"{self.name}: found {miners} {'miner' if miners == 1 else 'miners'} and a cap of "
                f"{fraction(limit)}, which hold {fraction(limit * miners)} together, expected 1: "
                'say lowest_share = "one_over_miners" if the cap may rise',
                code="cap-cannot-hold",
            )
        return limit

    def _filled(
        self, others: Column, whole: Exact, capped: Collection[int], limit: Fraction
    ) -> Column:
        """Return the limit for who is capped, and what it leaves of the whole for the others."""
        if not others.present:
            return Column.constant(capped, Fraction(1, len(capped)), len(others))
        if not others.total:
            raise AllocationError(
                f"{self.name}: found an excess above the cap of {fraction(limit)} and nobody with "
                "a value who could take it, expected one",
                code="cap-cannot-hold",
            )
        filled = others.times((whole - limit * len(capped)) / others.total)
        return Column.added([filled, Column.constant(capped, limit, len(others))])


def _most_of(step: AllocationStep) -> int:
    """Return how many values a step leaves at most; 0 where there is no such number."""
    if isinstance(step, Top):
        return step.k
    return step.last if isinstance(step, Hold) else 0


def _powers(ratio: Fraction) -> Iterator[Fraction]:
    part = Fraction(1)
    while True:
        yield part
        part *= ratio


def _pooled(places: Iterable[Sequence[int]], parts: Sequence[Exact]) -> Iterator[Exact]:
    """Yield the parts of the places from the first, of which equal values share the mean."""
    first = 0
    for equal in places:
        shared = parts[first : first + len(equal)]
        yield from [real.total(shared) / len(equal)] * len(equal)
        first += len(equal)
