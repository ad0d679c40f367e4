"""A normal form of exact reals, in which zero is decided: no precision shows that two are equal.

A form is a quotient of two sums of terms c · Π bᵉ · eʳ and c · ln b, with rational c, e and r and
whole b > 1. Zero is decided in two steps. The whole numbers of all terms are written over a *base*:
numbers without common divisor, none of them a power of which a root occurs. Then Π bᵉ is rational
only if every e is whole, so that terms are rational multiples
of each other exactly where the parts of their exponents behind the point, and their r, are alike.
Like terms are added, and the sum is zero if nothing is left:

- radicals that are not rational multiples of each other are independent over the rational numbers
  (Besicovitch 1940, Mordell 1953);
- powers of e with different exponents are independent over the algebraic numbers (Lindemann and
  Weierstrass), and so is a sum of logarithms of algebraic numbers of 1, unless it is 0 (Baker);
- a sum of logarithms is 0 where Π bᶜ is 1, hence where each number of the base has the exponent 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import floor, gcd, lcm

import attrs

from tallystick.numbers.functions import whole_root

Powers = tuple[tuple[int, Fraction], ...]
"""Whole numbers with their exponents, ascending; `EULER` stands for e.

The logarithm of b stands alone, as −b to the power 1.
"""
Sum = Mapping[Powers, Fraction]
"""The factor of each product, and of each logarithm of a whole number."""

EULER = 0
_ONE: Powers = ()
_MOST_TERMS = 1024
_MOST_BITS = 1 << 14
"""Maximum bits of a whole number in a normal form."""


class NoFormError(Exception):
    """A value without a normal form, or with too large a one; the caller goes on without it."""


@attrs.frozen(eq=False)
class Form:
    """A quotient of sums; the denominator is not zero."""

    numerator: Sum
    denominator: Sum


_UNIT: Sum = {_ONE: Fraction(1)}


def form_of(value: Fraction) -> Form:
    """Return the form of a rational number."""
    return Form(_sum({_ONE: value}), _UNIT)


def log(value: Form) -> Form:
    """Return the logarithm of a form that is positive and one product: a sum of logarithms."""
    factor, logs = Fraction(1), dict[int, Fraction]()
    for part, sign in ((value.numerator, 1), (value.denominator, -1)):
        powers, times = _one_product(part)
        factor *= times**sign
        for number, exponent in powers:
            logs[number] = logs.get(number, Fraction()) + sign * exponent
    for number, sign in ((factor.numerator, 1), (factor.denominator, -1)):
        logs[_narrow(number)] = logs.get(number, Fraction()) + sign
    terms = {_ONE: logs.pop(EULER, Fraction())}
    terms |= {_log(number): factor for number, factor in logs.items() if number != 1}
    return Form(_sum(terms), _UNIT)


def exp(value: Form) -> Form:
    """Return the exponential of a sum of a rational number and logarithms: one product."""
    if value.denominator.keys() != {_ONE}:
        raise NoFormError
    exponents = {EULER: Fraction()}
    for powers, factor in value.numerator.items():
        if powers != _ONE and not _is_log(powers):
            raise NoFormError
        exponents[-powers[0][0] if powers else EULER] = factor / value.denominator[_ONE]
    return Form(_sum(dict([_term(Fraction(1), exponents)])), _UNIT)


def add(first: Form, second: Form, times: Fraction = Fraction(1)) -> Form:
    """``first + times · second``."""
    factor = _sum({_ONE: times})
    if first.denominator == second.denominator:
        total = _added(first.numerator, _multiplied(second.numerator, factor))
        return Form(total, first.denominator)
    one = _multiplied(first.numerator, second.denominator)
    other = _multiplied(_multiplied(second.numerator, first.denominator), factor)
    return Form(_added(one, other), _multiplied(first.denominator, second.denominator))


def multiply(first: Form, second: Form) -> Form:
    """Return the product."""
    return Form(
        _multiplied(first.numerator, second.numerator),
        _multiplied(first.denominator, second.denominator),
    )


def divide(first: Form, second: Form) -> Form:
    """Return the quotient by a form that is not zero."""
    return multiply(first, Form(second.denominator, second.numerator))


def power(value: Form, exponent: Fraction) -> Form:
    """Return the power of a form that is positive and one product, such as 2 · √3."""
    return Form(_raised(value.numerator, exponent), _raised(value.denominator, exponent))


def is_zero(value: Form) -> bool:
    """Return whether a sum in normal form is zero."""
    logs = {-p[0][0]: factor for p, factor in value.numerator.items() if _is_log(p)}
    terms = {p: factor for p, factor in value.numerator.items() if not _is_log(p)}
    roots = lcm(*(exponent.denominator for powers in terms for _, exponent in powers))
    base = _base({*(number for powers in terms for number, _ in powers), *logs}, roots)
    left = _total(_reduced(base, powers, factor) for powers, factor in terms.items())
    prime_logs = _total(
        (_log(factor_base), times * factor)
        for number, factor in logs.items()
        for factor_base, times in _over(base, number)
    )
    if prime_logs and any(number == EULER for powers in left for number, _ in powers):
        raise NoFormError  # whether a logarithm and a power of e are independent is not known
    return not prime_logs and not left


def _log(number: int) -> Powers:
    return ((-number, Fraction(1)),)


def _is_log(powers: Powers) -> bool:
    return bool(powers) and powers[0][0] < 0


def _sum(terms: Sum) -> Sum:
    if len(terms) > _MOST_TERMS or any(_is_wide(factor) for factor in terms.values()):
        raise NoFormError
    return {powers: factor for powers, factor in terms.items() if factor}


def _is_wide(value: Fraction) -> bool:
    return max(value.numerator.bit_length(), value.denominator.bit_length()) > 2 * _MOST_BITS


def _narrow(number: int) -> int:
    if number.bit_length() > _MOST_BITS:
        raise NoFormError
    return number


def _term(factor: Fraction, exponents: Mapping[int, Fraction]) -> tuple[Powers, Fraction]:
    """Return one product and its factor, into which goes what is whole of the exponents."""
    if (number := min(exponents, default=EULER)) < 0:
        if exponents != {number: 1}:
            raise NoFormError  # a product with a logarithm
        return _log(-number), factor
    fractional = {EULER: r} if (r := exponents.get(EULER)) else {}
    for number, exponent in exponents.items():
        if number in {EULER, 1}:
            continue
        whole = floor(exponent)
        if abs(whole) * _narrow(number).bit_length() > _MOST_BITS:
            raise NoFormError
        factor *= Fraction(number) ** whole
        if exponent != whole:
            fractional[number] = exponent - whole
    return tuple(sorted(fractional.items())), factor


def _added(first: Sum, second: Sum) -> Sum:
    return _sum(_total((*first.items(), *second.items())))


def _multiplied(first: Sum, second: Sum) -> Sum:
    for one, other in ((first, second), (second, first)):
        if one == _UNIT:
            return other
    if len(first) * len(second) > _MOST_TERMS:
        raise NoFormError
    pairs = product(first.items(), second.items())
    terms = (_term(c * d, _exponents(one, other)) for (one, c), (other, d) in pairs)
    return _sum(_total(terms))


def _exponents(one: Powers, other: Powers) -> dict[int, Fraction]:
    exponents = dict(one)
    for number, exponent in other:
        exponents[number] = exponents.get(number, Fraction()) + exponent
    return exponents


def _one_product(value: Sum) -> tuple[Powers, Fraction]:
    """Return the only term of a sum, which is positive and no logarithm."""
    if len(value) != 1:
        raise NoFormError
    ((powers, factor),) = value.items()
    if factor < 0 or _is_log(powers):
        raise NoFormError
    return powers, factor


def _raised(value: Sum, exponent: Fraction) -> Sum:
    powers, factor = _one_product(value)
    raised = {number: power * exponent for number, power in powers}
    for number, sign in ((factor.numerator, 1), (factor.denominator, -1)):
        raised[number] = raised.get(number, Fraction()) + sign * exponent
    return _sum(dict([_term(Fraction(1), raised)]))


def _base(numbers: Iterable[int], roots: int) -> list[int]:
    """Whole numbers without common divisor of which all numbers are products of powers.

    None is a power of whose degree a root occurs: the degrees of roots divide ``roots``.
    """
    base: list[int] = []
    pending = sorted(n for n in numbers if n > 1)
    while pending:
        number = pending.pop()
        index, shared = next(
            ((i, g) for i, element in enumerate(base) if (g := gcd(element, number)) > 1), (0, 1)
        )
        if shared > 1:
            other = base.pop(index)
            pending += [n for n in (shared, number // shared, other // shared) if n > 1]
        else:
            base.append(number)
    degrees: list[int] = []
    for degree in range(2, max((number.bit_length() for number in base), default=0) + 1):
        if roots % degree == 0 and all(degree % prime for prime in degrees):
            degrees.append(degree)
    return [_not_a_power(number, degrees) for number in base]


def _not_a_power(number: int, degrees: Sequence[int]) -> int:
    """Return the number of which it is the highest power, as far as the degrees go."""
    for degree in degrees:
        while (root := whole_root(number, degree)) ** degree == number:
            number = root
    return number


def _over(base: list[int], number: int) -> Powers:
    """Return a whole number as powers of the base."""
    factors = []
    for prime in base:
        times = 0
        while number % prime == 0:
            number, times = number // prime, times + 1
        if times:
            factors.append((prime, Fraction(times)))
    return tuple(factors)


def _reduced(base: list[int], powers: Powers, factor: Fraction) -> tuple[Powers, Fraction]:
    """Return a product over the base, and its factor."""
    exponents: dict[int, Fraction] = {}
    for number, exponent in powers:
        over = ((EULER, Fraction(1)),) if number == EULER else _over(base, number)
        for prime, times in over:
            exponents[prime] = exponents.get(prime, Fraction()) + times * exponent
    return _term(factor, exponents)


def _total(terms: Iterable[tuple[Powers, Fraction]]) -> dict[Powers, Fraction]:
    """Return the sum of products, like ones together."""
    factors: dict[Powers, Fraction] = {}
    for powers, factor in terms:
        factors[powers] = factors.get(powers, Fraction()) + factor
    return {powers: factor for powers, factor in factors.items() if factor}
