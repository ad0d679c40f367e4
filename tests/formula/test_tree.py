from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from tallystick.errors import FormulaError
from tallystick.formula.evaluate import evaluate
from tallystick.formula.facts import choice, count, flag, integer, number
from tallystick.formula.tree import (
    MAX_DEPTH,
    MAX_NODES,
    MAX_POWER,
    Data,
    Node,
    absolute,
    bind,
    cases,
    clip,
    const,
    label,
    leaves,
    maximum,
    minimum,
    names,
    param,
    published,
    rank,
    summed,
    value_of,
    walk,
)

A, B, FLAG = integer("a"), integer("b"), flag("f")
PICK, OTHER = choice("p", "x", "y", "z"), choice("q", "x", "y", "z")
SHORT = choice("s", "x", "y")
NO_POWERS: list[Any] = [0, -1, MAX_POWER + 1, 0.5, 2.0, True, Fraction(2), A]


def value(node: Node, **facts: int) -> Fraction:
    by_name = {"a": A, "b": B, "f": FLAG, "p": PICK, "q": OTHER}
    return evaluate(node, {by_name[name].digest: n for name, n in facts.items()}, {})


MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: bool(A == B), r"use &, \|, ~ and cases\(\)"),
    (lambda: 0 < A < 1, "no truth value"),
    (lambda: A in [B, B], "no truth value"),
    (lambda: min(A, B), "no truth value"),
    (lambda: {A: 1}, "unhashable"),
    (lambda: float(A), "not a float"),
    (lambda: sum(A), "cannot be iterated"),
    (lambda: A // 2, "unsupported operand"),
    (lambda: A % 2, "unsupported operand"),
    *((lambda n=n: A**n, f"whole number from 1 to {MAX_POWER}") for n in NO_POWERS),
    *((lambda t=t: const(Decimal(t)), "found") for t in ("NaN", "Infinity", "-Infinity", "sNaN")),
    (lambda: FLAG & A, "expected a condition: compare two values"),
    (lambda: A | FLAG, "expected a condition: compare two values"),
    (lambda: ~A, "expected a condition: compare two values"),
    (lambda: cases((A, 1), otherwise=0), "expected a condition: compare two values"),
    (lambda: cases((True, 1), otherwise=0), "expected a condition"),
    (lambda: PICK == "w", "found the option 'w', expected one of"),
    (lambda: PICK == SHORT, "expected one of the options"),
    (lambda: PICK == 1, "expected one of the options"),
    (lambda: PICK == A, "expected one of the options"),
    (lambda: A == PICK, "expected one of the options"),
    (lambda: PICK + 1, "a choice is not a number: compare it, or use rank"),
    (lambda: PICK < OTHER, "a choice is not a number"),
    (lambda: cases((FLAG, PICK), otherwise=0), "a choice is not a number"),
    (lambda: rank(A), "takes a choice"),
    (lambda: rank(FLAG), "takes a choice"),
    (lambda: A == "x", "found a number compared with the text 'x'"),
    (lambda: bind(param("k") + param("m"), {"n": Fraction(1)}), "the parameters k, m"),
]


@pytest.mark.parametrize(("use", "message"), MISTAKES)
def test_a_mistake_is_refused_while_the_formula_is_written(
    use: Callable[[], Any], message: str
) -> None:
    with pytest.raises((FormulaError, TypeError), match=message):
        use()


@pytest.mark.parametrize("found", [0.5, float("nan"), True, False, None, "1", b"1", 1j, [1]])
@pytest.mark.parametrize(
    "use",
    [
        const,
        lambda x: A + x,
        lambda x: x - A,
        lambda x: A / x,
        lambda x: x > A,
        lambda x: x == A,
        lambda x: maximum(A, x),
        lambda x: cases((FLAG, x), otherwise=0),
        lambda x: cases((FLAG, 0), otherwise=x),
        lambda x: label("l", x),
    ],
)
def test_only_exact_numbers_enter_a_formula(use: Callable[[Any], Node], found: object) -> None:
    with pytest.raises(FormulaError, match="found"):
        use(found)


@pytest.mark.parametrize(
    "exact", [3, -3, Fraction(2, 3), Decimal("0.1"), Decimal("-1e-30"), 10**40]
)
def test_an_exact_number_is_kept_exactly(exact: int | Fraction | Decimal) -> None:
    assert value_of(const(exact)) == Fraction(exact)


@pytest.mark.parametrize(
    ("node", "wanted"),
    [
        (A + 1, 8),
        (1 + A, 8),
        (A - 1, 6),
        (1 - A, -6),
        (A * B, -21),
        (2 * A, 14),
        (A / B, Fraction(-7, 3)),
        (1 / A, Fraction(1, 7)),
        (-A, -7),
        (A**1, 7),
        (A**3, 343),
        (B**MAX_POWER, 3**MAX_POWER),
        (A < 8, 1),
        (A < 7, 0),
        (A <= 7, 1),
        (A > 7, 0),
        (A >= 7, 1),
        (A >= 8, 0),
        (A == 7, 1),
        (A != 7, 0),
        (minimum(A, B), -3),
        (maximum(A, B), 7),
        (absolute(B), 3),
        (clip(A), 1),
        (clip(B), 0),
        (clip(A, 2, 9), 7),
        (clip(B, 2, 9), 2),
        (summed([A, B, 1, Fraction(1, 2)]), Fraction(11, 2)),
        (summed([]), 0),
        (FLAG * A, 7),
        (2 * ~FLAG, 0),
        ((A < B) | FLAG, 1),
        ((A < B) & FLAG, 0),
        (cases(otherwise=A), 7),
        (A - (B - 1), 11),
        (A / (B / 2), Fraction(-14, 3)),
    ],
)
def test_operators_mean_what_they_say(node: Node, wanted: Fraction) -> None:
    assert value(node, a=7, b=-3, f=1) == wanted


