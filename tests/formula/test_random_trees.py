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

WAYS = {"whole", "settled whole", "integers"}

Make = Callable[[random.Random], Case]


@pytest.mark.nightly
def test_every_evaluator_gives_the_exact_value_of_guarded_trees_in_every_way() -> None:
    taken = check_many(guarded_case, 1, 80) + check_many(product_case, 2, 50)
    assert taken["checked"] >= 128
    assert set(taken) >= WAYS


def test_every_evaluator_gives_the_exact_value_where_branches_cannot_be_reached() -> None:
    assert check_many(tight_case, 2, 40)["checked"] >= 20


def test_every_evaluator_gives_the_exact_value_of_negative_facts() -> None:
    assert check_many(signed_case, 4, 40)["checked"] >= 20


def test_every_evaluator_gives_the_exact_value_of_roots_powers_exp_and_log() -> None:
    taken = check_many(irrational_case, 1, 40)
    assert taken["checked"] >= 30
    assert taken["open"] >= 2


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


@pytest.mark.nightly
@pytest.mark.parametrize("number", [80, pytest.param(2_000, marks=pytest.mark.nightly)])
def test_what_is_proved_of_values_that_are_not_rounded_holds(number: int) -> None:
    assert check_unrounded(number, number) >= number // 4


@pytest.mark.nightly
def test_every_evaluator_gives_the_exact_value_of_thousands_of_roots_and_powers() -> None:
    assert check_many(irrational_case, 7, 2_000)["checked"] >= 1_700


@pytest.mark.nightly
def test_every_evaluator_gives_the_exact_value_of_thousands_of_products() -> None:
    taken = check_many(product_case, 11, 5_000)
    assert taken["checked"] == 5_000
    assert set(taken) >= {"settled whole", "integers"}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("make", "seed", "least"),
    [
        pytest.param(guarded_case, 101, 1_934),
        pytest.param(tight_case, 5, 800),
        pytest.param(signed_case, 6, 800),
    ],
)
def test_every_evaluator_gives_the_exact_value_of_thousands_of_trees(
    make: Make, seed: int, least: int
) -> None:
    assert check_many(make, seed, 2_000)["checked"] >= least
