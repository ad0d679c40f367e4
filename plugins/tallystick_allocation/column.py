"""Columns of an allocation: an exact value, or none, at each place of a roster.

A column whose values share a denominator of some length holds whole numbers over it; another one
holds its values one by one. Which of the two it is never shows: it is a matter of speed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cmp_to_key
from math import gcd, lcm
from typing import TYPE_CHECKING

import attrs

from tallystick.numbers import real
from tallystick.numbers.nano import NANO, round_half_even

if TYPE_CHECKING:
    from tallystick.numbers.real import Exact

_WIDEST = 1 << 256
"""A common denominator above it is reduced, or given up."""
_BITS = 64
"""Values that are no fractions are first told apart by so many bits."""


@attrs.frozen
class RationalColumn:
    """Whole numbers over one denominator.

    Attributes:
        numerators: one for each place; None where there is no value.
        denominator: positive.
    """

    numerators: tuple[int | None, ...]
    denominator: int = 1

    def __len__(self) -> int:
        return len(self.numerators)

    def exact(self, place: int) -> Fraction | None:
        """Return the value at a place."""
        numerator = self.numerators[place]
        return None if numerator is None else Fraction(numerator, self.denominator)

    @property
    def cells(self) -> Iterator[Exact | None]:
        """The value at each place."""
        return map(self.exact, range(len(self)))

    @property
    def present(self) -> list[int]:
        """The places that have a value."""
        return [index for index, value in enumerate(self.numerators) if value is not None]


@attrs.frozen(eq=False)
class RealColumn:
    """Exact values one by one, rational or not.

    Attributes:
        values: one for each place; None where there is no value.
    """

    values: tuple[Exact | None, ...]

    def __len__(self) -> int:
        return len(self.values)

    def exact(self, place: int) -> Exact | None:
        """Return the value at a place."""
        return self.values[place]

    @property
    def cells(self) -> Iterator[Exact | None]:
        """The value at each place."""
        return iter(self.values)

    @property
    def present(self) -> list[int]:
        """The places that have a value."""
        return [index for index, value in enumerate(self.values) if value is not None]


@attrs.frozen(eq=False)
class Number:
    """One number of a column, such as its median; None where there is none."""

    value: Exact | None


Column = RationalColumn | RealColumn
Grouped = Mapping[str, Column]
"""A column for each group, in name order."""
Values = Column | Grouped | Number
"""The result of a step."""


def columns_in(values: Values) -> tuple[Column, ...]:
    """Return the columns of a result: one, one for each group, or none of a number."""
    if isinstance(values, Number):
        return ()
    return tuple(values.values()) if isinstance(values, Mapping) else (values,)


def column_of(cells: Iterable[Exact | None]) -> Column:
    """Return the column of some values."""
    values = tuple(cells)
    if all(value is None or isinstance(value, Fraction) for value in values):
        ratios = (None if value is None else value.as_integer_ratio() for value in values)  # type: ignore[union-attr]  # as tested
        return column_of_ratios(ratios)
    return RealColumn(values)


def column_of_ratios(ratios: Iterable[tuple[int, int] | None]) -> Column:
    """Return the column of some ratios of whole numbers, each with a positive denominator."""
    result = list(ratios)
    denominator = 1
    for divisor in {ratio[1] for ratio in result if ratio is not None}:
        denominator = lcm(denominator, divisor)
        if denominator > _WIDEST:
            return RealColumn(
                tuple(None if ratio is None else Fraction(*ratio) for ratio in result)
            )
    return RationalColumn(
        tuple(None if r is None else r[0] * (denominator // r[1]) for r in result), denominator
    )


def over(numerators: Sequence[int | None], denominator: int) -> RationalColumn:
    """Whole numbers over a denominator, which is reduced where it is long."""
    shared = 1
    if denominator > _WIDEST:
        shared = gcd(denominator, *(numerator for numerator in numerators if numerator is not None))
    if shared == 1:
        return RationalColumn(tuple(numerators), denominator)
    reduced = (None if numerator is None else numerator // shared for numerator in numerators)
    return RationalColumn(tuple(reduced), denominator // shared)


def absent(places: int) -> RationalColumn:
    """Return a column without a value."""
    return RationalColumn((None,) * places)


def constant(places: Iterable[int], value: Fraction, length: int) -> RationalColumn:
    """Return a column with one value at some places."""
    numerators: list[int | None] = [None] * length
    for index in places:
        numerators[index] = value.numerator
    return RationalColumn(tuple(numerators), value.denominator)


def published(column: Column) -> RationalColumn:
    """Return the values rounded half-even to nine places, once each."""
    if isinstance(column, RealColumn):
        return RationalColumn(
            tuple(None if value is None else real.publish(value) for value in column.values), NANO
        )
    denominator = column.denominator
    if denominator == NANO:
        return column
    rounded = (
        None if n is None else round_half_even(n * NANO, denominator) for n in column.numerators
    )
    return RationalColumn(tuple(rounded), NANO)


def nano(column: Column) -> Iterator[int | None]:
    """Return the values in nano, rounded half-even."""
    return iter(published(column).numerators)


def cell_of(column: Column, place: int) -> Exact:
    """Return the value at a place that has one."""
    value = column.exact(place)
    assert value is not None  # noqa: S101  # of a place with a value
    return value


def cell_text(column: Column, place: int) -> str:
    """Return the value at a place for people; ``none`` where there is none."""
    value = column.exact(place)
    return "none" if value is None else real.decimal(value)


def total(column: Column) -> Exact:
    """Return the sum of the values."""
    if isinstance(column, RationalColumn):
        whole = sum(numerator for numerator in column.numerators if numerator is not None)
        return Fraction(whole, column.denominator)
    return real.total(value for value in column.values if value is not None)


def times(column: Column, factor: Exact) -> Column:
    """Return the values times a number."""
    if isinstance(column, RationalColumn) and isinstance(factor, Fraction):
        scaled = [None if n is None else n * factor.numerator for n in column.numerators]
        return over(scaled, column.denominator * factor.denominator)
    return mapped(column, lambda value: value * factor)


def mapped(column: Column, change: Callable[[Exact], Exact]) -> Column:
    """Return the values, each changed."""
    return column_of(None if value is None else change(value) for value in column.cells)


def kept(column: Column, places: Iterable[int]) -> Column:
    """Return the values at some places, and none elsewhere."""
    wanted = set(places)
    if isinstance(column, RationalColumn):
        numerators = (n if i in wanted else None for i, n in enumerate(column.numerators))
        return RationalColumn(tuple(numerators), column.denominator)
    return RealColumn(tuple(v if i in wanted else None for i, v in enumerate(column.values)))


def positive(column: Column) -> list[int]:
    """Return the places whose value is above 0."""
    if isinstance(column, RationalColumn):
        return [i for i, n in enumerate(column.numerators) if n is not None and n > 0]
    return [i for i in column.present if real.sign(cell_of(column, i)) > 0]


def negative(column: Column) -> list[int]:
    """Return the places whose value is below 0."""
    if isinstance(column, RationalColumn):
        return [i for i, n in enumerate(column.numerators) if n is not None and n < 0]
    return [i for i in column.present if real.sign(cell_of(column, i)) < 0]


def other_than_zero(column: Column) -> list[int]:
    """Return the places whose value is not 0."""
    if isinstance(column, RationalColumn):
        return [i for i, n in enumerate(column.numerators) if n]
    return [i for i in column.present if real.sign(cell_of(column, i))]


def ascending(column: Column) -> list[list[int]]:
    """Return the places with a value from the lowest to the highest, equal ones together.

    Values that are no fractions are sorted by enclosures; only those whose enclosures touch are
    compared one by one.
    """
    if isinstance(column, RationalColumn):
        by_value: dict[int, list[int]] = {}
        for index, numerator in enumerate(column.numerators):
            if numerator is not None:
                by_value.setdefault(numerator, []).append(index)
        return [by_value[value] for value in sorted(by_value)]
    result: list[list[int]] = []
    for touching in _touching(column):
        result += _told_apart(column, touching) if len(touching) > 1 else [touching]
    return result


def _touching(column: RealColumn) -> Iterator[list[int]]:
    enclosed = ((real.enclosed(cell_of(column, index), _BITS), index) for index in column.present)
    ends = sorted((low, high, index) for (low, high), index in enclosed)
    together: list[int] = []
    highest = 0
    for low, high, index in ends:
        if together and low > highest:
            yield sorted(together)
            together = []
        highest = max(high, highest) if together else high
        together.append(index)
    if together:
        yield sorted(together)


def _told_apart(column: RealColumn, places: list[int]) -> Iterator[list[int]]:
    def order(first: int, second: int) -> int:
        return real.compare(cell_of(column, first), cell_of(column, second))

    equal: list[int] = []
    for index in sorted(places, key=cmp_to_key(order)):
        if equal and order(equal[0], index):
            yield equal
            equal = []
        equal.append(index)
    yield equal


def aligned(columns: Sequence[RationalColumn]) -> tuple[list[tuple[int | None, ...]], int]:
    """Return the numerators of some columns over their common denominator."""
    denominator = lcm(*(column.denominator for column in columns))
    return [
        column.numerators
        if column.denominator == denominator
        else tuple(
            None if n is None else n * (denominator // column.denominator)
            for n in column.numerators
        )
        for column in columns
    ], denominator


def divided(column: Column, whole: Exact) -> Column:
    """Return the values over a number that is not 0."""
    if isinstance(column, RationalColumn) and isinstance(whole, Fraction):
        factor = whole.denominator if whole > 0 else -whole.denominator
        numerators = [None if n is None else n * factor for n in column.numerators]
        return over(numerators, column.denominator * abs(whole.numerator))
    inverse = 1 / whole
    return column_of(None if v is None else v * inverse for v in column.cells)
