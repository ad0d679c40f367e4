"""Conditions of a lowered formula: comparisons of integer polynomials with zero."""

from __future__ import annotations

from typing import Literal

import attrs

from tallystick.formula.polynomial import Polynomial, content, divide

Relation = Literal["<", "<=", "="]


@attrs.frozen
class Always:
    """True or false whatever the record."""

    holds: bool


@attrs.frozen
class Compare:
    """``polynomial relation 0``."""

    polynomial: Polynomial
    relation: Relation


@attrs.frozen
class Opposite:
    """The opposite of a condition."""

    of: Condition


@attrs.frozen
class Both:
    """The conjunction of two conditions; the second is evaluated only where the first holds."""

    first: Condition
    second: Condition


@attrs.frozen
class Either:
    """The disjunction of two conditions; the second is evaluated only where the first fails."""

    first: Condition
    second: Condition


Condition = Always | Compare | Opposite | Both | Either

TRUE = Always(True)


def compare(polynomial: Polynomial, relation: Relation) -> Compare:
    """Return a comparison with zero, without the common divisor of the coefficients."""
    return Compare(divide(polynomial, content(polynomial) or 1), relation)


def parts(condition: Condition) -> tuple[Condition, ...]:
    """Return the conditions that a condition is made of."""
    match condition:
        case Opposite(inner):
            return (inner,)
        case Both(first, second) | Either(first, second):
            return (first, second)
        case _:
            return ()
