"""Weighted averages and exact sums, scalar and of groups of rows."""

import itertools

import numpy as np
import pytest
from kernels import cases, oracle
from numpy.typing import NDArray

from tallystick.errors import NumberError
from tallystick.numbers._columns import average as kernel
from tallystick.numbers.average import grouped_sums, grouped_weighted_average, weighted_average

NANO = 10**9
Table = tuple[NDArray, list[NDArray], NDArray]


def table(seed: int, rows: int, factors: int) -> Table:
    """Values of either sign, weights of one to three factors, and groups of 0 to 12 rows."""
    values = cases.integers(seed, rows, -(2**33) + 1, 2**33 - 1)
    values[::3] = cases.integers(seed + 1, rows, 0, 5)[::3]
    high = {0: 0, 1: 2**63 - 2, 2: 2 * NANO, 3: 2**20}[factors]
    weights = [cases.integers(seed + 2 + n, rows, 0, high) for n in range(factors)]
    for weight in weights:
        weight[rows // 2 :] %= 3
    return values, weights, cases.starts(seed + 9, rows, 12)


def wrong_groups(values: NDArray, weights: list[NDArray], starts: NDArray) -> list[int]:
    answers = grouped_weighted_average(values, weights, starts)
    return oracle.wrong_averages(answers, values, weights, starts)


@pytest.mark.parametrize("factors", [0, 1, 2, 3])
def test_a_group_has_the_exact_average_rounded_once(factors: int) -> None:
    assert wrong_groups(*table(1, 60_000, factors)) == []


@pytest.mark.slow
@pytest.mark.parametrize("factors", [0, 1, 2, 3])
def test_a_million_rows_have_the_exact_averages_rounded_once(factors: int) -> None:
    assert wrong_groups(*table(2, 250_000, factors)) == []


@pytest.mark.parametrize("factors", [0, 1, 2, 3])
def test_sums_are_exact(factors: int) -> None:
    values, weights, starts = table(3, 5_000, factors)
    products = [column.astype(object) for column in weights]
    weighted = np.multiply.reduce([values.astype(object), *products])
    bounds = [*starts.tolist(), len(values)]
    expected = [int(sum(weighted[a:b])) for a, b in itertools.pairwise(bounds)]
    assert grouped_sums(values, weights, starts) == expected


def test_the_largest_values_and_weights_are_summed_exactly() -> None:
    values = np.full(1_000, 2**33 - 1)
    weight = np.full(1_000, 2**63 - 1)
    start = np.array([0])
    assert grouped_sums(values, [weight], start) == [1_000 * (2**33 - 1) * (2**63 - 1)]
    assert grouped_sums(-values, [weight], start) == [-1_000 * (2**33 - 1) * (2**63 - 1)]


def test_a_scalar_equals_its_group() -> None:
    values, weights, starts = table(4, 5_000, 1)
    bounds = [*starts.tolist(), len(values)]
    scalars = [
        weighted_average(values[a:b].tolist(), weights[0][a:b].tolist())
        for a, b in itertools.pairwise(bounds)
    ]
    assert scalars == grouped_weighted_average(values, weights, starts).tolist()


def test_32_bits_give_the_same_averages() -> None:
    values, weights, starts = table(5, 5_000, 2)
    values = values >> 3
    narrow = [column.astype(np.int32) for column in (values, *weights)]
    expected = grouped_weighted_average(values, weights, starts).tolist()
    assert grouped_weighted_average(narrow[0], narrow[1:], starts).tolist() == expected


def test_a_tie_goes_to_the_even_neighbour() -> None:
    values = np.array([0, 1, 1, 2, -1, 0, -2, -1])
    starts = np.array([0, 2, 4, 6])
    assert grouped_weighted_average(values, [], starts).tolist() == [0, 2, 0, -2]
    assert weighted_average([1, 2], [7, 7]) == 2


def test_nothing_that_weighs_averages_to_zero() -> None:
    assert weighted_average([], []) == 0
    assert weighted_average([5, 6], [0, 0]) == 0
    starts = np.array([0, 0, 2, 3, 3])
    values, weight = np.array([5, 6, 7]), np.array([0, 0, 1])
    assert grouped_weighted_average(values, [weight], starts).tolist() == [0, 0, 7, 0, 0]


def test_no_rows_and_no_groups_give_nothing() -> None:
    empty = np.array([], np.int64)
    assert grouped_weighted_average(empty, [], empty).tolist() == []
    assert grouped_weighted_average(empty, [empty], np.array([0, 0])).tolist() == [0, 0]


def test_the_oracle_sees_rounding_half_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "round_half_even", lambda a, b: (2 * a + b) // (2 * b))
    assert wrong_groups(*table(1, 60_000, 0))


@pytest.mark.parametrize("shift", [0, 30, 60, 90])
def test_the_oracle_sees_a_lost_limb(shift: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = kernel._pieces
    monkeypatch.setattr(
        kernel, "_pieces", lambda *pair: (piece for piece in pieces(*pair) if piece[0] != shift)
    )
    assert wrong_groups(*table(1, 5_000, 1))


def test_weights_that_are_no_weights_are_refused() -> None:
    with pytest.raises(NumberError, match="found 1 weights, expected 2"):
        weighted_average([1, 2], [1])
    with pytest.raises(NumberError, match="found the weight -1, expected at least 0"):
        weighted_average([1, 2], [1, -1])
    value, start = np.array([1]), np.array([0])
    with pytest.raises(NumberError, match="column 0, row 0: found -1, expected"):
        grouped_weighted_average(value, [np.array([-1])], start)
    with pytest.raises(NumberError, match=r"largest product may reach 2\*\*63"):
        grouped_weighted_average(value, [np.array([2**32]), np.array([2**31])], start)
    with pytest.raises(NumberError, match="column 1: found 2 rows, expected 1"):
        grouped_weighted_average(value, [np.array([1, 2])], start)


@pytest.mark.parametrize("value", [2**33, -(2**33)])
def test_a_value_outside_its_range_is_refused(value: int) -> None:
    with pytest.raises(NumberError, match=f"row 1: found {value}, expected an integer between"):
        grouped_sums(np.array([0, value]), [], np.array([0]))


@pytest.mark.parametrize("starts", [[], [1], [0, 2, 1], [0, 4]])
def test_starts_that_do_not_divide_the_rows_are_refused(starts: list[int]) -> None:
    with pytest.raises(NumberError, match="expected them to begin with 0 and ascend"):
        grouped_sums(np.array([1, 2, 3]), [], np.array(starts, np.int64))


def test_starts_that_are_no_integers_are_refused() -> None:
    with pytest.raises(NumberError, match="group starts: found 1 dimensions of float64"):
        grouped_sums(np.array([1]), [], np.array([0.0]))


def test_more_rows_than_the_sums_can_hold_are_refused() -> None:
    values = np.broadcast_to(np.int64(1), (2**29,))
    with pytest.raises(NumberError, match=r"found 536870912 rows, expected fewer than 2\*\*29"):
        grouped_sums(values, [], np.array([0]))
