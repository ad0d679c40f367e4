"""Conditions of a lowered formula: comparisons of integer polynomials with zero."""

from __future__ import annotations

from typing import Literal

import attrs

from tallystick.formula.polynomial import Polynomial, content, divide, scale

Relation = Literal["<", "<=", "==", "!="]


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
