"""Columns of an allocation: an exact value, or none, for each place of a roster.

A column whose values have one small denominator holds whole numbers over it; any other holds exact
values one by one. Which of the two a column is never shows: it is a matter of speed alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from tallystick.numbers.real import Exact

_WIDEST = 1 << 128
"""A common denominator above it is not worth its length."""


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
        """The value at a place."""
        numerator = self.numerators[place]
        return None if numerator is None else Fraction(numerator, self.denominator)

    @property
    def cells(self) -> Iterator[Exact | None]:
        """The value at each place."""
        return map(self.exact, range(len(self)))

    @property
    def present(self) -> tuple[int, ...]:
        """The places that have a value."""
        return tuple(i for i, value in enumerate(self.numerators) if value is not None)


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
        """The value at a place."""
        return self.values[place]

    @property
    def cells(self) -> Iterator[Exact | None]:
        """The value at each place."""
        return iter(self.values)

    @property
    def present(self) -> tuple[int, ...]:
        """The places that have a value."""
        return tuple(i for i, value in enumerate(self.values) if value is not None)


@attrs.frozen
class Number:
    """One number of a column, such as its median; None where there is none."""

    value: Exact | None


Column = RationalColumn | RealColumn
Grouped = Mapping[str, Column]
"""A column for each group, in name order."""
Values = Column | Grouped | Number
"""What a step gives."""
