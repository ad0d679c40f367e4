"""Bounds on how far two weighted geometric means can be apart."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, localcontext
from fractions import Fraction

from tallystick_governance.ranges import ZERO, Interval

_DIGITS = 40
_OUTWARD = Fraction(1, 10**20)
"""Margin added to each power: exceeds the rounding error of 40-digit Decimal."""


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
