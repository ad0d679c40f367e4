"""Exact real numbers: rational ones, and what roots, powers, exp and log make of them.

An exact number is a `Fraction` or a `Real`; what is seen to be rational is a fraction. A real is an
expression that knows two things of itself: enclosures of its value by whole numbers, as narrow as
is asked for, and, where it has one, a normal form in which zero is decided (`surd`). A sign, a
comparison and a rounding take enclosures of 64 bits behind the point, then of 128, and so on up to
`MOST_BITS`; after 128 the form is asked whether both sides are equal. What is not decided then is
refused, never guessed.

*Rounding.* A number y is not rounded before its enclosure holds at most one number k + 1/2, and
then the sign of y − k − 1/2 says to which side it goes; it is a tie only if that is 0.

A real is never changed. It remembers its enclosures, and like terms of a sum are one: so the
difference of two expressions that are written alike is 0 without a look at their values.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from math import ceil, prod
from typing import Literal, TypeAlias

from tallystick.errors import NumberError, UndecidedError
from tallystick.numbers import nano, surd
from tallystick.numbers.functions import (
    Enclosure,
    enclose_exp,
    enclose_log,
    enclose_power,
    whole_root,
)
from tallystick.numbers.weights import Weights

MOST_BITS = 8192
"""Maximum bits behind the point that are tried before a question is refused as undecided."""
_FIRST_BITS = 64
_FORM_BITS = 128
"""Bits from which on the normal form is asked, which proves a value to be 0."""
_DEEPEST_BITS = 4 * MOST_BITS
"""A part of an expression is computed to no more bits, whatever the whole asks for."""
_MOST_TO_EXP = 40

_GUARD = 16
"""Bits that are lost at most where parts with errors come together."""
_UNDECIDED = (
    f"found two values that {MOST_BITS} bits do not tell apart, expected some that they do: if "
    "they are equal, write the formula so that they are not compared, or put that case before"
)

_LONG = 10**1000
"""Numbers from here on are not written out."""

Sign: TypeAlias = Literal[-1, 0, 1]


class Real:
    """A real number that is not known to be rational; made by the functions of this module."""

    __hash__ = None  # type: ignore[assignment]  # == is about values, which take work to compare

    def __init__(self, *parts: object) -> None:
        """An expression of some parts, which are its identity."""
        self._name = (type(self).__name__, *map(_name_of, parts))
        self._known: tuple[int, Enclosure] = (-1, (0, 0))

    @cached_property
    def identity(self) -> str:
        """Expressions that are written alike have the same, and the same value."""
        return sha256(repr(self._name).encode()).hexdigest()

    def enclosure(self, bits: int) -> Enclosure:
        """Whole numbers (low, high) with low ≤ x · 2ᵇⁱᵗˢ ≤ high, less than 2¹² apart."""
        if bits > _DEEPEST_BITS:
            raise UndecidedError(_UNDECIDED)
        if self._known[0] < bits:
            rounded = -(-bits // _FIRST_BITS) * _FIRST_BITS
            self._known = rounded, self._enclose(rounded)
        bits_known, (low, high) = self._known
        return low >> bits_known - bits, -(-high >> bits_known - bits)

    @cached_property
    def sign(self) -> Sign:
        """The sign, where the most bits or the form tell."""
        if (known_sign := self._known_sign()) is not None:
            return known_sign
        for bits, (low, high) in _enclosures(self):
            if low > 0 or high < 0:
                return 1 if low > 0 else -1
            if bits == _FORM_BITS and self._is_zero_by_form:
                return 0
        raise UndecidedError(_UNDECIDED)

    @cached_property
    def form(self) -> surd.Form | None:
        """The normal form; None where there is none."""
        try:
            return self._normal()
        except surd.NoFormError:
            return None

    @property
    def _is_zero_by_form(self) -> bool:
        try:
            return self.form is not None and surd.is_zero(self.form)
        except surd.NoFormError:
            return False

    @abstractmethod
    def _enclose(self, bits: int) -> Enclosure:
        """Return an enclosure, from those of the parts."""

    @abstractmethod
    def _normal(self) -> surd.Form:
        """Return the form, from those of the parts; raises NoFormError where there is none."""

    def _known_sign(self) -> Sign | None:
        """Return the sign where the expression shows it."""
        return None

    def __repr__(self) -> str:
        return f"<real {decimal(self)}>"

    def __bool__(self) -> bool:
        return sign(self) != 0

    def __add__(self, other: Exact | int) -> Exact:
        return _combined([(_PLUS, self), (_PLUS, _exact(other))])

    __radd__ = __add__

    def __neg__(self) -> Exact:
        return _combined([(_MINUS, self)])

    def __sub__(self, other: Exact | int) -> Exact:
        return _combined([(_PLUS, self), (_MINUS, _exact(other))])

    def __rsub__(self, other: Exact | int) -> Exact:
        return _combined([(_PLUS, _exact(other)), (_MINUS, self)])

    def __mul__(self, other: Exact | int) -> Exact:
        return _product(self, _exact(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Exact | int) -> Exact:
        return _quotient(self, _exact(other))

    def __rtruediv__(self, other: Exact | int) -> Exact:
        return _quotient(_exact(other), self)

    def __abs__(self) -> Exact:
        return -self if sign(self) < 0 else self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fraction | Real | int):
            return NotImplemented
        return compare(self, _exact(other)) == 0

    def __lt__(self, other: Exact | int) -> bool:
        return compare(self, _exact(other)) < 0

    def __le__(self, other: Exact | int) -> bool:
        return compare(self, _exact(other)) <= 0

    def __gt__(self, other: Exact | int) -> bool:
        return compare(self, _exact(other)) > 0

    def __ge__(self, other: Exact | int) -> bool:
        return compare(self, _exact(other)) >= 0


Exact: TypeAlias = Fraction | Real
"""An exact number."""

_PLUS, _MINUS = Fraction(1), Fraction(-1)


def power(x: Exact, exponent: Fraction) -> Exact:
    """The power of a number of at least 0; 0 to a power above 0 is 0, another one of 0 is refused.

    Raises:
        NumberError: x is below 0, or 0 where the exponent is not above 0.
    """
    base_sign = sign(x)
    if base_sign < 0 or (not base_sign and exponent <= 0):
        raise NumberError(f"found {decimal(x)} to the power {exponent}, expected a number above 0")
    if not base_sign:
        return Fraction()
    if exponent == 0:
        return _PLUS
    if isinstance(x, Real):
        return x if exponent == 1 else _Power(x, exponent)
    raised = x**exponent.numerator
    roots = [whole_root(number, exponent.denominator) for number in raised.as_integer_ratio()]
    whole = Fraction(*roots)
    return whole if whole**exponent.denominator == raised else _Power(x, exponent)


def geometric_mean(values: Sequence[Exact], weights: Weights) -> Exact:
    """Return the weighted geometric mean of numbers of at least 0; weights as many as values.

    Raises:
        NumberError: a number is below 0.
    """
    whole = Fraction(1, weights.denominator)
    fractions = [value for value in values if isinstance(value, Fraction)]
    if len(fractions) == len(values):
        powers = (v**a for v, a in zip(fractions, weights.numerators, strict=True))
        return power(prod(powers, start=_PLUS), whole)
    pairs = zip(values, weights.numerators, strict=True)
    return prod((power(value, a * whole) for value, a in pairs), start=_PLUS)


def exp(x: Exact) -> Exact:
    """Return the exponential of a number of at most 40.

    Raises:
        NumberError: x is larger.
    """
    # a bound of the work, which need not be sharp
    if enclosed(x, _FIRST_BITS)[0] > _MOST_TO_EXP << _FIRST_BITS:
        raise NumberError(f"found e to the power {decimal(x)}, expected at most {_MOST_TO_EXP}")
    return _Exp(x) if isinstance(x, Real) or x else _PLUS


def log(x: Exact) -> Exact:
    """Return the natural logarithm of a number above 0.

    Raises:
        NumberError: x is 0 or less.
    """
    if sign(x) <= 0:
        raise NumberError(f"found the logarithm of {decimal(x)}, expected a number above 0")
    return Fraction() if isinstance(x, Fraction) and x == 1 else _Log(x)


def total(terms: Iterable[Exact]) -> Exact:
    """Return the sum of some numbers."""
    return _combined((_PLUS, term) for term in terms)


def sign(x: Exact) -> Sign:
    """−1, 0 or 1.

    Raises:
        UndecidedError: the most bits do not tell it from 0.
    """
    if isinstance(x, Fraction):
        return _sign_of(x.numerator)
    return x.sign


def compare(x: Exact, y: Exact) -> Sign:
    """Return the sign of x − y.

    Raises:
        UndecidedError: the most bits do not tell them apart.
    """
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return (x > y) - (x < y)  # type: ignore[return-value]  # of truths
    return sign(_combined([(_PLUS, x), (_MINUS, y)]))


def floor(x: Exact) -> int:
    """Return the largest whole number that is at most x.

    Raises:
        UndecidedError: the most bits do not tell x from a whole number.
    """
    if isinstance(x, Fraction):
        return x.numerator // x.denominator
    return _last_at_most(x, 1, Fraction())[0]


def places(x: Exact, n: int) -> Fraction:
    """Return the number rounded to n places after the point, half-even.

    Raises:
        UndecidedError: the most bits do not tell x from the middle between two such numbers.
    """
    return Fraction(_nearest(x, 10**n), 10**n)


def publish(x: Exact) -> int:
    """Return the nano of an exact number, rounded half-even once.

    Raises:
        UndecidedError: the most bits do not tell x from the middle between two nano.
    """
    return nano.publish(x) if isinstance(x, Fraction) else _nearest(x, nano.NANO)


def decimal(x: Exact, n: int = 25) -> str:
    """Return the first places of a number, rounded; what goes on behind them ends in ``…``.

    A number of so few places is shown without zeros at its end, and one of very many digits by the
    first ones and how many follow: ``123…e5000``. Where it is undecided how the last place is
    rounded, it is cut.
    """
    try:
        scaled = _nearest(x, 10**n)
    except UndecidedError:
        scaled = enclosed(x, MOST_BITS)[0] * 10**n >> MOST_BITS
    whole, rest = divmod(abs(scaled), 10**n)
    minus = "-" if scaled < 0 else ""
    if whole >= _LONG:
        left_out = whole.bit_length() * 30102 // 100_000 - n  # log₁₀ 2 is 0.30103
        return f"{minus}{whole // 10**left_out}…e{left_out}"
    text = f"{minus}{whole}.{rest:0{n}d}"
    if isinstance(x, Fraction) and x * 10**n == scaled:
        return text.rstrip("0").rstrip(".")
    return f"{text}…"


def enclosed(x: Exact, bits: int) -> Enclosure:
    """Return whole numbers (low, high) with low ≤ x · 2ᵇⁱᵗˢ ≤ high; see `Real.enclosure`."""
    if isinstance(x, Real):
        return x.enclosure(bits)
    low = (x.numerator << bits) // x.denominator
    return low, low + 1


def _nearest(x: Exact, scale: int) -> int:
    if isinstance(x, Fraction):
        return nano.round_half_even(x.numerator * scale, x.denominator)
    above, is_tie = _last_at_most(x, scale, Fraction(1, 2))
    return above - (is_tie and above & 1)


def _last_at_most(x: Real, scale: int, offset: Fraction) -> tuple[int, bool]:
    """Return the largest whole k of at most x · scale + offset, and whether it is equal to that."""
    for bits, (low, high) in _enclosures(x):
        # x is above low − 1, so that it is no whole number where both ends have the same
        below, most = (
            (end * scale * offset.denominator + (offset.numerator << bits))
            // (offset.denominator << bits)
            for end in (low - 1, high)
        )
        if below == most:
            return most, False
        if below + 1 == most and bits >= _FORM_BITS:
            side = compare(x, (most - offset) / scale)
            return most - (side < 0), not side
    raise UndecidedError(_UNDECIDED)


def _enclosures(x: Real) -> Iterator[tuple[int, Enclosure]]:
    bits = _FIRST_BITS
    while bits <= MOST_BITS:
        yield bits, x.enclosure(bits)
        bits *= 2


def _exact(value: Exact | int) -> Exact:
    return Fraction(value) if isinstance(value, int) else value


def _name_of(part: object) -> object:
    return part.identity if isinstance(part, Real) else part


def _sign_of(number: int) -> Sign:
    return 1 if number > 0 else -1 if number < 0 else 0


def _combined(terms: Iterable[tuple[Fraction, Exact]]) -> Exact:
    """Σ factor · number, like terms together."""
    constant, parts = Fraction(), dict[str, tuple[Fraction, Real]]()
    for factor, number in terms:
        if isinstance(number, Fraction):
            constant += factor * number
            continue
        several = number.parts if isinstance(number, _Sum) else ((_PLUS, number),)
        constant += factor * number.constant if isinstance(number, _Sum) else 0
        for times, real in several:
            before = parts.get(real.identity, (Fraction(), real))[0]
            parts[real.identity] = before + factor * times, real
    summands = tuple(parts[name] for name in sorted(parts) if parts[name][0])
    if not summands:
        return constant
    return (
        summands[0][1]
        if not constant and summands[0][0] == 1 and len(summands) == 1
        else _Sum(constant, summands)
    )


def _product(x: Real, y: Exact) -> Exact:
    if isinstance(y, Fraction):
        return _combined([(y, x)])
    return _Product(*sorted((x, y), key=lambda each: each.identity))


def _quotient(x: Exact, y: Exact) -> Exact:
    if not sign(y):
        raise ZeroDivisionError("division of an exact number by zero")
    if isinstance(y, Fraction):
        return _combined([(1 / y, x)])
    if isinstance(x, Fraction) and not x:
        return x
    return _PLUS if isinstance(x, Real) and x.identity == y.identity else _Quotient(x, y)


def _above(x: Exact) -> int:
    """Return a whole number k of at least 0 with |x| < 2ᵏ."""
    if isinstance(x, Fraction):
        return max(x.numerator.bit_length() - x.denominator.bit_length() + 1, 0)
    return max(max(map(abs, x.enclosure(_FIRST_BITS))).bit_length() - _FIRST_BITS, 0)


def _below(x: Exact) -> int:
    """Return a whole number k of at least 0 with |x| ≥ 2⁻ᵏ; x is not 0."""
    if isinstance(x, Fraction):
        return max(x.denominator.bit_length() - x.numerator.bit_length() + 1, 0)
    for bits, (low, high) in _enclosures(x):
        if low > 0 or high < 0:
            return max(bits + 1 - min(abs(low), abs(high)).bit_length(), 0)
    raise UndecidedError(_UNDECIDED)


def _form_of(x: Exact) -> surd.Form:
    if isinstance(x, Fraction):
        return surd.form_of(x)
    if x.form is None:
        raise surd.NoFormError
    return x.form


class _Sum(Real):
    """A fraction and Σ factor · real; the reals are no sums."""

    def __init__(self, constant: Fraction, parts: tuple[tuple[Fraction, Real], ...]) -> None:
        super().__init__(constant, *(part for pair in parts for part in pair))
        self.constant, self.parts = constant, parts

    def _enclose(self, bits: int) -> Enclosure:
        factors = sum(abs(factor) for factor, _ in self.parts)
        spare = (ceil(factors) + len(self.parts)).bit_length() + 2
        low, high = enclosed(self.constant, bits + spare)
        for factor, real in self.parts:
            ends = real.enclosure(bits + spare)
            first, last = ends if factor > 0 else reversed(ends)
            low += factor.numerator * first // factor.denominator
            high -= -factor.numerator * last // factor.denominator
        return low >> spare, -(-high >> spare)

    def _normal(self) -> surd.Form:
        form = surd.form_of(self.constant)
        for factor, real in self.parts:
            form = surd.add(form, _form_of(real), factor)
        return form


class _Pair(Real):
    """Two numbers, whose signs give that of the whole."""

    def __init__(self, x: Exact, y: Real) -> None:
        super().__init__(x, y)
        self.x, self.y = x, y

    def _known_sign(self) -> Sign | None:
        return _sign_of(sign(self.x) * sign(self.y))


class _Product(_Pair):
    """x · y."""

    def _enclose(self, bits: int) -> Enclosure:
        of_x, of_y = bits + _above(self.y) + _GUARD, bits + _above(self.x) + _GUARD
        ends = [a * b for a in enclosed(self.x, of_x) for b in self.y.enclosure(of_y)]
        shift = of_x + of_y - bits
        return min(ends) >> shift, -(-max(ends) >> shift)

    def _normal(self) -> surd.Form:
        return surd.multiply(_form_of(self.x), _form_of(self.y))


class _Quotient(_Pair):
    """x / y; y is not 0."""

    def _enclose(self, bits: int) -> Enclosure:
        small = _below(self.y)
        of_x = bits + small + _GUARD
        of_y = bits + _above(self.x) + 2 * small + _GUARD
        shift = bits + of_y - of_x
        divisors, dividends = self.y.enclosure(of_y), enclosed(self.x, of_x)
        pairs = [(dividend << shift, divisor) for dividend in dividends for divisor in divisors]
        return min(n // d for n, d in pairs), -min(-n // d for n, d in pairs)

    def _normal(self) -> surd.Form:
        return surd.divide(_form_of(self.x), _form_of(self.y))


class _Power(Real):
    """x to a power p/q; x is above 0."""

    def __init__(self, x: Exact, exponent: Fraction) -> None:
        super().__init__(x, exponent)
        self.x, self.exponent = x, exponent

    def _enclose(self, bits: int) -> Enclosure:
        if isinstance(self.x, Fraction):
            return self._power(*self.x.as_integer_ratio(), bits)
        # how many times more the power changes than x does
        steep = ceil(abs(self.exponent)).bit_length()
        if self.exponent > 1:
            steep += ceil(self.exponent - 1) * _above(self.x)
        else:
            steep += ceil(1 - self.exponent) * _below(self.x)
        finer = bits + max(steep, _below(self.x)) + _GUARD
        ends = [self._power(end, 1 << finer, bits) for end in self.x.enclosure(finer)]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def _power(self, numerator: int, denominator: int, bits: int) -> Enclosure:
        if self.exponent < 0:
            numerator, denominator = denominator, numerator
        times, degree = abs(self.exponent.numerator), self.exponent.denominator
        return enclose_power(numerator, denominator, times, degree, bits)

    def _normal(self) -> surd.Form:
        return surd.power(_form_of(self.x), self.exponent)

    def _known_sign(self) -> Sign | None:
        return 1


class _Exp(Real):
    """e to the power x, which is at most 40."""

    def __init__(self, x: Exact) -> None:
        super().__init__(x)
        self.x = x

    def _enclose(self, bits: int) -> Enclosure:
        if isinstance(self.x, Fraction):
            return enclose_exp(*self.x.as_integer_ratio(), bits)
        finer = bits + 2 * _MOST_TO_EXP + _GUARD
        low, high = self.x.enclosure(finer)
        return enclose_exp(low, 1 << finer, bits)[0], enclose_exp(high, 1 << finer, bits)[1]

    def _normal(self) -> surd.Form:
        return surd.exp(_form_of(self.x))

    def _known_sign(self) -> Sign | None:
        return 1


class _Log(Real):
    """The natural logarithm of x, which is above 0."""

    def __init__(self, x: Exact) -> None:
        super().__init__(x)
        self.x = x

    def _enclose(self, bits: int) -> Enclosure:
        if isinstance(self.x, Fraction):
            return enclose_log(*self.x.as_integer_ratio(), bits)
        finer = bits + _below(self.x) + _GUARD
        low, high = self.x.enclosure(finer)
        return enclose_log(low, 1 << finer, bits)[0], enclose_log(high, 1 << finer, bits)[1]

    def _normal(self) -> surd.Form:
        return surd.log(_form_of(self.x))

    def _known_sign(self) -> Sign | None:
        return _sign_of(compare(self.x, _PLUS))
