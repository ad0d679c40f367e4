"""Medians of a population."""

from itertools import pairwise

import pytest
from kernels import cases, oracle

from tallystick.errors import NumberError
from tallystick.numbers.nano import median

ROWS = 6_000


def groups(seed: int, rows: int) -> list[list[int]]:
    """Values of either sign, many of them small, in groups of 1 to 12."""
    values = cases.integers(seed, rows, -(2**33) + 1, 2**33 - 1)
    values[::3] = cases.integers(seed + 1, rows, 0, 5)[::3]
    bounds = [*cases.starts(seed + 9, rows, 12, 1).tolist(), rows]
    return [values[a:b].tolist() for a, b in pairwise(bounds)]


def wrong_medians(rows: int) -> list[int]:
    found = groups(3, rows)
    return oracle.wrong_medians([median(values) for values in found], found)


def test_a_median_is_exact_and_rounded_once() -> None:
    assert wrong_medians(ROWS) == []


@pytest.mark.nightly
def test_the_medians_of_a_million_values_are_exact() -> None:
    assert wrong_medians(1_000_000) == []


@pytest.mark.parametrize(
    ("values", "expected"),
    [([7], 7), ([3, 1, 2], 2), ([1, 2], 2), ([2, 3], 2), ([-1, 0], 0), ([-2, -1], -2), ([4, 8], 6)],
)
def test_a_median_is_as_written_by_hand(values: list[int], expected: int) -> None:
    assert median(values) == median(values[::-1]) == expected


def test_a_median_of_nothing_is_refused() -> None:
    with pytest.raises(NumberError, match="found no value, expected at least one"):
        median([])
