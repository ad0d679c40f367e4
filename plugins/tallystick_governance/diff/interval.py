"""Intervals of exact numbers, and how far two weighted geometric means can be apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction

import attrs

_DIGITS = 40
_OUTWARD = Fraction(1, 10**20)
"""Margin added to each power: exceeds the rounding error of 40-digit Decimal."""


@attrs.frozen
class Interval:
    """The numbers from ``low`` to ``high``."""

    low: Fraction
    high: Fraction

    @classmethod
    def of(cls, low: Fraction | int, high: Fraction | int) -> Interval:
        """Return the interval between two numbers."""
        return cls(Fraction(low), Fraction(high))

    @property
    def is_zero(self) -> bool:
        """True if the interval is 0 alone."""
        return not self.low and not self.high

    def __iter__(self) -> Iterator[Fraction]:
        yield from (self.low, self.high)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, factor: Fraction) -> Interval:
        return Interval(*sorted((self.low * factor, self.high * factor)))

    @property
    def inverse(self) -> Interval:
        """The reciprocals of its numbers, which are above 0."""
        return Interval(1 / self.high, 1 / self.low)

    def times(self, other: Interval) -> Interval:
        """Return the products; no number of either is below 0."""
        return Interval(self.low * other.low, self.high * other.high)

    def power(self, exponent: int) -> Interval:
        """Return the powers of its numbers, none of which is below 0."""
        return Interval(self.low**exponent, self.high**exponent)

    def within(self, other: Interval) -> Interval:
        """Return the intersection; the intervals are known to meet."""
        return Interval(max(self.low, other.low), min(self.high, other.high))

    def around(self, other: Interval) -> Interval:
        """Return the smallest interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))


def hull(intervals: Iterable[Interval | None]) -> Interval | None:
    """Return the smallest interval that holds all of some; None with one that is not known."""
    union: Interval | None = None
    for interval in intervals:
        if interval is None:
            return None
        union = interval if union is None else union.around(interval)
    return union


ZERO = Interval.of(0, 0)
ONE = Interval.of(1, 1)


def reweighted(old: Mapping[str, Fraction], new: Mapping[str, Fraction]) -> Interval:
    """Bound the move of a geometric mean of values in [0, 1] whose weights change.

    With r the least and R the largest ratio of a new weight to its old one, the new mean lies
    between G^R and G^r for the old mean G; and u^r − u is largest at u = r^(1/(1−r)).
    """
    names = [name for name in {**old, **new} if old.get(name, 0) != new.get(name, 0)]
    if not names:
        return ZERO
    if any(not old.get(name) for name in names):
        low = Fraction(-1)
    else:
        most = max(new.get(name, Fraction(0)) / weight for name, weight in old.items() if weight)
        low = -_gap(1 / most) if most > 1 else Fraction(0)
    least = min(new.get(name, Fraction(0)) / weight for name, weight in old.items() if weight)
    return Interval(low, _gap(least) if least < 1 else Fraction(0))


def moved(weights: Mapping[str, Fraction], moves: Mapping[str, Interval]) -> Interval:
    """Bound the move of a geometric mean of values in [0, 1] by those of its values.

    A power w ≤ 1 of a value moves by at most the power w of what the value moves by.
    """
    up = sum((_power(moves[n].high, w) for n, w in weights.items()), Fraction(0))
    down = sum((_power(-moves[n].low, w) for n, w in weights.items()), Fraction(0))
    return Interval(-min(down, Fraction(1)), min(up, Fraction(1)))


def _gap(ratio: Fraction) -> Fraction:
    """Return the largest u^r − u for u in [0, 1] and r in [0, 1], or a little more."""
    if not ratio:
        return Fraction(1)
    at = _power(ratio, 1 / (1 - ratio))
    return min(Fraction(1), _power(at, ratio) - at + 3 * _OUTWARD)


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    """Return a power of a number in [0, 1], or a little more; 0 for a number below 0."""
    if base <= 0 or not exponent:
        return Fraction(0)
    if base >= 1:
        return Fraction(1)
    with localcontext() as context:
        context.prec = _DIGITS
        raised = _decimal(base) ** _decimal(exponent)
    return min(Fraction(1), Fraction(raised) + _OUTWARD)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
