"""The refusals of the reference; `agreement` compares its values with all others."""

from __future__ import annotations

import pytest

from tallystick.errors import FormulaError
from tallystick.formula.evaluate import evaluate
from tallystick.formula.facts import integer
from tallystick.formula.tree import Node, param

A = integer("a")


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
