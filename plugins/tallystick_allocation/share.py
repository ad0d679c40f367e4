"""Steps that hand out: ``share``, ``by_rank``, ``pools``, ``mix``, ``equal`` and ``reserve``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any

import attrs

from tallystick.errors import AllocationError
from tallystick.io.text import escaped
from tallystick.numbers import real
from tallystick.numbers.nano import NANO
from tallystick.numbers.text import fraction
from tallystick_allocation.attributes import miner_flag, round_number, round_text
from tallystick_allocation.column import (
    Column,
    RationalColumn,
    Values,
    absent,
    aligned,
    ascending,
    column_of,
    constant,
    kept,
    negative,
    other_than_zero,
    over,
    positive,
    times,
    total,
)
from tallystick_allocation.population import Population
from tallystick_allocation.recipients import EXPECTED, is_recipient, key_of
from tallystick_allocation.rules import ROUND, ByRank, Equal, Mix, Pools, Reserve, Share
from tallystick_allocation.select import Order, TopStep
from tallystick_allocation.step import (
    NOTHING,
    UNIT,
    AllocationStep,
    ColumnStep,
    Given,
    Range,
    Stop,
    Surroundings,
    computes,
    hull,
    refuse_negative,
)

_LEAST_SUM = Fraction(1, NANO)
"""No sum of published values, other than 0, is nearer to 0."""


@computes(Share)
@attrs.frozen(eq=False, slots=False)
class ShareStep(ColumnStep):
    """Each value over the sum of all."""

    rules: Share

    prefers_hotkeys = False

    def range_of(self, ranges: Mapping[AllocationStep, Range]) -> Range:
        """Shares are in [0, 1], but for a column with values below 0, whose sum can be near 0."""
        low, high = ranges[self.inputs[0]]
        if self.rules.below == "refuse" or low >= 0:
            return UNIT
        furthest = max(-low, high) / _LEAST_SUM
        return hull((-furthest, furthest), UNIT)

    def changed(self, column: Column, group: str, given: Given) -> Column:
        """Return the shares."""
        del group
        if self.rules.below == "refuse":
            refuse_negative(column, self, given)
        present = column.present
        if not present:
            return column
        shares = self._shares(column, present)
        return kept(shares, other_than_zero(shares)) if self.rules.drop_zero else shares

    def reason(self) -> str:
        """Return that the share is 0, or below."""
        return super().reason() if self.rules.below == "refuse" else "the share is 0 or below"

    def _shares(self, column: Column, present: Sequence[int]) -> Column:
        whole = total(column)
        if real.sign(whole):
            if self.rules.below == "keep":
                self._refuse_near_zero(column, whole)
            return divided(column, whole)
        if self.rules.zero == "zero":
            return constant(present, Fraction(), len(column))
        if self.rules.zero == "equal":
            return constant(present, Fraction(1, len(present)), len(column))
        raise AllocationError(
            f"{self.name}: found a sum of 0 of {self.rules.of} over {len(present)} miners, "
            'expected another one: say zero = "zero" or "equal" if that is no mistake',
            code="share-undefined",
        )

    def _refuse_near_zero(self, column: Column, whole: real.Exact) -> None:
        """Refuse a sum that values of both signs leave nearer to 0 than any published one."""
        size = whole if real.sign(whole) > 0 else -whole
        if real.compare(size, _LEAST_SUM) < 0 and negative(column) and positive(column):
            raise AllocationError(
                f"{self.name}: found a sum of {real.decimal(whole, 25)} of {self.rules.of}, "
                f"expected 0, or one at least {fraction(_LEAST_SUM)} from it, as values below 0 "
                "are kept",
                code="share-undefined",
            )


@computes(ByRank)
@attrs.frozen(eq=False, slots=False)
class ByRankStep(ColumnStep):
    """A part for each place in an order."""

    rules: ByRank

    @property
    def prefers_hotkeys(self) -> bool:
        """True where equals get parts of their own, in an order that no round draws anew."""
        return self.rules.ties != "pooled" and not self.order.is_drawn

    @property
    def sizes(self) -> tuple[int, ...]:
        """One more than there are parts."""
        return (len(self.rules.parts or ()) + 1,)

    def range_of(self, ranges: Mapping[AllocationStep, Range]) -> Range:
        """Parts are in [0, 1]."""
        del ranges
        return UNIT

    def changed(self, column: Column, group: str, given: Given) -> Column:
        """Return the parts."""
        order = list(self.order.descending(column, group, given))
        parts = [*islice(self._parts(), len(order))]
        parts += [Fraction()] * (len(order) - len(parts))
        whole = sum(parts, Fraction())
        if self.rules.short == "normalise" and whole:
            parts = [part / whole for part in parts]
        if self.rules.ties == "pooled":
            parts = list(_pooled(column, parts))
        cells: list[Fraction | None] = [None] * len(column)
        for index, part in zip(order, parts, strict=True):
            cells[index] = part
        return column_of(cells)

    def reason(self) -> str:
        """Return that the place has no part."""
        return f"{self.rules.of} is too low for a place with a part"

    @property
    def order(self) -> Order:
        """The order of equals, which is that of the step that chose them."""
        source = self.inputs[0]
        return source.order if isinstance(source, TopStep) else Order("hotkey", None)

    def _parts(self) -> Iterator[Fraction]:
        if self.rules.parts is not None:
            yield from map(Fraction, self.rules.parts)
            return
        part, ratio = Fraction(1), Fraction(self.rules.ratio or 0)
        while True:
            yield part
            part *= ratio


@computes(Pools)
@attrs.frozen(eq=False, slots=False)
class PoolsStep(AllocationStep):
    """The share of each group times what a miner has in it, added up.

    Attributes:
        groups: the share of each group.
    """

    rules: Pools
    groups: Mapping[str, Fraction]

    prefers_hotkeys = False

    @classmethod
    def bound(cls, parts: Mapping[str, Any], surroundings: Surroundings) -> PoolsStep:
        """Return the step with the share of each group."""
        return cls(**parts, groups=surroundings.groups)

    @property
    def operation(self) -> list[Any]:
        """The shares too."""
        return [*super().operation, {name: fraction(share) for name, share in self.groups.items()}]

    def range_of(self, ranges: Mapping[AllocationStep, Range]) -> Range:
        """Return at most the range of the column, as the shares sum to 1."""
        return hull(ranges[self.inputs[0]], NOTHING, UNIT)

    def apply(self, given: Given) -> Values | Stop:
        """Return the one column."""
        parts = given.grouped(self.rules.of)
        idle = [group for group in self.groups if not positive(parts[group])]
        shares = self._with_idle(idle)
        column = weighted_sum([(shares.get(g, Fraction()), parts[g]) for g in self.groups])
        burnt = shares.get("", Fraction())
        return column if not burnt else with_burn(column, burnt, self.rules.burn, given)

    def reason(self) -> str:
        """Return that no group has a value."""
        return f"{self.rules.of} is 0 in every group"

    def _with_idle(self, idle: Sequence[str]) -> dict[str, Fraction]:
        """The share of each group once those of idle groups have moved; of ``""`` what is burnt."""
        active = {group: share for group, share in self.groups.items() if group not in idle}
        spare = sum((self.groups[group] for group in idle), Fraction())
        way = self.rules.idle
        if not spare:
            return active
        if way == "burn" or not active:
            return {**active, "": spare} if self.rules.burn is not None else active
        if way == "equal":
            return {group: share + spare / len(active) for group, share in active.items()}
        whole = sum(active.values(), Fraction())
        if way == "proportional" and whole:
            return {group: share / whole for group, share in active.items()}
        taker = way if way in active else next(iter(active))
        return {**active, taker: active[taker] + spare}


@computes(Mix)
@attrs.frozen(eq=False, slots=False)
class MixStep(AllocationStep):
    """A weighted sum of columns."""

    rules: Mix

    prefers_hotkeys = False

    def range_of(self, ranges: Mapping[AllocationStep, Range]) -> Range:
        """Return the range of all columns together, as the parts sum to 1, and 0."""
        return hull(NOTHING, UNIT, *(ranges[step] for step in self.inputs))

    def apply(self, given: Given) -> Values | Stop:
        """Return the sum, in each group where the columns are of groups."""
        by_name = {name: given.grouped(name) for name in self.rules.of}
        groups = next(iter(by_name.values()))
        result = {
            group: self._mixed({name: columns[group] for name, columns in by_name.items()}, given)
            for group in groups
        }
        return result if self.shape == "grouped" else next(iter(result.values()))

    def reason(self) -> str:
        """Return that no column has a value."""
        return f"{', '.join(self.rules.of)} are 0"

    def _mixed(self, held: Mapping[str, Column], given: Given) -> Column:
        parts = {name: Fraction(part) for name, part in self.rules.of.items()}
        empty = [name for name, column in held.items() if not positive(column)]
        lost = sum((parts[name] for name in empty), Fraction())
        if self.rules.empty == "fold" and 0 < lost < 1:
            parts = {n: Fraction() if n in empty else p / (1 - lost) for n, p in parts.items()}
        mixed = weighted_sum([(parts[name], column) for name, column in held.items()])
        if self.rules.empty == "burn" and lost:
            return with_burn(mixed, lost, self.rules.burn, given)
        return mixed


@computes(Equal)
@attrs.frozen(eq=False, slots=False)
class EqualStep(AllocationStep):
    """Equal parts for the miners of a column that have a flag."""

    rules: Equal

    prefers_hotkeys = False

    def range_of(self, ranges: Mapping[AllocationStep, Range]) -> Range:
        """Parts are in [0, 1]."""
        del ranges
        return UNIT

    def apply(self, given: Given) -> Values | Stop:
        """Return the one column."""
        groups = given.grouped(self.rules.of).values()
        present = sorted({index for column in groups for index in column.present})
        where = self.rules.where
        if where is not None:
            present = [index for index in present if miner_flag(given, index, where)]
        if not present:
            return absent(len(given.keys))
        return constant(present, Fraction(1, len(present)), len(given.keys))

    def reason(self) -> str:
        """Absent, or without the flag."""
        flag = "" if self.rules.where is None else f", or not {self.rules.where}"
        return f"not in {self.rules.of}{flag}"


@computes(Reserve)
@attrs.frozen(eq=False, slots=False)
class ReserveStep(AllocationStep):
    """A share of all for one hotkey."""

    rules: Reserve

    prefers_hotkeys = False

    def recipients(self, population: Population) -> tuple[str, ...]:
        """Return who gets the share."""
        key = population.round.get(self.rules.key.removeprefix(ROUND))
        return (key,) if isinstance(key, str) and key else ()

    def range_of(self, ranges: Mapping[AllocationStep, Range]) -> Range:
        """Return the range of the column, and up to 1."""
        return hull(ranges[self.inputs[0]], UNIT)

    def apply(self, given: Given) -> Values | Stop:
        """Return the column scaled down, with the share of the hotkey."""
        column = given.flat(self.rules.of)
        share = round_number(given, self.rules.share)
        if not 0 <= share < 1:
            raise AllocationError(
                f"{self.name}: found {self.rules.share} {fraction(share)}, expected at least 0 and "
                "less than 1",
                code="reserve-share",
            )
        if not share or (not column.present and self.rules.empty == "nobody"):
            return column
        refuse_negative(column, self, given)
        index = given.places[self._key(given)]
        if not column.present:
            return constant([index], Fraction(1), len(given.keys))
        added = with_value(times(column, 1 - share), index, share)
        return divided(added, total(added))

    def _key(self, given: Given) -> str:
        key = round_text(given, self.rules.key)
        if key not in given.places or not is_recipient(key):
            found = escaped(key)[:60] or "nobody"
            raise AllocationError(
                f"{self.name}: found {found} in {self.rules.key}, expected {EXPECTED}",
                code="attribute-missing",
            )
        return key


def divided(column: Column, whole: real.Exact) -> Column:
    """Return the values over a number that is not 0."""
    if isinstance(column, RationalColumn) and isinstance(whole, Fraction):
        factor = whole.denominator if whole > 0 else -whole.denominator
        numerators = [None if n is None else n * factor for n in column.numerators]
        return over(numerators, column.denominator * abs(whole.numerator))
    inverse = 1 / whole
    return column_of(None if v is None else v * inverse for v in column.cells)


def weighted_sum(parts: Sequence[tuple[Fraction, Column]]) -> Column:
    """Σ part · column of some columns, where none counts as 0, and is left where all have none."""
    rational = [column for _, column in parts if isinstance(column, RationalColumn)]
    if len(rational) < len(parts):
        return column_of(_sum_of(parts, index) for index in range(len(parts[0][1])))
    scaled = [times(column, part) for part, column in parts]
    numerators, denominator = aligned([each for each in scaled if isinstance(each, RationalColumn)])
    return over([_added(row) for row in zip(*numerators, strict=True)], denominator)


def _added(row: Iterable[int | None]) -> int | None:
    present = [numerator for numerator in row if numerator is not None]
    return sum(present) if present else None


def _sum_of(parts: Iterable[tuple[Fraction, Column]], place: int) -> real.Exact | None:
    result = [(part, value) for part, c in parts if (value := c.exact(place)) is not None]
    return real.total(part * value for part, value in result) if result else None


def with_value(column: Column, place: int, value: Fraction) -> Column:
    """Return the column with a value more at a place."""
    return weighted_sum(
        [(Fraction(1), column), (value, constant([place], Fraction(1), len(column)))]
    )


def with_burn(column: Column, share: Fraction, burn: str | int | None, given: Given) -> Column:
    """Return the column with a share for who takes what nobody gets."""
    assert burn is not None  # noqa: S101  # as the checks have seen to
    return with_value(column, given.places[key_of(burn)], share)


def _pooled(column: Column, parts: Sequence[Fraction]) -> Iterator[Fraction]:
    """Yield the parts of the places from the first, of which equal values share the mean."""
    first = 0
    for equal in reversed(ascending(column)):
        shared = parts[first : first + len(equal)]
        yield from [sum(shared, Fraction()) / len(equal)] * len(equal)
        first += len(equal)
