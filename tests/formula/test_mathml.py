"""The form of a tree as MathML: well-formed, and the same expression as its text."""

import random
import re
from collections.abc import Callable
from xml.etree import ElementTree as ET

import attrs
import pytest
from formula.random_trees import Case, guarded_case, irrational_case, signed_case

from tallystick.formula.facts import choice, count, integer, number, overlap
from tallystick.formula.mathml import equations, expression
from tallystick.formula.text import lines, render
from tallystick.formula.tree import (
    Node,
    cases,
    const,
    floor,
    label,
    log,
    param,
    places,
    power,
    published,
    rank,
)
from tallystick.plugins.registry import installed

X, Y = number("x"), integer("y")
PICK = choice("p", "a", "b")
_BRACKETS = str.maketrans("", "", "()\N{NO-BREAK SPACE} \n")
_ROOTS = {
    "2": "√",
    **{str(n): "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(d)] for d in str(n)) + "√" for n in range(3, 101)},
}


def read(element: ET.Element) -> str:
    """The expression of an element in one line, as `text` writes it, with brackets everywhere."""
    parts = [read(part) for part in element]
    match element.tag:
        case "mfrac":
            return f"({parts[0]})/({parts[1]})"
        case "msup" if (element[0].tag, parts[0]) == ("mi", "e"):
            return f"exp({parts[1]})"
        case "msup":
            return f"{parts[0]}^{parts[1]}"
        case "msqrt":
            return f"√{''.join(parts)}"
        case "mroot":
            return f"{_ROOTS[parts[1]]}{parts[0]}"
        case "mtable":
            return f"{'; '.join(parts)} }}"
        case "mtr":
            return " ".join(parts)
        case "mo" if element.text in ("|", "⌊", "⌋"):
            return element.text or ""
    return (element.text or "") + "".join(parts)


def plain(text: str) -> str:
    """A text without brackets and spaces: MathML has others where a fraction or a root says it."""
    return text.translate(_BRACKETS)


def same(node: Node) -> None:
    element = ET.fromstring(expression(node))  # noqa: S314  # our own
    assert element.tag == "math"
    assert plain(read(element)) == plain(render(raised(node)))
    assert element.get("alttext") == render(node)


def raised(node: Node) -> Node:
    """The tree with a product of one factor as a power of it, as mathematicians write it."""
    arguments = tuple(map(raised, node.args))
    factors, first = [node], node
    while first.op == "mul":
        first = first.args[0]
        factors.append(first)
    bases = {node.args[1].digest, first.digest} if node.op == "mul" else set()
    inner = node
    while inner.op == "mul":
        bases.add(inner.args[1].digest)
        inner = inner.args[0]
    if node.op == "mul" and len(bases) == 1:
        return Node("power", (raised(first), const(len(factors))))
    return attrs.evolve(node, args=arguments)


@pytest.mark.parametrize(
    "node",
    [
        (X + 1) ** 2 * Y,
        X**3 / 2,
        cases((X < 1, Y), ((X == 2) & ~(Y <= X), X / 2), otherwise=0),
        1 + cases((X < 1, Y), otherwise=X),
        power(X + 1, param("beta")),
        log(X + 1),
        floor(X / 2),
        places(X / 3, 2),
        rank(PICK) + 1,
        cases((PICK == "b", 1), otherwise=0),
        cases((PICK != "a", 1), otherwise=0),
        overlap("a", "b") / count("c"),
        published("quality") * param("weight"),
        label("named", X / Y) + 1,
    ],
    ids=render,
)
def test_an_expression_is_that_of_its_text(node: Node) -> None:
    same(node)


def test_shipped_formulas_are_those_of_their_texts() -> None:
    for formula in installed().formulas.values():
        name = formula.symbol or formula.name
        written = [ET.fromstring(line) for line in equations(name, formula.tree)]  # noqa: S314
        starts = [line for line in lines(name, formula.tree) if not line.startswith(" ")]
        assert [read(line).partition("=")[0] for line in written] == [
            line.partition(" =")[0] for line in starts
        ], formula.name


@pytest.mark.parametrize("make", [guarded_case, irrational_case, signed_case])
def test_every_tree_is_well_formed_and_the_expression_of_its_text(
    make: Callable[[random.Random], Case],
) -> None:
    rng = random.Random(7)
    for _ in range(60):
        same(make(rng).tree)


def test_a_name_is_never_markup() -> None:
    node = published('<script>"&\u202e') * param("</math>")
    text = expression(node)
    element = ET.fromstring(text)  # noqa: S314  # our own
    assert "<script" not in text
    assert "\u202e" not in text
    assert re.sub(r"\s", "", "".join(element.itertext())) == '<script>"&\ufffd·</math>'
