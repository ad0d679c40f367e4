"""Sparse matrices beside dictionaries of their cells."""

import random

import numpy as np

from tallystick_yuma.cells import Cells, summed

SIZE = 12


def matrix(seed: int) -> dict[tuple[int, int], int]:
    """Some 100 cells, rows in no order."""
    draw = random.Random(seed)
    return {
        (row, uid): draw.choice([0, 1, 5, 1 << 40])
        for row in range(10)
        for uid in draw.sample(range(12), draw.choice([0, 5, 12]))
    }


def cells_of(found: dict[tuple[int, int], int]) -> Cells:
    rows: list[list[tuple[int, int]]] = [[] for _ in range(SIZE)]
    for (row, uid), value in found.items():
        rows[row].append((uid, value))
    return Cells.of(rows)


def test_a_sum_is_over_the_cells_of_either() -> None:
    for seed in range(20):
        first, second = matrix(seed), matrix(seed + 100)
        found = summed(cells_of(first), cells_of(second))
        keys = sorted({*first, *second})
        expected = [(*key, first.get(key, 0) + second.get(key, 0)) for key in keys]
        got = zip(found.rows.tolist(), found.uids.tolist(), found.values.tolist(), strict=True)
        assert list(got) == [cell for cell in expected if cell[2] > 0]


def test_a_cell_is_found_by_its_key() -> None:
    for seed in range(20):
        held = matrix(seed)
        asked = [(row, uid) for row in range(SIZE) for uid in range(SIZE)]
        keys = np.array([row * SIZE + uid for row, uid in asked], np.int64)
        assert cells_of(held).at(keys).tolist() == [held.get(key, 0) for key in asked]


def test_nothing_has_no_cells() -> None:
    nothing = cells_of({})
    assert not len(summed(nothing, nothing))
    assert nothing.at(np.array([3], np.int64)).tolist() == [0]
    assert nothing.row_sums().tolist() == nothing.column_maxima().tolist() == [0] * SIZE
    assert nothing.lists() == [[]] * SIZE


def test_rows_are_as_they_were() -> None:
    rows = [[[2, 7], [0, 9]], [], [[1, 1]]]
    assert Cells.of(rows).lists() == rows
    assert Cells.of(rows).row_sums().tolist() == [16, 0, 1]
    assert Cells.of(rows).column_sums().tolist() == [9, 1, 7]
    assert Cells.of(rows).by_uid().lists() == [[[0, 9], [2, 7]], [], [[1, 1]]]
