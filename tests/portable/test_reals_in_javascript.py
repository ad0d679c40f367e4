"""Roots, powers, exp, log and roundings in JavaScript have the nano of the engine."""

from __future__ import annotations

from fractions import Fraction

import pytest
from formula.random_trees import Row, irrational_case, many
from portable.javascript import Json, node

from tallystick.errors import FormulaError, UndecidedError
from tallystick.formula.evaluate import evaluate
from tallystick.formula.facts import reader_of
from tallystick.formula.tree import (
    Node,
    const,
    exp,
    floor,
    leaves,
    log,
    minimum,
    places,
    power,
    published,
    root,
)
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import publish

pytestmark = pytest.mark.nightly

X = published("x")
TWO, THREE = const(2), const(3)
TIE = Fraction(1, 2 * NANO)

EXACT: dict[str, Node] = {
    "a tie of a product of roots": root(TWO, 2) * root(THREE, 2) * root(const(6), 2) * TIE / 2,
    "a tie of a quotient": (root(const(8), 2) / root(TWO, 2) + 1) * TIE,
    "a tie by logarithms": log(const(1024)) / log(TWO) * 3 * TIE / 2,
    "a tie by exp and log": exp(log(THREE)) * TIE,
    "e² · e⁻²": exp(TWO) * exp(-TWO) * TIE * 5,
    "a square of a sum": ((1 + root(TWO, 2)) * (1 + root(TWO, 2)) - 2 * root(TWO, 2)) * TIE,
    "a whole logarithm": floor(log(const(81)) / log(THREE)),
    "a perfect power": power(const(Fraction(4, 9)), Fraction(3, 2)),
    "0 to a power": power(0 * X, Fraction(1, 3)),
    "a tie of places": places(root(const(Fraction(1, 40000)), 2), 2),
    "x / x": (root(X, 3) + exp(X)) / (exp(X) + root(X, 3)) * TIE,
    "nothing left": root(const(50), 2) - 5 * root(TWO, 2) + log(const(6)) - log(TWO) - log(THREE),
    "a small power of e": exp(const(-(10**6))),
    "√e": power(exp(X), Fraction(1, 2)) / exp(X / 2) * TIE,
    "the smaller of equals": minimum(root(const(12), 2), 2 * root(THREE, 2)),
    "undecided": floor(root(3 + 2 * root(TWO, 2), 2) - root(TWO, 2)),
}


def told(tree: Node, row: Row) -> Json:
    """A row as a record, whose facts are at the top."""
    facts, read = row
    record = {}
    for fact in leaves(tree, "fact"):
        value = facts[fact.digest]
        record[str(fact.data[1])] = value / NANO if reader_of(fact).name == "number" else value
    return {"record": record, "published": {name: str(nano) for name, nano in read.items()}}


def nano(tree: Node, row: Row) -> str:
    try:
        return str(publish(evaluate(tree, *row)))
    except UndecidedError:
        return "undecided"


def agree(asked: list[tuple[Node, list[Row]]]) -> list[list[str]]:
    found = node(
        "trees.js",
        [{"tree": tree.form, "rows": [told(tree, row) for row in rows]} for tree, rows in asked],
    )
    for (tree, rows), answers in zip(asked, found, strict=True):
        assert answers == [nano(tree, row) for row in rows], tree.form
    return found


def test_it_decides_what_the_engine_decides() -> None:
    row: Row = ({}, {"x": 3 * NANO // 4})
    found = agree([(tree, [row]) for tree in EXACT.values()])
    assert found[-1] == ["undecided"]
    assert [answer for answers in found for answer in answers].count("undecided") == 1


@pytest.mark.parametrize("number", [60, 1_000])
def test_random_trees_have_the_same_nano(number: int) -> None:
    cases = many(irrational_case, 3, number, rows=4)
    found = agree([(case.tree, rows) for case, rows in cases if decidable(case.tree, rows)])
    assert len(found) >= number // 2


def decidable(tree: Node, rows: list[Row]) -> bool:
    """Whether all rows are in the domains of all operators: no proof was asked."""
    try:
        return all(nano(tree, row) for row in rows)
    except FormulaError:
        return False
