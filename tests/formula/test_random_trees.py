from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import pytest
from formula.agreement import check_many, check_rows, check_unrounded
from formula.constructed import A
from formula.random_trees import (
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
        # as many as are proved: a guard that no longer proves anything is one less
        (tight_case, 2, 40, 31, {"whole"}),
        (signed_case, 4, 40, 30, {"whole"}),
        (irrational_case, 1, 40, 37, {"balls", "open"}),
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


@pytest.mark.parametrize("number", [20, pytest.param(2_000, marks=nightly)])
def test_what_is_proved_of_values_that_are_not_rounded_holds(number: int) -> None:
    assert check_unrounded(number, number) >= number // 4
