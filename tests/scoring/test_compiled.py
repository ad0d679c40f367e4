"""What is proved of a tree is proved once, and only for the question that was asked."""

from collections.abc import Callable
from fractions import Fraction

import pytest

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.facts import integer
from tallystick.formula.tree import Node, const, label, published
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact
from tallystick.scoring.compiled import Compiled, compile_tree
from tallystick.scoring.value import Value

A, B = integer("submission.a"), integer("submission.b")
WIDE, POSITIVE = Domain(0, 10), Domain(1, 10)


def asked(
    tree: Node, a: Domain = WIDE, b: Domain = POSITIVE, *requirements: Node
) -> Callable[[], Compiled]:
    return lambda: compile_tree(tree, {A.digest: a, B.digest: b}, {}, requirements)


def test_the_same_question_is_proved_once() -> None:
    first, second = asked(A / B)(), asked(A / B)()
    assert second is first
    # a range that nobody reads is no part of the question
    assert asked(A / 7, WIDE, WIDE)() is asked(A / 7, WIDE, POSITIVE)()


@pytest.mark.parametrize(
    ("safe", "unsafe"),
    [
        (asked(1 / B), asked(1 / B, WIDE, WIDE)),
        (asked(1 / B, WIDE, WIDE, B > 0), asked(1 / B, WIDE, WIDE)),
        (asked(1 / B, WIDE, WIDE, B > A), asked(1 / B, Domain(-1, 10), WIDE, B > A)),
    ],
    ids=["ranges", "requirements", "ranges of requirements"],
)
def test_another_question_is_another_proof(
    safe: Callable[[], Compiled], unsafe: Callable[[], Compiled]
) -> None:
    for _ in range(2):
        assert safe().nano({A.digest: 0, B.digest: 4}, {}) == 250_000_000
        with pytest.raises(FormulaError, match="division by"):
            unsafe()


def test_units_of_published_values_are_part_of_the_question() -> None:
    tree = published("x") * 3
    fine, coarse = (compile_tree(tree, {}, {"x": Domain(0, 10, unit)}) for unit in (1, 5))
    assert (fine.nano({}, {"x": 7}), coarse.nano({}, {"x": 10})) == (21, 30)


def test_labels_stay_those_of_their_own_tree() -> None:
    read = Value.of("x", "axis", const(Fraction(1, 2)), {})
    values = [
        Value.of("y", "axis", label(name, published("x") + 1) / 2, {"x": read})
        for name in ("first", "second")
    ]
    assert values[0].compiled is values[1].compiled
    for value, name in zip(values, ("first", "second"), strict=True):
        trace: dict[str, Exact] = {}
        assert value.exact({}, {read: NANO // 2}, trace) == Fraction(3, 4)
        assert trace == {name: Fraction(3, 2)}
