"""The product of nano factors, scalar and in columns."""

import numpy as np
import pytest
from kernels import cases, oracle
from numpy.typing import NDArray

from tallystick.errors import NumberError
from tallystick.numbers._columns import product as kernel
from tallystick.numbers.product import product, product_columns

NANO = 10**9
COUNTS = (2, 3, 4, 5, 6, 7)


def wrong_rows(count: int, rows: int, seed: int = 1) -> list[int]:
    columns = cases.factors(seed, rows, count)
    return oracle.wrong_products(product_columns(columns), columns)


@pytest.mark.parametrize("count", COUNTS)
def test_a_column_is_the_exact_product_rounded_once(count: int) -> None:
    assert wrong_rows(count, 20_000) == []


def test_spans_join() -> None:
    assert wrong_rows(3, 70_000) == []


@pytest.mark.slow
@pytest.mark.parametrize("count", COUNTS)
def test_a_million_rows_are_the_exact_product_rounded_once(count: int) -> None:
    assert wrong_rows(count, 170_000, seed=2) == []


@pytest.mark.parametrize("count", COUNTS)
def test_a_scalar_equals_its_row(count: int) -> None:
    columns = cases.factors(3, 1_000, count)
    scalars = [product(row) for row in np.array(columns).T.tolist()]
    assert scalars == product_columns(columns).tolist()


@pytest.mark.parametrize("count", COUNTS)
def test_half_of_an_odd_value_is_a_tie_and_goes_to_the_even_neighbour(count: int) -> None:
    odd = 2 * cases.integers(1, 2_000, 0, NANO // 2 - 1) + 1
    ones = [np.full(2_000, NANO)] * (count - 2)
    halves = product_columns([odd, *ones, np.full(2_000, NANO // 2)])
    assert (halves % 2 == 0).all()
    assert (np.abs(2 * halves - odd) == 1).all()


def test_32_bits_give_the_same_products() -> None:
    columns = [np.minimum(column, 2 * NANO) for column in cases.factors(4, 5_000, 3)]
    narrow = [column.astype(np.int32) for column in columns]
    assert product_columns(narrow).tolist() == product_columns(columns).tolist()


def test_one_factor_is_its_own_product() -> None:
    column = np.array([0, 1, 8 * NANO])
    assert product_columns([column]).tolist() == column.tolist()
    assert product([-5]) == -5


def test_large_products_are_exact() -> None:
    columns = [cases.integers(seed, 2_000, 6 * NANO, 8 * NANO) for seed in range(10)]
    assert oracle.wrong_products(product_columns(columns), columns) == []


def test_many_small_factors_give_zero() -> None:
    assert product_columns([np.array([1])] * 60).tolist() == [0]


@pytest.mark.parametrize(
    "rounding",
    [
        lambda fraction, _: (fraction[-1] >= NANO // 2).astype(np.int64),
        lambda fraction, _: (fraction[-1] > NANO // 2).astype(np.int64),
        lambda fraction, whole: (fraction[-1] + (whole & 1) > NANO // 2).astype(np.int64),
    ],
    ids=["half up", "half down", "half even without the lower limbs"],
)
def test_the_oracle_sees_wrong_ties(rounding: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_is_rounded_up", rounding)
    assert wrong_rows(3, 20_000)


def test_the_oracle_sees_a_kernel_of_doubles_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubles(columns: list[NDArray]) -> NDArray:
        values = [column / NANO for column in columns]
        return np.rint(np.prod(values, axis=0) * NANO).astype(np.int64)

    monkeypatch.setattr(kernel, "_exact", doubles)
    assert wrong_rows(3, 20_000)


def test_factors_outside_their_range_are_refused() -> None:
    one = np.array([NANO])
    with pytest.raises(NumberError, match="column 1, row 0: found -1, expected an integer from 0"):
        product_columns([one, np.array([-1])])
    with pytest.raises(NumberError, match="column 0, row 0: found 8000000001, expected"):
        product_columns([np.array([8 * NANO + 1]), one])


def test_a_product_beyond_int64_is_refused() -> None:
    with pytest.raises(NumberError, match=r"row 0: found a product of 2\*\*62 nano or more"):
        product_columns([np.array([8 * NANO])] * 11)


def test_no_factor_is_refused() -> None:
    with pytest.raises(NumberError, match="found no factor, expected at least one"):
        product([])
    with pytest.raises(NumberError, match="found no column, expected at least one"):
        product_columns([])
