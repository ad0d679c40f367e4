"""The laws of the metrics, against definitions written out in fractions."""

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tallystick_governance.backtest.distribution import MinerChange
from tallystick_governance.backtest.outcome import MinerTotals
from tallystick_governance.backtest.statistics import (
    gini,
    hhi,
    published_share,
    ranks,
    tau_b,
)

NANO = 10**9
AMOUNTS = st.lists(st.integers(0, 6) | st.integers(0, 10**15), max_size=25)
SOME = AMOUNTS.filter(any)
FEW = st.integers(0, 5)
PAIRED = st.lists(st.tuples(FEW, FEW) | st.tuples(st.integers(0, 10**12), FEW), max_size=25)


def sign(number: int) -> int:
    return (number > 0) - (number < 0)


def pairs_of(values: list[int]) -> list[int]:
    return [sign(a - b) for a, b in combinations(values, 2)]


def nearest_root(positive: Fraction) -> int:
    """The nano nearest to the root of a fraction, found by bisection; ties are looked at apart."""
    low, high = 0, 2 * NANO
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if Fraction(middle, NANO) ** 2 <= positive else (low, middle)
    half = Fraction(2 * low + 1, 2 * NANO) ** 2
    if half == positive:
        return low + low % 2
    return low + (half < positive)


def slow_tau(first: list[int], second: list[int]) -> int | None:
    """The cosine of the signs of all pairs, which is what tau-b is."""
    a, b = pairs_of(first), pairs_of(second)
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    squares = sum(x * x for x in a) * sum(y * y for y in b)
    return sign(dot) * nearest_root(Fraction(dot * dot, squares)) if squares else None


@given(PAIRED)
@example([(0, 0), (0, 0)])
@example([(1, 1), (1, 2), (2, 2)])
def test_tau_is_the_cosine_of_the_signs_of_all_pairs(pairs: list[tuple[int, int]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    assert tau_b(first, second) == slow_tau(first, second)


def with_inversions(many: int, inversions: int) -> list[int]:
    """Distinct amounts with so many pairs in descending order."""
    pool, found = list(range(many)), []
    while pool:
        place = min(inversions, len(pool) - 1)
        inversions -= place
        found.append(pool.pop(place))
    return found


@pytest.mark.parametrize(("part", "expected"), [(1, 976_562), (3, 2_929_688), (-3, -2_929_688)])
def test_tau_in_the_middle_of_two_nanos_is_the_even_one(part: int, expected: int) -> None:
    # 4096 miners have 2048 * 4095 pairs, so tau can be part / 1024, which ends in half a nano
    every = 2048 * 4095
    second = with_inversions(4096, (every - part * 2 * 4095) // 2)
    assert tau_b(range(4096), second) == expected


@pytest.mark.parametrize("amounts", [[], [4], [4, 4, 4]])
def test_tau_without_an_order_is_undefined(amounts: list[int]) -> None:
    assert tau_b(amounts, list(range(len(amounts)))) is None


@given(st.integers(1, 10**12), st.integers(1, 10**12))
def test_a_published_share_is_the_nearest_nano(a: int, b: int) -> None:
    part, whole = min(a, b), max(a, b)
    exact = Fraction(part, whole)
    assert abs(Fraction(published_share(part, whole), NANO) - exact) <= Fraction(1, 2 * NANO)


def test_a_share_of_nothing_is_nothing() -> None:
    assert published_share(0, 0) == 0


def test_a_published_share_rounds_half_to_even() -> None:
    assert [published_share(part, 2 * NANO) for part in (1, 3, 5)] == [0, 2, 2]


@given(AMOUNTS)
def test_a_rank_is_one_more_than_the_larger_amounts(amounts: list[int]) -> None:
    assert ranks(amounts) == [1 + sum(a > each for a in amounts) for each in amounts]


@given(SOME)
def test_gini_is_half_the_mean_difference_over_the_mean(amounts: list[int]) -> None:
    differences = sum(abs(a - b) for a in amounts for b in amounts)
    assert gini(amounts) == Fraction(differences, 2 * len(amounts) * sum(amounts))


@given(SOME)
def test_hhi_is_the_sum_of_the_squares_of_the_shares(amounts: list[int]) -> None:
    assert hhi(amounts) == sum(Fraction(each, sum(amounts)) ** 2 for each in amounts)


@pytest.mark.parametrize("amounts", [[], [0], [0, 0, 0]])
def test_the_concentration_of_nothing_is_undefined(amounts: list[int]) -> None:
    assert gini(amounts) is None
    assert hhi(amounts) is None


def changed(before: int, after: int) -> MinerChange:
    return MinerChange(MinerTotals("hk", 1), before, after, before, after, 1, 1)


@given(st.integers(1, NANO), st.integers(0, NANO))
def test_a_relative_change_is_the_nearest_nano(before: int, after: int) -> None:
    change = changed(before, after).relative
    assert change is not None
    exact = Fraction(after, before) - 1
    assert abs(Fraction(change, NANO) - exact) <= Fraction(1, 2 * NANO)
    assert changed(0, after).relative is None
