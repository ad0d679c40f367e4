"""The weighted means, scalar and in columns."""

from fractions import Fraction

import numpy as np
import pytest
from kernels import cases, oracle
from kernels.means import compiled, means_of

from tallystick.numbers import doubles
from tallystick.numbers import geometric_mean_columns as kernel
from tallystick.numbers.geometric_mean import geometric_mean
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
    answers = means_of("geometric", columns, exact)
    return oracle.wrong_geometric(answers, columns, exact)


@pytest.mark.parametrize("weights", cases.WEIGHTS)
def test_a_column_is_the_exact_mean_rounded_once(weights: str) -> None:
    assert wrong_rows(weights, rows_of(weights)) == []


@pytest.mark.nightly
@pytest.mark.parametrize("weights", cases.WEIGHTS)
def test_a_million_rows_are_the_exact_mean_rounded_once(weights: str) -> None:
    assert wrong_rows(weights, 40 * rows_of(weights), seed=2) == []


@pytest.mark.parametrize("weights", cases.WEIGHTS)
def test_a_scalar_equals_its_row(weights: str) -> None:
    exact = cases.fractions(weights)
    columns = cases.axes(3, 64, exact)
    scalars = [geometric_mean(row, Weights.of(exact)) for row in np.array(columns).T.tolist()]
    assert scalars == means_of("geometric", columns, exact).tolist()


def test_a_thousand_axes_are_weighed_exactly() -> None:
    exact = [Fraction(1, 1000)] * 1000
    columns = [cases.integers(seed, 20, 1, NANO) for seed in range(1000)]
    answers = means_of("geometric", columns, exact)
    assert oracle.wrong_geometric(answers, columns, exact) == []


@pytest.mark.parametrize("weights", cases.WEIGHTS)
def test_equal_values_are_their_own_mean(weights: str) -> None:
    exact = cases.fractions(weights)
    column = np.concatenate((cases.SPECIAL, cases.integers(5, 500, 0, NANO)))
    means = means_of("geometric", [column] * len(exact), exact)
    assert means.tolist() == column.tolist()


@pytest.mark.parametrize("weights", [PUBLISHED, THREE_DECIMALS])
def test_a_library_that_is_not_trusted_changes_nothing(
    weights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(np, "exp", lambda x, out: np.multiply(x, np.nan, out=out))
    monkeypatch.setattr(kernel, "exp_and_log_are_trusted", lambda: False)
    assert wrong_rows(weights, 400) == []


@pytest.mark.parametrize("weights", [THREE_DECIMALS, "0.001 0.999"])
def test_rows_near_a_half_are_decided_exactly(weights: str) -> None:
    exact = cases.fractions(weights)
    columns = [cases.integers(seed, 40_000, 1, NANO) for seed in range(len(exact))]
    logs = [np.log(column.astype(np.longdouble)) for column in columns]
    mean = np.exp(sum(log * float(weight) for log, weight in zip(logs, exact, strict=True)))
    nearest = np.argsort(np.abs(mean - np.floor(mean) - np.longdouble(1) / 2))[:30]
    few = [column[nearest] for column in columns]
    assert oracle.wrong_geometric(means_of("geometric", few, exact), few, exact) == []


@pytest.mark.parametrize("weights", cases.WEIGHTS)
def test_an_arithmetic_mean_is_the_exact_one_rounded_once(weights: str) -> None:
    exact = cases.fractions(weights)
    columns = cases.axes(1, 1_000, exact)
    means = means_of("arithmetic", columns, exact)
    assert oracle.wrong_arithmetic(means, columns, exact) == []
    mean = compiled("arithmetic", exact)
    rows = np.array(columns).T[:64].tolist()
    named = [{str(index): value for index, value in enumerate(row)} for row in rows]
    assert [mean.nano({}, row) for row in named] == means[:64].tolist()


def test_the_library_of_this_machine_is_trusted() -> None:
    assert doubles.exp_and_log_are_trusted()


@pytest.mark.parametrize("name", ["log", "exp"])
def test_a_library_that_is_wrong_by_a_thousand_units_is_not_trusted(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = getattr(np, name)
    monkeypatch.setattr(np, name, lambda x: right(x) * (1 + 2.0**-42))
    assert not doubles.exp_and_log_are_trusted.__wrapped__()


def test_a_library_that_gives_nan_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "exp", lambda x: np.full_like(x, np.nan))
    assert not doubles.exp_and_log_are_trusted.__wrapped__()
