"""Polynomials with integer coefficients over numbered atoms.

A polynomial is a mapping from a monomial (a sorted tuple of atom numbers) to its coefficient, none
of them zero; the empty mapping is 0, the empty monomial the constant term. Values are never
changed in place.

A condition compares polynomials with zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd
from typing import Literal

import attrs

from tallystick.errors import FormulaError

Monomial = tuple[int, ...]
Polynomial = Mapping[Monomial, int]

ONE: Polynomial = {(): 1}
ZERO: Polynomial = {}
MAX_TERMS = 512
"""The longest polynomial: longer ones would make a formula too slow to prove."""

Relation = Literal["<", "<=", "==", "!="]


def constant(value: int) -> Polynomial:
    """Return a whole number."""
    return {(): value} if value else ZERO


def atom(index: int, coefficient: int = 1) -> Polynomial:
    """Return one atom, times a coefficient that is not zero."""
    return {(index,): coefficient}


def add(first: Polynomial, second: Polynomial, times: int = 1) -> Polynomial:
    """``first + times · second``."""
    total = dict(first)
    for monomial, coefficient in second.items():
        total[monomial] = total.get(monomial, 0) + times * coefficient
    return _capped({m: c for m, c in total.items() if c})


def multiply(first: Polynomial, second: Polynomial) -> Polynomial:
    """Return the product."""
    product: dict[Monomial, int] = {}
    for m, c in first.items():
        for n, d in second.items():
            key = tuple(sorted(m + n))
            product[key] = product.get(key, 0) + c * d
    return _capped({m: c for m, c in product.items() if c})


def scale(polynomial: Polynomial, times: int) -> Polynomial:
    """Return the polynomial times a whole number."""
    return {m: c * times for m, c in polynomial.items()} if times else ZERO


def divide(polynomial: Polynomial, divisor: int) -> Polynomial:
    """Return the polynomial over a whole number that divides every coefficient."""
    return {m: c // divisor for m, c in polynomial.items()}


def content(polynomial: Polynomial) -> int:
    """Return the greatest common divisor of the coefficients; 0 for the zero polynomial."""
    return gcd(*polynomial.values()) if polynomial else 0


def common(polynomial: Polynomial) -> Monomial:
    """Return the largest monomial that divides every term."""
    monomials = list(polynomial)
    shared: list[int] = []
    for index in set(monomials[0]) if monomials else ():
        shared += [index] * min(m.count(index) for m in monomials)
    return tuple(sorted(shared))


def strip(polynomial: Polynomial, monomial: Iterable[int]) -> Polynomial:
    """Return the polynomial divided by a monomial that divides every term."""
    stripped = {}
    for m, c in polynomial.items():
        rest = list(m)
        for index in monomial:
            rest.remove(index)
        stripped[tuple(rest)] = c
    return stripped


def primitive(polynomial: Polynomial) -> tuple[tuple[tuple[Monomial, int], ...], int, int]:
    """``(key, factor, constant)`` with polynomial = factor · key + constant.

    The key has coefficients without common divisor, the first of them positive, so that two
    conditions on the same linear form share it. It is empty for a constant.
    """
    varying = {m: c for m, c in polynomial.items() if m}
    rest = polynomial.get((), 0)
    if not varying:
        return (), 0, rest
    factor = content(varying) * (1 if varying[min(varying)] > 0 else -1)
    return tuple(sorted((m, c // factor) for m, c in varying.items())), factor, rest


def is_constant(polynomial: Polynomial) -> bool:
    """Return whether no atom occurs."""
    return all(not m for m in polynomial)


@attrs.frozen
class Compare:
    """``polynomial relation 0``."""

    polynomial: Polynomial
    relation: Relation


@attrs.frozen
class Connective:
    """Conditions that hold together, or of which one is enough; read from left to right.

    Attributes:
        parts: the conditions.
        every: whether all of them must hold.
    """

    parts: tuple[Condition, ...]
    every: bool


Condition = Compare | Connective

TRUE = Connective((), every=True)

_OPPOSITES: dict[Relation, Relation] = {"<": "<=", "<=": "<", "==": "!=", "!=": "=="}


def compare(polynomial: Polynomial, relation: Relation) -> Compare:
    """Return a comparison with zero, without the common divisor of the coefficients."""
    return Compare(divide(polynomial, content(polynomial) or 1), relation)


def opposite(condition: Condition) -> Condition:
    """Return the condition that holds wherever another one does not."""
    if isinstance(condition, Connective):
        return Connective(tuple(map(opposite, condition.parts)), not condition.every)
    is_order = condition.relation in {"<", "<="}
    polynomial = scale(condition.polynomial, -1) if is_order else condition.polynomial
    return Compare(polynomial, _OPPOSITES[condition.relation])


def _capped(polynomial: dict[Monomial, int]) -> Polynomial:
    if len(polynomial) > MAX_TERMS:
        raise FormulaError(
            f"found a formula that expands to more than {MAX_TERMS} terms: "
            "publish a part of it as an axis of its own"
        )
    return polynomial
