"""The weighted geometric mean, scalar and in columns."""

from fractions import Fraction

import numpy as np
import pytest
from kernels import cases, oracle
from numpy.typing import NDArray

from tallystick.errors import NumberError
from tallystick.numbers import mean_columns as kernel
from tallystick.numbers.means import geometric_mean, geometric_mean_columns
from tallystick.numbers.weights import Weights

NANO = 10**9
PUBLISHED = "0.35 0.30 0.20 0.15"
THREE_DECIMALS = "0.333 0.333 0.334"


def rows_of(weights: str) -> int:
    """Fewer rows where the oracle's powers are long."""
    return 1_600 if cases.degree(cases.fractions(weights)) <= 100 else 400


def wrong_rows(weights: str, rows: int, seed: int = 1) -> list[int]:
    """The rows of the hard cases that the columnar kernel gets wrong."""
    exact = cases.fractions(weights)
    columns = cases.axes(seed, rows, exact)
    answers = geometric_mean_columns(columns, Weights.of(exact))
    return oracle.wrong_geometric(answers, columns, exact)


def many_rows_of(weights: str) -> int:
    """As `rows_of`, at night: over 1 000 000 in all."""
    return 60_000 if cases.degree(cases.fractions(weights)) <= 100 else 25_000


@pytest.mark.parametrize("weights", cases.WEIGHTS)
def test_a_column_is_the_exact_mean_rounded_once(weights: str) -> None:
    assert wrong_rows(weights, rows_of(weights)) == []


@pytest.mark.nightly
@pytest.mark.parametrize("weights", cases.WEIGHTS)
def test_a_million_rows_are_the_exact_mean_rounded_once(weights: str) -> None:
    assert wrong_rows(weights, many_rows_of(weights), seed=2) == []


@pytest.mark.parametrize("weights", cases.WEIGHTS)
def test_a_scalar_equals_its_row(weights: str) -> None:
    exact = cases.fractions(weights)
    columns = cases.axes(3, 64, exact)
    scalars = [geometric_mean(row, Weights.of(exact)) for row in np.array(columns).T.tolist()]
    assert scalars == geometric_mean_columns(columns, Weights.of(exact)).tolist()


def test_spans_join() -> None:
    exact = cases.fractions(PUBLISHED)
    columns = cases.axes(1, 40_000, exact)
    parts = ([column[rows] for column in columns] for rows in np.array_split(np.arange(40_000), 7))
    found = [geometric_mean_columns(part, Weights.of(exact)) for part in parts]
    assert np.array_equal(geometric_mean_columns(columns, Weights.of(exact)), np.concatenate(found))


def test_a_thousand_axes_are_weighed_exactly() -> None:
    exact = [Fraction(1, 1000)] * 1000
    columns = [cases.integers(seed, 20, 1, NANO) for seed in range(1000)]
    answers = geometric_mean_columns(columns, Weights.of(exact))
    assert oracle.wrong_geometric(answers, columns, exact) == []


def test_columns_of_32_bits_and_strided_columns_give_the_same_means() -> None:
    exact = cases.fractions(PUBLISHED)
    columns = cases.axes(4, 5_000, exact)
    expected = geometric_mean_columns(columns, Weights.of(exact)).tolist()
    narrow = [column.astype(np.int32) for column in columns]
    strided = list(np.array(columns).T.copy().T)
    assert geometric_mean_columns(narrow, Weights.of(exact)).tolist() == expected
    assert geometric_mean_columns(strided, Weights.of(exact)).tolist() == expected


@pytest.mark.parametrize("weights", cases.WEIGHTS)
def test_equal_values_are_their_own_mean(weights: str) -> None:
    exact = cases.fractions(weights)
    column = np.concatenate((cases.SPECIAL, cases.integers(5, 500, 0, NANO)))
    means = geometric_mean_columns([column] * len(exact), Weights.of(exact))
    assert means.tolist() == column.tolist()


def test_no_rows_give_no_means() -> None:
    empty = np.array([], np.int64)
    assert geometric_mean_columns([empty, empty], Weights.of([Fraction(1, 2)] * 2)).tolist() == []


def test_inputs_are_left_as_they_were() -> None:
    exact = cases.fractions(PUBLISHED)
    columns = cases.axes(6, 100, exact)
    before = [column.copy() for column in columns]
    geometric_mean_columns(columns, Weights.of(exact))
    assert np.array_equal(columns, before)


@pytest.mark.parametrize("weights", [PUBLISHED, THREE_DECIMALS])
def test_a_library_without_logarithms_changes_nothing(
    weights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(x: NDArray, out: NDArray) -> NDArray:
        out.fill(np.nan)
        out[::2] = x[::2] / 7
        return out

    monkeypatch.setattr(np, "log", broken)
    monkeypatch.setattr(kernel, "logarithms_are_trusted", lambda: False)
    assert wrong_rows(weights, 400) == []


def test_the_library_of_this_machine_is_trusted() -> None:
    assert kernel.logarithms_are_trusted()


@pytest.mark.parametrize("name", ["log", "exp"])
def test_a_library_that_is_wrong_by_a_thousand_units_is_not_trusted(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = getattr(np, name)
    monkeypatch.setattr(np, name, lambda x: right(x) * (1 + 2.0**-42))
    assert not kernel.logarithms_are_trusted.__wrapped__()


def test_a_library_that_gives_nan_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "exp", lambda x: np.full_like(x, np.nan))
    assert not kernel.logarithms_are_trusted.__wrapped__()


def test_the_oracle_sees_a_mean_that_is_one_too_large_or_too_small() -> None:
    exact = cases.fractions(PUBLISHED)
    columns = cases.axes(7, 800, exact)
    answers = geometric_mean_columns(columns, Weights.of(exact))
    for step in (-1, 1):
        assert len(oracle.wrong_geometric(answers + step, columns, exact)) == 800


@pytest.mark.parametrize("value", [-1, NANO + 1, -(2**31)])
def test_a_value_outside_the_unit_interval_is_refused(value: int) -> None:
    weights = Weights.of([Fraction(1, 2)] * 2)
    column = np.full(40_000, NANO, np.int64)
    column[35_000] = value
    with pytest.raises(NumberError, match=rf"column 1, row 35000: found {value}, expected"):
        geometric_mean_columns([np.zeros(40_000, np.int32), column], weights)
    with pytest.raises(NumberError, match=rf"value 1: found {value}, expected nano"):
        geometric_mean([0, value], weights)


def test_a_value_whose_weight_is_zero_is_still_judged() -> None:
    weights = Weights.of([Fraction(1), Fraction(0)])
    with pytest.raises(NumberError, match="column 1, row 0: found -5"):
        geometric_mean_columns([np.array([1]), np.array([-5])], weights)


def test_columns_that_do_not_fit_are_refused() -> None:
    weights = Weights.of([Fraction(1, 2)] * 2)
    one = np.array([1])
    with pytest.raises(NumberError, match="found 1 columns, expected 2"):
        geometric_mean_columns([one], weights)
    with pytest.raises(NumberError, match="column 1: found 2 rows, expected 1"):
        geometric_mean_columns([one, np.array([1, 2])], weights)
    with pytest.raises(NumberError, match="column 1: found 1 dimensions of float64, expected one"):
        geometric_mean_columns([one, np.array([0.5])], weights)
    with pytest.raises(NumberError, match="column 0: found 2 dimensions of int64, expected one"):
        geometric_mean_columns([np.array([[1]]), one], weights)
    with pytest.raises(NumberError, match="found 3 values, expected 2"):
        geometric_mean([1, 1, 1], weights)
