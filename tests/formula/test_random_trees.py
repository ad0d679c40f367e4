from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import pytest
from formula.agreement import check_many, check_rows, check_unrounded, lowered
from formula.constructed import A
from formula.random_trees import (
    LISTED,
    MINE,
    SHARED,
    Case,
    guarded_case,
    irrational_case,
    product_case,
    signed_case,
    tight_case,
)

from tallystick.formula.domain import Domain
from tallystick.formula.tree import Node, cases, floor, root
from tallystick.numbers.nano import NANO

Make = Callable[[random.Random], Case]

nightly = pytest.mark.nightly


@pytest.mark.parametrize(
    ("make", "seed", "number", "least", "ways"),
    [
        (tight_case, 2, 40, 20, {"whole"}),
        (signed_case, 4, 40, 20, {"whole"}),
        (irrational_case, 1, 40, 30, {"balls", "open"}),
        pytest.param(guarded_case, 101, 2_000, 1_934, {"whole", "settled whole"}, marks=nightly),
        pytest.param(tight_case, 5, 2_000, 800, {"whole"}, marks=nightly),
        pytest.param(signed_case, 6, 2_000, 800, {"whole"}, marks=nightly),
        pytest.param(irrational_case, 7, 2_000, 1_700, {"balls", "open"}, marks=nightly),
        pytest.param(product_case, 11, 5_000, 5_000, {"settled whole", "integers"}, marks=nightly),
    ],
)
def test_every_evaluator_gives_the_exact_value(
    make: Make, seed: int, number: int, least: int, ways: set[str]
) -> None:
    taken = check_many(make, seed, number)
    assert taken["checked"] >= least
    assert set(taken) >= ways


@pytest.mark.nightly
@pytest.mark.parametrize(
    "tree",
    [
        root(A, 2) / (2 * NANO),
        floor(A * Fraction(1, 49) * 49),
        cases((A * Fraction(1, 49) * 49 < A, 0), otherwise=root(A, 3)),
    ],
    ids=["a tie", "a whole number", "an equal one"],
)
def test_what_doubles_of_functions_miss_is_decided_exactly(tree: Node) -> None:
    check_rows(Case(tree, ((A, Domain(0, 10**6)),)), [(n * n,) for n in range(999)])


@pytest.mark.parametrize("below", [MINE, LISTED])
def test_a_share_of_a_list_is_proved_to_be_a_share_and_reaches_both_ends(below: Node) -> None:
    facts = tuple((f, Domain(0, 9)) for f in (SHARED, MINE, LISTED))
    case = Case(cases((below == 0, 0), otherwise=SHARED / below), facts)
    bounds = lowered(case)
    assert (bounds.low, bounds.high) == (0, 1)
    check_rows(case, [(0, 0, 0), (0, 1, 1), (1, 1, 1), (1, 3, 9), (9, 9, 9)])


def test_one_of_few_values_is_a_multiple_of_what_they_share() -> None:
    bonus = cases((A == 0, Fraction(1, 2)), otherwise=Fraction(5, 4))
    check_rows(Case(bonus, ((A, Domain(0, 1)),)), [(0,), (1,)])


@pytest.mark.parametrize("number", [20, pytest.param(2_000, marks=nightly)])
def test_what_is_proved_of_values_that_are_not_rounded_holds(number: int) -> None:
    assert check_unrounded(number, number) >= number // 4
