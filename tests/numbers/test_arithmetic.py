"""The weighted arithmetic mean, scalar and in columns."""

from fractions import Fraction

import numpy as np
import pytest
from kernels import cases, oracle

from tallystick.errors import NumberError
from tallystick.numbers.means import arithmetic_mean, arithmetic_mean_columns
from tallystick.numbers.weights import Weights

ROWS = 1_000


def wrong_rows(weights: str, rows: int, seed: int = 1) -> list[int]:
    exact = cases.fractions(weights)
    columns = cases.axes(seed, rows, exact)
    answers = arithmetic_mean_columns(columns, Weights.of(exact))
    return oracle.wrong_arithmetic(answers, columns, exact)


@pytest.mark.parametrize("weights", cases.WEIGHTS)
def test_a_column_is_the_exact_mean_rounded_once(weights: str) -> None:
    assert wrong_rows(weights, ROWS) == []


def test_spans_join() -> None:
    assert wrong_rows("0.35 0.30 0.20 0.15", 70_000) == []


@pytest.mark.nightly
@pytest.mark.parametrize("weights", cases.WEIGHTS)
def test_a_million_rows_are_the_exact_mean_rounded_once(weights: str) -> None:
    assert wrong_rows(weights, 50_000, seed=2) == []


@pytest.mark.parametrize("weights", cases.WEIGHTS)
def test_a_scalar_equals_its_row(weights: str) -> None:
    exact = cases.fractions(weights)
    columns = cases.axes(3, 100, exact)
    scalars = [arithmetic_mean(row, Weights.of(exact)) for row in np.array(columns).T.tolist()]
    assert scalars == arithmetic_mean_columns(columns, Weights.of(exact)).tolist()
    narrow = [column.astype(np.int32) for column in columns]
    assert scalars == arithmetic_mean_columns(narrow, Weights.of(exact)).tolist()


def test_a_tie_goes_to_the_even_neighbour() -> None:
    weights = Weights.of([Fraction(1, 2)] * 2)
    low, high = np.arange(6), np.arange(1, 7)
    assert arithmetic_mean_columns([low, high], weights).tolist() == [0, 2, 2, 4, 4, 6]
    assert [arithmetic_mean([k, k + 1], weights) for k in range(6)] == [0, 2, 2, 4, 4, 6]


def test_values_and_columns_that_do_not_fit_are_refused() -> None:
    weights = Weights.of([Fraction(1, 2)] * 2)
    one = np.array([1])
    with pytest.raises(NumberError, match="found 1 columns, expected 2"):
        arithmetic_mean_columns([one], weights)
    with pytest.raises(NumberError, match="column 0, row 0: found -1, expected"):
        arithmetic_mean_columns([-one, one], weights)
    with pytest.raises(NumberError, match="value 0: found -1, expected"):
        arithmetic_mean([-1, 1], weights)
