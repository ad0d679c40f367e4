"""Averages and medians of a population."""

from itertools import pairwise

import pytest
from kernels import cases, oracle

from tallystick.errors import NumberError
from tallystick.numbers.statistics import median, weighted_average

ROWS = 6_000


def groups(seed: int, rows: int, smallest: int = 0) -> list[tuple[list[int], list[int]]]:
    """Values of either sign, many of them small, with weights, in groups of up to 12."""
    values = cases.integers(seed, rows, -(2**33) + 1, 2**33 - 1)
    values[::3] = cases.integers(seed + 1, rows, 0, 5)[::3]
    weights = cases.integers(seed + 2, rows, 0, 2**63 - 2)
    weights[rows // 2 :] %= 3
    bounds = [*cases.starts(seed + 9, rows, 12, smallest).tolist(), rows]
    return [(values[a:b].tolist(), weights[a:b].tolist()) for a, b in pairwise(bounds)]


def wrong_averages(rows: int) -> list[int]:
    found = groups(1, rows)
    return oracle.wrong_averages([weighted_average(*group) for group in found], found)


def wrong_medians(rows: int) -> list[int]:
    found = [values for values, _ in groups(3, rows, smallest=1)]
    return oracle.wrong_medians([median(values) for values in found], found)


def test_an_average_is_exact_and_rounded_once() -> None:
    assert wrong_averages(ROWS) == []


def test_a_median_is_exact_and_rounded_once() -> None:
    assert wrong_medians(ROWS) == []


@pytest.mark.nightly
def test_the_statistics_of_a_million_values_are_exact() -> None:
    assert wrong_averages(1_000_000) == wrong_medians(1_000_000) == []


def test_a_tie_goes_to_the_even_neighbour() -> None:
    assert weighted_average([1, 2], [7, 7]) == 2
    assert [weighted_average([n, n + 1], [1, 1]) for n in (0, 1, -1, -2)] == [0, 2, 0, -2]


def test_nothing_that_weighs_averages_to_zero() -> None:
    assert weighted_average([], []) == 0
    assert weighted_average([5, 6], [0, 0]) == 0


def test_weights_that_are_no_weights_are_refused() -> None:
    with pytest.raises(NumberError, match="found 1 weights, expected 2"):
        weighted_average([1, 2], [1])
    with pytest.raises(NumberError, match="found the weight -1, expected at least 0"):
        weighted_average([1, 2], [1, -1])


@pytest.mark.parametrize(
    ("values", "expected"),
    [([7], 7), ([3, 1, 2], 2), ([1, 2], 2), ([2, 3], 2), ([-1, 0], 0), ([-2, -1], -2), ([4, 8], 6)],
)
def test_a_median_is_as_written_by_hand(values: list[int], expected: int) -> None:
    assert median(values) == median(values[::-1]) == expected


def test_a_median_of_nothing_is_refused() -> None:
    with pytest.raises(NumberError, match="found no value, expected at least one"):
        median([])
