"""Properties: what the author of a skill type promises of its scores, for others to prove.

A property is data over the same facts as the formulas, so that a solver can look for a record that
breaks it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.tree import Node, Operand, as_condition, const, value_of

Claim = Literal["at_least", "at_most", "below", "not_less_than_instead"]


@attrs.frozen(eq=False)
class Direction:
    """The direction in which a fact is better: a better one must never lower a score.

    Attributes:
        fact: the fact, a number or a truth.
        better: whether more of it is better, or less.
        where: which records it is about; None is all of them.
    """

    fact: Node
    better: Literal["more", "less"]
    where: Node | None = None


@attrs.frozen(eq=False)
class Property:
    """A promise about a published value of every record that meets a condition.

    Attributes:
        name: ``namespace/name``.
        summary: one sentence for people.
        value: the name of an axis or a measure, or ``quality``; rule sets in which it is missing,
            or can be null, are not asked.
        where: which records it is about.
        claim: ``at_least``, ``at_most`` and ``below`` compare the value with ``bound``;
            ``not_less_than_instead`` compares it with that of another answer.
        bound: what the value is compared with.
        instead: the condition that the other answer meets.
        changes: the facts that the other answer may change.
    """

    name: str
    summary: str
    value: str
    where: Node
    claim: Claim
    bound: Fraction | None = None
    instead: Node | None = None
    changes: tuple[Node, ...] = ()


def more_is_better(fact: Node, *, where: Node | None = None) -> Direction:
    """Promise that more of a fact never lowers a score, where the condition holds throughout."""
    return Direction(_fact(fact), "more", None if where is None else as_condition(where))


def less_is_better(fact: Node, *, where: Node | None = None) -> Direction:
    """Promise that less of a fact never lowers a score, where the condition holds throughout."""
    return Direction(_fact(fact), "less", None if where is None else as_condition(where))


def never_below(name: str, summary: str, value: str, bound: Operand, *, where: Node) -> Property:
    """Promise that the value is at least ``bound`` where the condition holds."""
    return _bounded(name, summary, value, where, "at_least", bound)


def never_above(name: str, summary: str, value: str, bound: Operand, *, where: Node) -> Property:
    """Promise that the value is at most ``bound`` where the condition holds."""
    return _bounded(name, summary, value, where, "at_most", bound)


def always_below(name: str, summary: str, value: str, bound: Operand, *, where: Node) -> Property:
    """Promise that the value is below ``bound`` where the condition holds."""
    return _bounded(name, summary, value, where, "below", bound)


def never_beaten_by(  # noqa: PLR0913  # the two answers, and what they have in common
    name: str, summary: str, value: str, *, where: Node, instead: Node, changes: tuple[Node, ...]
) -> Property:
    """Promise that an answer where ``where`` holds earns no less than one where ``instead`` holds.

    Args:
        name: ``namespace/name``.
        summary: one sentence for people.
        value: the name of an axis, or ``quality``.
        where: which answers are honest.
        instead: which other answers must not earn more.
        changes: the facts in which the two answers may differ; all others are the same.
    """
    condition = as_condition(instead)
    facts = tuple(map(_fact, changes))
    claim: Claim = "not_less_than_instead"
    return Property(name, summary, value, as_condition(where), claim, None, condition, facts)


def _bounded(  # noqa: PLR0913, PLR0917  # the parts of a property
    name: str, summary: str, value: str, where: Node, claim: Claim, bound: Operand
) -> Property:
    return Property(name, summary, value, as_condition(where), claim, value_of(const(bound)))


def _fact(node: Node) -> Node:
    if node.unlabelled.op != "fact":
        raise FormulaError(f"found {node!r}, expected a fact")
    return node.unlabelled
