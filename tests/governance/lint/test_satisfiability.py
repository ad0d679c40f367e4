"""Whether conditions can hold together, against every number on both sides of their constants."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from operator import eq, ge, gt, le, lt
from typing import Any

import attrs
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from tallystick.formula.tree import const
from tallystick.plugins.author import Node, flag, integer, number
from tallystick_governance.lint.formulas import Ends, satisfiable

VALUE = number("checks.output_quality")
SIGNS: dict[str, Callable[..., Any]] = {"<": lt, "<=": le, "=": eq, ">": gt, ">=": ge}
TRIED = [Fraction(half, 2) for half in range(-2, 11)]
"""Every constant of the conditions below, what lies between them, and what lies beyond."""


@attrs.frozen(eq=False)
class Claim:
    """A condition of one value, as a tree and as a function."""

    tree: Node
    of: Callable[[Fraction], bool]


def atom(sign: str, edge: int, swapped: bool) -> Claim:
    operator = SIGNS[sign]
    number_of = const(edge)
    tree = operator(number_of, VALUE) if swapped else operator(VALUE, number_of)
    return Claim(tree, lambda x: operator(edge, x) if swapped else operator(x, edge))


def joined(first: Claim, second: Claim, how: str) -> Claim:
    if how == "and":
        return Claim(first.tree & second.tree, lambda x: first.of(x) and second.of(x))
    return Claim(first.tree | second.tree, lambda x: first.of(x) or second.of(x))


ATOMS = st.builds(atom, st.sampled_from(sorted(SIGNS)), st.integers(0, 4), st.booleans())
CLAIMS = st.recursive(
    ATOMS,
    lambda inner: (
        st.builds(joined, inner, inner, st.sampled_from(["and", "or"]))
        | st.builds(lambda one: Claim(~one.tree, lambda x: not one.of(x)), inner)
    ),
    max_leaves=5,
)


@examples(300)
@given(st.lists(st.tuples(CLAIMS, st.booleans()), max_size=4), st.booleans())
def test_conditions_of_one_value_are_possible_exactly_when_some_number_meets_them(
    asked: list[tuple[Claim, bool]], bounded: bool
) -> None:
    ends: Ends = (Fraction(0), Fraction(4)) if bounded else (None, None)
    numbers = [x for x in TRIED if not bounded or 0 <= x <= 4]
    meets = any(all(claim.of(x) is holds for claim, holds in asked) for x in numbers)
    found = satisfiable([(claim.tree, holds) for claim, holds in asked], lambda _: ends)
    # beyond some choices it is not followed further, and may call possible what is not
    assert found or not meets
    assert found is meets or sum(claim.tree.nodes for claim, _ in asked) > 24


FIRST, SECOND = integer("checks.timeouts"), integer("checks.hard_failures")
DONE = flag("checks.done")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ([(FIRST < SECOND, True), (SECOND < FIRST, True)], False),
        ([(FIRST < SECOND, True), (SECOND <= FIRST, False)], True),
        ([(FIRST < SECOND, False), (SECOND <= FIRST, False)], False),
        ([(FIRST == SECOND, True), (FIRST < SECOND, True)], False),
        ([(FIRST < 1, True), (SECOND > 1, True)], True),
        ([(DONE, True), (~DONE, True)], False),
        ([(DONE, True), (DONE & (FIRST < 1), False), (FIRST < 1, True)], False),
        ([(DONE, False)], True),
        ([(2 / (1 - VALUE * 0) < FIRST, True)], True),
    ],
)
def test_two_values_are_compared_by_their_difference_and_truths_hold_or_not(
    asked: list[tuple[Node, bool]], expected: bool
) -> None:
    assert satisfiable(asked, lambda _: (None, None)) is expected
