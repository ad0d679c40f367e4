"""Sums of values by miner are exact."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tallystick_governance.backtest.type_totals import MinerGroups, Sums


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-(2**63), 2**63 - 1)), min_size=1))
def test_sums_are_exact_whatever_their_size(rows: list[tuple[int, int]]) -> None:
    rows.sort(key=lambda row: row[0])
    miners = np.array([miner for miner, _ in rows], np.intp)
    sums = Sums()
    sums.reserve(5)
    for _ in range(3):
        sums.add(np.array([value for _, value in rows], np.int64), MinerGroups.of(miners))
    other = Sums()
    other.reserve(5)
    other.merge(sums, np.array([4, 3, 2, 1, 0], np.intp))
    exact = [3 * sum(value for miner, value in rows if miner == each) for each in range(5)]
    assert list(sums.totals(range(5))) == exact
    assert list(other.totals(range(5))) == exact[::-1]


@given(st.lists(st.integers(-(2**60), 2**60), min_size=1, max_size=40), st.integers(0, 2))
def test_sums_are_exact_when_values_are_known_to_be_small(values: list[int], spare: int) -> None:
    """Many additions that each fit 64 bits, but not together, with as little room as there is."""
    sums, miners = Sums(2**60 + spare), np.zeros(1, np.intp)
    sums.reserve(1)
    for value in values:
        sums.add(np.array([value], np.int64), MinerGroups.of(miners))
        sums.count(MinerGroups.of(miners))
    merged = Sums(2**60)
    merged.reserve(1)
    for _ in range(2):
        merged.merge(sums, miners)
    assert sums.totals([0, 1]) == (sum(values) + len(values), 0)
    assert merged.totals([0]) == (2 * sums.totals([0])[0],)
