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
from tallystick.plugins.registry import installed
from tallystick.scoring.compiled import Compiled, compile_tree
from tallystick.scoring.value import Value
from tallystick_governance.backtest.candidates import candidates_of, parse_sweep

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


def test_where_a_fact_stands_is_no_part_of_the_proof() -> None:
    there = compile_tree(A - B, {A.digest: WIDE, B.digest: WIDE}, {})
    here = compile_tree(A - B, {B.digest: WIDE, A.digest: WIDE}, {})
    assert here is there
    assert there.nano({A.digest: 9, B.digest: 2}, {}) == 7 * 10**9


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


def test_candidates_of_a_sweep_share_what_they_have_in_common() -> None:
    sweep = parse_sweep("axes.detection.review=0.3:0.5:0.1")
    first, second = candidates_of(["skills@1.0.0"], [sweep], installed())[1:3]
    different = set()
    for name, bound in first.rules.types.items():
        axes = zip(bound.axes, second.rules.types[name].axes, strict=True)
        different |= {mine.name for mine, other in axes if mine.compiled is not other.compiled}
    assert different == {"detection"}
