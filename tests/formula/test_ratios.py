from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from examples import fast_rows
from formula.agreement import lowered, way_of
from formula.constructed import LIMITS, SIZES, TIES, Sample, share, small_ratios

from tallystick.formula.columns import CHUNK, ColumnProgram
from tallystick.numbers.nano import NANO

Ratios = list[tuple[int, int]]


@pytest.fixture(scope="module")
def small() -> Ratios:
    return small_ratios(300)


@pytest.fixture(scope="module")
def wanted(small: Ratios) -> list[int]:
    return [round(Fraction(a, b) * NANO) for a, b in small]


@pytest.mark.parametrize(
    ("most", "ways"),
    fast_rows([(300, ("whole",)), (1 << 40, ("settled whole",)), (1 << 63, ())], 1, 2),
)
def test_every_small_ratio_is_rounded_half_even_in_every_way(
    most: int, ways: tuple[str, ...], small: Ratios, wanted: list[int]
) -> None:
    program = lowered(share(most))
    columns = ColumnProgram(program)
    assert tuple(map(way_of, columns.proposals)) == ways
    found = columns([np.array(column, np.int64) for column in zip(*small, strict=True)], len(small))
    assert len(small) > CHUNK
    assert found.tolist() == wanted


@pytest.mark.parametrize("sample", [*SIZES, *LIMITS, *TIES], ids=lambda sample: sample.name)
def test_ties_their_nearest_misses_and_the_largest_sizes_are_exact(sample: Sample) -> None:
    sample.check()


def test_no_rows_give_no_values() -> None:
    columns = ColumnProgram(lowered(share(300)))
    empty = np.array([], np.int64)
    assert columns([empty, empty], 0).tolist() == []