def test_a_formula_has_at_most_so_many_nodes() -> None:
    node = A
    while 2 * node.nodes + 1 <= MAX_NODES:
        node = node + node  # shared subtrees count as often as they are used
    assert node.nodes == MAX_NODES - 1
    assert label("all", node).nodes == MAX_NODES
    with pytest.raises(FormulaError, match=f"at most {MAX_NODES} and {MAX_DEPTH}: split it"):
        node + node


def test_a_formula_has_at_most_such_a_depth() -> None:
    node = A
    while node.depth < MAX_DEPTH:
        node = node + 1
    assert value(node, a=1) == MAX_DEPTH
    with pytest.raises(FormulaError, match=f"depth {MAX_DEPTH + 1}"):
        node + 1


def test_a_choice_is_compared_with_its_options() -> None:
    assert [value(PICK == "y", p=n) for n in range(3)] == [0, 1, 0]
    assert [value(PICK != "y", p=n) for n in range(3)] == [1, 0, 1]
    assert [value(PICK == OTHER, p=1, q=n) for n in range(3)] == [0, 1, 0]
    assert [value(rank(PICK) + 0, p=n) for n in range(3)] == [0, 1, 2]


def merkle(node: Node) -> str:
    """The digest as the documentation says it: of operator, data and the arguments' digests."""
    if node.op == "label":
        return merkle(node.args[0])
    form = [node.op, _as_json(node.data), [merkle(argument) for argument in node.args]]
    text = json.dumps(form, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _as_json(data: Data) -> list[object]:
    """A whole number that a double cannot hold is text."""
    return [
        _as_json(d)
        if isinstance(d, tuple)
        else str(d)
        if isinstance(d, int) and abs(d) >= 2**53
        else d
        for d in data
    ]


TREES = [
    number("x", missing=2**23),
    integer("x", missing=-(2**53)),
    integer("x", missing=2**53 - 1),
    const(0),
    const(Fraction(-2, 3)),
    param("é"),
    published("success"),
    cases((PICK == "y", A / B), ((A < 1) & ~FLAG, clip(number("e"))), otherwise=1),
    summed([number("x", missing=Fraction(1, 2)), count("l[k=v].t"), rank(PICK)]) ** 3,
]


@pytest.mark.parametrize("node", TREES)
def test_a_digest_can_be_computed_by_anyone(node: Node) -> None:
    assert node.digest == merkle(node)


def test_labels_are_no_part_of_the_meaning() -> None:
    plain = cases((A < B, A / B), otherwise=rank(PICK))
    named = label(
        "all", cases((label("c", A < B), label("r", A / B)), otherwise=label("k", rank(PICK)))
    )
    assert named.digest == plain.digest
    assert label("other", plain).digest == plain.digest
    assert (label("verdict", PICK) == "y").digest == (PICK == "y").digest


def test_trees_of_another_meaning_have_other_digests() -> None:
    different = [
        A + B,
        B + A,
        A - B,
        A * B,
        A < B,
        A <= B,
        minimum(A, B),
        A + 1,
        A + 2,
        A + param("b"),
        A + published("b"),
        A + number("b"),
        A + integer("b", missing=0),
        A + integer("b", missing=1),
        cases((A < B, 1), otherwise=0),
        cases((A < B, 0), otherwise=1),
    ]
    assert len({node.digest for node in different}) == len(different)


def test_equal_numbers_are_one_constant() -> None:
    halves = [const(Fraction(2, 4)), const(Decimal("0.50")), const(Fraction("0.5"))]
    assert len({half.digest for half in halves}) == 1


def test_a_walk_meets_each_identity_once_and_labels_by_name() -> None:
    tree = label("one", A + 1) * label("two", A + 1) + published("p") * published("p")
    assert [leaf.data[0] for leaf in leaves(tree, "label")] == ["one", "two"]
    assert [node.op for node in walk(tree)].count("fact") == 1
    assert names(tree, "published") == ("p",)


def test_binding_replaces_every_parameter() -> None:
    tree = label("l", param("k") * A) + param("k") ** 2 + param("m")
    bound = bind(tree, {"k": Fraction(1, 2), "m": Fraction(3), "unused": Fraction(9)})
    assert names(bound, "param") == ()
    assert value(bound, a=10) == 5 + Fraction(1, 4) + 3
    assert bound.digest == (Fraction(1, 2) * A + const(Fraction(1, 2)) ** 2 + 3).digest
    assert names(tree, "param") == ("k", "m")
