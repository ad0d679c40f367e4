"""Columns of an allocation: an exact value, or none, at each place of a roster.

Values that share a denominator of some length are whole numbers over it; others stand one by one.
Which of the two a column has never shows: it is a matter of speed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cmp_to_key
from itertools import groupby
from math import ceil, floor, gcd, lcm
from operator import ge, gt
from types import NoneType
from typing import Any, Literal

import attrs

from tallystick.numbers import real
from tallystick.numbers.nano import NANO, round_half_even
from tallystick.numbers.real import Exact

_WIDEST = 1 << 256
"""A common denominator above it is reduced, or given up."""
_BITS = 64
"""Bits by which values that are no whole numbers are told apart first."""
_WHOLE = frozenset({int, NoneType})
"""Classes of numerators that are whole numbers, or none."""
Bound = int | Decimal | Fraction
Numerator = int | Exact
"""A whole number, or an exact one that stands alone."""


@attrs.frozen
class Column:
    """Numbers over one denominator.

    Attributes:
        numerators: one for each place; None where there is no value. All are whole numbers, or none
            is: then each is the value itself.
        denominator: positive; 1 where numerators are no whole numbers.
    """

    numerators: tuple[Numerator | None, ...]
    denominator: int = 1

    @classmethod
    def of(cls, cells: Iterable[Exact | None]) -> Column:
        """Return the column of some values."""
        values = tuple(cells)
        if any(isinstance(value, real.Real) for value in values):
            return cls(values)
        ratios = (None if value is None else value.as_integer_ratio() for value in values)  # type: ignore[union-attr]  # as tested
        return cls.of_ratios(ratios)

    @classmethod
    def of_ratios(cls, ratios: Iterable[tuple[int, int] | None]) -> Column:
        """Return the column of some ratios of whole numbers, each with a positive denominator."""
        result = list(ratios)
        denominator = 1
        for divisor in {ratio[1] for ratio in result if ratio is not None}:
            denominator = lcm(denominator, divisor)
            if denominator > _WIDEST:
                return cls(tuple(None if ratio is None else Fraction(*ratio) for ratio in result))
        return cls(
            tuple(None if r is None else r[0] * (denominator // r[1]) for r in result), denominator
        )

    @classmethod
    def over(cls, numerators: Iterable[Numerator | None], denominator: int) -> Column:
        """Return numbers, whole or not, over a denominator, which is reduced where it is long."""
        numbers: tuple[Any, ...] = tuple(numerators)
        if not _WHOLE.issuperset(map(type, numbers)):
            unit = Fraction(1, denominator)
            return cls.of(None if n is None else n * unit for n in numbers)
        shared = 1
        if denominator > _WIDEST:
            shared = gcd(denominator, *(n for n in numbers if n is not None))
        if shared == 1:
            return cls(numbers, denominator)
        reduced = (None if n is None else n // shared for n in numbers)
        return cls(tuple(reduced), denominator // shared)

    @classmethod
    def constant(cls, places: Iterable[int], value: Fraction, length: int) -> Column:
        """Return a column with one value at some places."""
        numerators: list[Numerator | None] = [None] * length
        for place in places:
            numerators[place] = value.numerator
        return cls(tuple(numerators), value.denominator)

    @classmethod
    def of_nano(cls, nano: Mapping[str, int], keys: Iterable[str]) -> Column:
        """Return whole numbers of nano by key, at the places of some keys."""
        return cls(tuple(map(nano.get, keys)), NANO)

    @classmethod
    def added(cls, columns: Sequence[Column]) -> Column:
        """Return the sum of some columns: none counts as 0, and is left where all have none."""
        unit = lcm(*(column.denominator for column in columns))
        scaled = (
            [None if n is None else n * (unit // column.denominator) for n in column.numerators]
            for column in columns
        )
        return cls.over(map(_added, zip(*scaled, strict=True)), unit)

    def __len__(self) -> int:
        return len(self.numerators)

    @property
    def is_whole(self) -> bool:
        """True where the numerators are whole numbers, or there is none."""
        return isinstance(next((n for n in self.numerators if n is not None), 0), int)

    @property
    def numbers(self) -> Iterator[tuple[int, Numerator]]:
        """Each place that has a value, with its numerator."""
        return ((place, n) for place, n in enumerate(self.numerators) if n is not None)

    @property
    def present(self) -> list[int]:
        """The places that have a value."""
        return [place for place, _ in self.numbers]

    @property
    def positive(self) -> list[int]:
        """The places whose value is above 0."""
        return self.reaching(0)

    def reaching(self, above: Bound | None, at_least: Bound | None = None) -> list[int]:
        """Return the places whose value is above one bound, and at least another."""
        numerators: tuple[Any, ...] = self.numerators
        places = self.present
        for bound, exceeds, rounded in ((above, gt, floor), (at_least, ge, ceil)):
            if bound is not None:
                edge: Bound = Fraction(bound) * self.denominator
                # whole numbers are compared with whole numbers: n > x is n > ⌊x⌋, n ≥ x is n ≥ ⌈x⌉
                edge = rounded(edge) if self.is_whole else edge
                places = [place for place in places if exceeds(numerators[place], edge)]
        return places

    @property
    def negative(self) -> list[int]:
        """The places whose value is below 0."""
        return [place for place, number in self.numbers if number < 0]

    @property
    def cells(self) -> Iterator[Exact | None]:
        """The value at each place."""
        return map(self.exact, range(len(self)))

    def exact(self, place: int) -> Exact | None:
        """Return the value at a place."""
        number = self.numerators[place]
        return Fraction(number, self.denominator) if isinstance(number, int) else number

    def at(self, place: int) -> Exact:
        """Return the value at a place that has one."""
        value = self.exact(place)
        assert value is not None  # noqa: S101  # of a place with a value
        return value

    @property
    def total(self) -> Exact:
        """The sum of the values."""
        numbers = [number for _, number in self.numbers]
        whole = [number for number in numbers if isinstance(number, int)]
        if len(whole) == len(numbers):
            return Fraction(sum(whole), self.denominator)
        return real.total(map(self.at, self.present))

    @property
    def nano(self) -> tuple[int | None, ...]:
        """The values in nano, rounded half-even, once each."""
        return tuple(None if n is None else self._nano(n) for n in self.numerators)

    def nano_by(self, keys: Iterable[str]) -> dict[str, int]:
        """Return the values in nano by the keys of the places, of those that have one."""
        pairs = zip(keys, self.nano, strict=True)
        return {key: nano for key, nano in pairs if nano is not None}

    @property
    def published(self) -> Column:
        """The values rounded half-even to nine places, once each."""
        return self if self.denominator == NANO else Column(self.nano, NANO)

    def times(self, factor: Exact) -> Column:
        """Return the values times a number."""
        if self.is_whole and isinstance(factor, Fraction):
            scaled = (None if n is None else n * factor.numerator for n in self.numerators)
            return Column.over(scaled, self.denominator * factor.denominator)
        return self.changed(lambda value: value * factor)

    def changed(self, change: Callable[[Exact], Exact]) -> Column:
        """Return the values, each changed."""
        return Column.of(None if value is None else change(value) for value in self.cells)

    def kept(self, places: Iterable[int], others: Literal["drop", "zero"] = "drop") -> Column:
        """Return the values at some places; the others are dropped, or become 0."""
        wanted, is_zeroed = {*places}, others == "zero"
        # a number times 0 is a 0 of its kind
        numerators = (
            n if n is None or place in wanted else (n * 0 if is_zeroed else None)
            for place, n in enumerate(self.numerators)
        )
        return Column(tuple(numerators), self.denominator)

    def ascending(self) -> list[list[int]]:
        """Return the places with a value from the lowest to the highest, equal ones together."""
        key: Any = self.numerators.__getitem__ if self.is_whole else cmp_to_key(self._order())
        return [[*equal] for _, equal in groupby(sorted(self.present, key=key), key=key)]

    def _order(self) -> Callable[[int, int], int]:
        """Return the order of two places by value; only where enclosures touch by exact values."""
        enclosed = {place: real.enclosed(self.at(place), _BITS) for place in self.present}

        def order(first: int, second: int) -> int:
            (low, high), (other_low, other_high) = enclosed[first], enclosed[second]
            if high < other_low or other_high < low:
                return -1 if high < other_low else 1
            return real.compare(self.at(first), self.at(second))

        return order

    def _nano(self, number: Numerator) -> int:
        if isinstance(number, int):
            return round_half_even(number * NANO, self.denominator)
        return real.publish(number)


Grouped = Mapping[str, Column]
"""A column for each group, in name order."""
Values = Column | Grouped | Exact
"""The result of a step: an exact number is one of a column, such as its median."""


def columns_in(values: Values) -> tuple[Column, ...]:
    """Return the columns of a result: one, one for each group, or none of a number."""
    if isinstance(values, Mapping):
        return tuple(values.values())
    return (values,) if isinstance(values, Column) else ()


def _added(row: Iterable[Numerator | None]) -> Numerator | None:
    present = [number for number in row if number is not None]
    return sum(present[1:], start=present[0]) if present else None
