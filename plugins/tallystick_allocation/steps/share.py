"""Steps that make shares: ``share``, ``equal`` and ``by_rank``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Literal

import attrs

from tallystick.errors import AllocationError
from tallystick.numbers import real
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact
from tallystick.numbers.text import fraction
from tallystick.rules.findings import Finding, mistake, shown
from tallystick_allocation.column import (
    Column,
    absent,
    column_of,
    constant,
    divided,
    kept,
    negative,
    other_than_zero,
    positive,
    total,
)
from tallystick_allocation.population import MOST_MINERS
from tallystick_allocation.step_input import StepInput
from tallystick_allocation.steps.hold import MOST_HOLDERS, Hold
from tallystick_allocation.steps.select import Order, OrderedStep, Top
from tallystick_allocation.steps.step import (
    UNIT,
    AllocationStep,
    BoundStep,
    ColumnStep,
    EarlierSteps,
    Range,
    StepOfColumn,
    StepResult,
    hull,
)

if TYPE_CHECKING:
    from tallystick.rules.toml import KeyPath

_MOST_POWERS = MOST_HOLDERS
"""Maximum number of powers of a ratio: the k-th has k times its digits."""
_LEAST_SUM = Fraction(1, NANO)
"""No sum of published values, other than 0, is nearer to 0."""


@attrs.frozen(kw_only=True)
class Share(ColumnStep):
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

    @property
    def refuses_negative(self) -> bool:
        """True unless it keeps values below 0."""
        return self.below == "refuse"

    @property
    def sentence(self) -> str:
        """The part of the sum."""
        return f"the part that the miner has of the sum of {self.of} over all miners"

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

    def has_some(self, _: bool, /) -> bool:
        """Return whether a sum of 0 gives no zeros."""
        return self.zero != "zero"

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return false: who has a value has a share."""
        return False

    def changed(self, column: Column, _: str, __: BoundStep, step_input: StepInput, /) -> Column:
        """Return the shares."""
        if self.below == "refuse":
            self.refuse_negative(column, step_input)
        present = column.present
        if not present:
            return column
        shares = self._shares(column, present)
        return kept(shares, other_than_zero(shares)) if self.drop_zero else shares

    def reason(self) -> str:
        """Return that the share is 0, or below."""
        return super().reason() if self.below == "refuse" else "the share is 0 or below"

    def _shares(self, column: Column, present: Sequence[int]) -> Column:
        whole = total(column)
        if real.sign(whole):
            if self.below == "keep":
                self._refuse_near_zero(column, whole)
            return divided(column, whole)
        if self.zero == "zero":
            return constant(present, Fraction(), len(column))
        if self.zero == "equal":
            return constant(present, Fraction(1, len(present)), len(column))
        raise AllocationError(
            f"{self.name}: found a sum of 0 of {self.of} over {len(present)} miners, "
            'expected another one: say zero = "zero" or "equal" if that is no mistake',
            code="share-undefined",
        )

    def _refuse_near_zero(self, column: Column, whole: real.Exact) -> None:
        """Refuse a sum that values of both signs leave nearer to 0 than any published one."""
        size = whole if real.sign(whole) > 0 else -whole
        if real.compare(size, _LEAST_SUM) < 0 and negative(column) and positive(column):
            raise AllocationError(
                f"{self.name}: found a sum of {real.decimal(whole, 25)} of {self.of}, "
                f"expected 0, or one at least {fraction(_LEAST_SUM)} from it, as values below 0 "
                "are kept",
                code="share-undefined",
            )


@attrs.frozen(kw_only=True)
class Equal(StepOfColumn):
    """Equal parts for the miners of a column, in whichever group, that have a flag."""

    where: str | None = None
    gives = "flat"

    def attributes(self) -> Iterator[tuple[str, str, str]]:
        """Yield the flag."""
        if self.where is not None:
            yield "where", self.where, "a flag"

    def sums_to_one(self, _: bool, /) -> bool:
        """Return true: equal parts always sum to 1."""
        return True

    def range_of(self, _: BoundStep, __: Sequence[Range], /) -> Range:
        """Return [0, 1], as the parts sum to 1."""
        return UNIT

    def has_some(self, _: bool, /) -> bool:
        """Return true: no part is 0."""
        return True

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return whether nobody may have the flag."""
        return self.where is not None

    def apply(self, _: BoundStep, step_input: StepInput, /) -> StepResult:
        """Return the one column."""
        groups = step_input.grouped(self.of).values()
        present = sorted({index for column in groups for index in column.present})
        where = self.where
        if where is not None:
            present = [index for index in present if step_input.miner_flag(index, where)]
        if not present:
            return absent(len(step_input.keys))
        return constant(present, Fraction(1, len(present)), len(step_input.keys))

    def reason(self) -> str:
        """Return that the miner is absent, or without the flag."""
        flag = "" if self.where is None else f", or not {self.where}"
        return f"not in {self.of}{flag}"


@attrs.frozen(kw_only=True)
class ByRank(OrderedStep, ColumnStep):
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
    then: tuple[str, ...] = ()

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
        for key in ("first", "tail"):
            if getattr(self, key) and (
                self.ladder is not None or (key, self.ratio) == ("first", None)
            ):
                expected = "no such key but with ratio" + (" or parts" if key == "tail" else "")
                yield mistake((*path, key), shown(getattr(self, key)), expected)
        source = earlier.steps[self.of]
        powers = self.first or _most_of(source)
        if self.ratio is not None and not 0 < powers <= _MOST_POWERS:
            expected = (
                f"a step top with k of at most {_MOST_POWERS}, as a ratio has many digits, or "
                "first of at most as many"
            )
            yield mistake((*path, "of"), shown(self.of), expected)
        if self.then and _most_of(source):
            expected = f"no such key after {source.do}, in whose order the parts are given"
            yield mistake((*path, "then"), "an array", expected)

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

    def has_some(self, _: bool, /) -> bool:
        """Return whether the first place has a part."""
        return self.parts is None or self.parts[0] > 0

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return whether the first place has no part."""
        return self.parts is not None and self.parts[0] <= 0

    def changed(
        self, column: Column, group: str, bound: BoundStep, step_input: StepInput, /
    ) -> Column:
        """Return the parts."""
        order = self._order(bound)
        places = list(order.descending(column, group, step_input))
        parts = [*islice(self._parts(len(places), bound), len(places))]
        whole = real.total(parts)
        if self.short == "normalise" and real.sign(whole):
            parts = [part / whole for part in parts]
        if self.ties == "pooled":
            parts = list(_pooled(order.equals(column, group, step_input), parts))
        by_place = dict(zip(places, parts, strict=True))
        return column_of(map(by_place.get, range(len(column))))

    def reason(self) -> str:
        """Return that the place has no part."""
        return f"{self.of} is too low for a place with a part"

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
