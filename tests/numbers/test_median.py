"""The median, scalar and of groups of rows."""

import itertools

import numpy as np
import pytest
from kernels import cases, oracle
from numpy.typing import NDArray

from tallystick.errors import NumberError
from tallystick.numbers._columns import median as kernel
from tallystick.numbers.median import grouped_median, median


def table(seed: int, rows: int) -> tuple[NDArray, NDArray]:
    """Values of either sign, many of them equal, in groups of 1 to 9 rows."""
    values = cases.integers(seed, rows, -(2**33) + 1, 2**33 - 1)
    values[::2] = cases.integers(seed + 1, rows, -3, 3)[::2]
    return values, cases.starts(seed + 2, rows, 9, smallest=1)


def wrong_groups(values: NDArray, starts: NDArray) -> list[int]:
    return oracle.wrong_medians(grouped_median(values, starts), values, starts)


def test_a_group_has_the_exact_median() -> None:
    assert wrong_groups(*table(1, 120_000)) == []


@pytest.mark.slow
def test_a_million_rows_have_the_exact_medians() -> None:
    assert wrong_groups(*table(2, 1_000_000)) == []


def test_a_scalar_equals_its_group() -> None:
    values, starts = table(3, 5_000)
    bounds = [*starts.tolist(), len(values)]
    pairs = itertools.pairwise(bounds)
    scalars = [median(values[a:b].tolist()) for a, b in pairs]
    assert scalars == grouped_median(values, starts).tolist()


def test_the_order_of_a_group_does_not_matter() -> None:
    values, starts = table(4, 5_000)
    sizes = np.diff(np.append(starts, len(values)))
    group = np.repeat(np.arange(len(starts)), sizes)
    shuffled = values[np.lexsort((cases.words(5, len(values)), group))]
    assert grouped_median(shuffled, starts).tolist() == grouped_median(values, starts).tolist()


@pytest.mark.parametrize(
    ("values", "expected"),
    [([7], 7), ([3, 1, 2], 2), ([1, 2], 2), ([2, 3], 2), ([-1, 0], 0), ([-2, -1], -2), ([4, 8], 6)],
)
def test_a_median_is_as_written_by_hand(values: list[int], expected: int) -> None:
    assert median(values) == expected
    assert grouped_median(np.array(values), np.array([0])).tolist() == [expected]
    narrow = np.array(values, np.int32)
    assert grouped_median(narrow, np.array([0], np.int32)).tolist() == [expected]


@pytest.mark.parametrize(
    "half",
    [lambda total: total >> 1, lambda total: (total + 1) >> 1],
    ids=["rounding down", "half up"],
)
def test_the_oracle_sees_wrong_ties(half: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_half", half)
    assert wrong_groups(*table(1, 5_000))


def test_no_value_is_refused() -> None:
    with pytest.raises(NumberError, match="found no value, expected at least one"):
        median([])
    with pytest.raises(NumberError, match="group 1: found no value, expected at least one"):
        grouped_median(np.array([1, 2]), np.array([0, 1, 1]))


def test_values_and_starts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(NumberError, match="row 0: found 8589934592, expected an integer between"):
        grouped_median(np.array([2**33]), np.array([0]))
    with pytest.raises(NumberError, match="expected them to begin with 0"):
        grouped_median(np.array([1]), np.array([1]))
    with pytest.raises(NumberError, match="column 0: found 1 dimensions of float64"):
        grouped_median(np.array([1.0]), np.array([0]))


def test_no_groups_have_no_medians() -> None:
    empty = np.array([], np.int64)
    assert grouped_median(empty, empty).tolist() == []
