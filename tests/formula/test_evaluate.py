from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from tallystick.errors import FormulaError
from tallystick.formula.evaluate import evaluate
from tallystick.formula.facts import flag, integer, number
from tallystick.formula.tree import Node, cases, label, param, published

A, B, FLAG, DECIMAL = integer("a"), integer("b"), flag("f"), number("x")
BOOM = label("boom", 1 / (A - A))
"""Divides by zero wherever it is read."""


def value(node: Node, a: int = 0, b: int = 0, f: int = 0) -> Fraction:
    return evaluate(node, {A.digest: a, B.digest: b, FLAG.digest: f}, {})


LAZY: dict[str, Callable[[], Node]] = {
    "later arms": lambda: cases((A == 0, 5), (BOOM == 0, 6), otherwise=BOOM),
    "values of arms that do not match": lambda: cases((A == 1, BOOM), otherwise=5),
    "and, once false": lambda: cases(((A == 1) & (BOOM == 0), 6), otherwise=5),
    "or, once true": lambda: cases(((A == 0) | (BOOM == 0), 5), otherwise=6),
    "a chain of and": lambda: cases(((A == 0) & (A == 1) & (BOOM == 0), 6), otherwise=5),
}


@pytest.mark.parametrize("name", LAZY)
def test_what_is_not_needed_is_not_read(name: str) -> None:
    assert value(LAZY[name]()) == 5


def test_what_is_needed_is_read_from_left_to_right() -> None:
    for node in (
        (BOOM == 0) & (A == 1),
        (BOOM == 0) | (A == 0),
        cases((BOOM == 0, 1), otherwise=0),
    ):
        with pytest.raises(FormulaError, match="division by zero in a formula: put the zero in"):
            value(node)


def test_the_first_match_wins() -> None:
    node = cases((A >= 3, 3), (A >= 2, 2), (A >= 1, 1), otherwise=0)
    assert [value(node, a=n) for n in range(5)] == [0, 1, 2, 3, 3]


def test_facts_and_published_values_are_read_in_their_scale() -> None:
    facts = {DECIMAL.digest: 250_000_000, A.digest: 3}
    assert evaluate(DECIMAL * A, facts, {}) == Fraction(3, 4)
    assert evaluate(published("q") + A, facts, {"q": 1}) == 3 + Fraction(1, 10**9)


def test_nothing_is_rounded_on_the_way() -> None:
    third = A / B
    assert value(third * B, a=1, b=3) == 1
    assert value(third - Fraction(333_333_333, 10**9), a=1, b=3) == Fraction(1, 3 * 10**9)


def test_a_trace_holds_the_labels_that_were_read_in_order_of_completion() -> None:
    node = label(
        "outer",
        cases((label("asked", A == 1), label("unread", B)), otherwise=label("inner", A + 1) / 2),
    )
    trace: dict[str, Fraction] = {}
    evaluate(node, {A.digest: 2, B.digest: 9}, {}, trace)
    assert list(trace.items()) == [("asked", 0), ("inner", 3), ("outer", Fraction(3, 2))]


def test_a_parameter_without_value_is_refused() -> None:
    with pytest.raises(FormulaError, match="expected a tree whose parameters are bound"):
        value(param("k") + 1)
