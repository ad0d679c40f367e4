"""Sparse matrices: by a table where there is room for one, by sorting where there is not."""

import random

import numpy as np
import pytest

from tallystick_yuma.cells import Cells, summed

SIZES = {"a table": 12, "sorting": 3000}


def matrix(size: int, seed: int) -> dict[tuple[int, int], int]:
    """Some 100 cells, rows in no order."""
    draw = random.Random(seed)
    return {
        (row, uid): draw.choice([0, 1, 5, 1 << 40])
        for row in range(10)
        for uid in draw.sample(range(12), draw.choice([0, 5, 12]))
        if size > row
    }


def cells_of(size: int, found: dict[tuple[int, int], int]) -> Cells:
    rows: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    for (row, uid), value in found.items():
        rows[row].append((uid, value))
    return Cells.of(rows)


@pytest.mark.parametrize("way", SIZES)
def test_a_sum_is_over_the_cells_of_either(way: str) -> None:
    size = SIZES[way]
    for seed in range(20):
        first, second = matrix(size, seed), matrix(size, seed + 100)
        found = summed(cells_of(size, first), cells_of(size, second))
        keys = sorted({*first, *second})
        expected = [(*key, first.get(key, 0) + second.get(key, 0)) for key in keys]
        got = zip(found.rows.tolist(), found.uids.tolist(), found.values.tolist(), strict=True)
        assert list(got) == [cell for cell in expected if cell[2] > 0]


@pytest.mark.parametrize("way", SIZES)
def test_a_cell_is_found_by_its_key(way: str) -> None:
    size = SIZES[way]
    for seed in range(20):
        held = matrix(size, seed)
        asked = [(row, uid) for row in range(12) for uid in range(12)]
        keys = np.array([row * size + uid for row, uid in asked], np.int64)
        assert cells_of(size, held).at(keys).tolist() == [held.get(key, 0) for key in asked]


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_nothing_has_no_cells(size: int) -> None:
    nothing = cells_of(size, {})
    assert not len(summed(nothing, nothing))
    assert nothing.at(np.array([3], np.int64)).tolist() == [0]
    assert nothing.row_sums().tolist() == nothing.column_maxima().tolist() == [0] * size
    assert nothing.lists() == [[]] * size


PAIRS = [
    *([1, True], [1, 2.0], [1, "2"], [1, -1], [-1, 1], [1, 1 << 16], [1, 1 << 31], [1 << 40, 0]),
    *([1, 2, 3], [1], [], {1: 2, 3: 4}, {1, 2}, b"ab", "ab", None, 5, [[1], 2]),
    *(np.array([1, 2]), [np.uint16(1), 2], [1, None], range(2)),
]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_what_is_no_pair_of_16_bits_is_found(pair: object) -> None:
    for rows in ([[pair], []], [[[0, 1], pair]], [[pair] * 3], [[[0, 1], pair, [2, 3]]]):
        assert Cells.checked(rows) is None
    assert Cells.checked([[[0, 1]], pair]) is None or pair == []


def test_pairs_of_16_bits_are_cells() -> None:
    rows: list[list[tuple[int, int]]] = [[(2, 7), (0, 65535)], [], [(1, 0)]]
    for given in (rows, [list(map(list, row)) for row in rows], tuple(map(tuple, rows))):
        found = Cells.checked(given)
        assert found is not None
        assert found.lists() == Cells.of(rows).lists()
        assert found.size == 3
    nothing = Cells.checked([[], []])
    assert nothing is not None
    assert (len(nothing), nothing.size) == (0, 2)


def test_rows_are_as_they_were() -> None:
    rows = [[[2, 7], [0, 9]], [], [[1, 1]]]
    assert Cells.of(rows).lists() == rows
    assert Cells.of(rows).row_sums().tolist() == [16, 0, 1]
    assert Cells.of(rows).column_sums().tolist() == [9, 1, 7]
    assert Cells.of(rows).by_uid().lists() == [[[0, 9], [2, 7]], [], [[1, 1]]]
