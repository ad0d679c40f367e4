"""The reference: its trace and its refusals; `agreement` compares its values with all others."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tallystick.errors import FormulaError
from tallystick.formula.evaluate import evaluate
from tallystick.formula.facts import integer
from tallystick.formula.tree import Node, cases, label, param

A, B = integer("a"), integer("b")


def test_a_trace_holds_the_labels_that_were_read_in_order_of_completion() -> None:
    node = label(
        "outer",
        cases((label("asked", A == 1), label("unread", B)), otherwise=label("inner", A + 1) / 2),
    )
    trace: dict[str, Fraction] = {}
    evaluate(node, {A.digest: 2, B.digest: 9}, {}, trace)
    assert list(trace.items()) == [("asked", 0), ("inner", 3), ("outer", Fraction(3, 2))]


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ((1 / (A - A) == 0) & (A == 1), "division by zero in a formula: put the zero in"),
        (param("k") + 1, "expected a tree whose parameters are bound"),
    ],
)
def test_what_loading_rules_out_is_refused(node: Node, message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        evaluate(node, {A.digest: 0}, {})
