"""No weighted geometric mean moves further than its bound says, and some move as far."""

import random
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import pytest
from examples import fast_rows
from hypothesis import given
from hypothesis import strategies as st

from tallystick_governance.diff.geometric_mean import moved, reweighted
from tallystick_governance.ranges import Interval

THOUSANDTHS = 1000
units = st.integers(0, 10**6).map(lambda n: Fraction(n, 10**6))


def mean(values: dict[str, Fraction], weights: dict[str, Fraction]) -> Decimal:
    """The mean to sixty digits, by logarithms."""
    with localcontext() as context:
        context.prec = 60
        if any(weights[n] and not values[n] for n in weights):
            return Decimal(0)
        logs = (
            decimal(weight) * decimal(values[name]).ln()
            for name, weight in weights.items()
            if weight
        )
        return sum(logs, Decimal(0)).exp()


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@st.composite
def weights(draw: st.DrawFn) -> dict[str, Fraction]:
    cuts = sorted(draw(st.lists(st.integers(0, THOUSANDTHS), min_size=3, max_size=3)))
    ends = [0, *cuts, THOUSANDTHS]
    shares = [high - low for low, high in pairwise(ends)]
    return {name: Fraction(n, THOUSANDTHS) for name, n in zip("abcd", shares, strict=True)}


values = st.fixed_dictionaries(dict.fromkeys("abcd", units))


def holds(interval: Interval, value: Decimal) -> bool:
    slack = Fraction(1, 10**30)  # of the logarithms of this test
    return interval.low - slack <= Fraction(value) <= interval.high + slack


@given(weights(), weights(), values)
def test_a_mean_of_other_weights_lies_within_the_bound(
    old: dict[str, Fraction], new: dict[str, Fraction], at: dict[str, Fraction]
) -> None:
    assert holds(reweighted(old, new), mean(at, new) - mean(at, old))


@given(weights(), values, values)
def test_a_mean_of_other_values_lies_within_the_bound(
    shares: dict[str, Fraction], old: dict[str, Fraction], new: dict[str, Fraction]
) -> None:
    moves = {name: Interval(new[name] - old[name], new[name] - old[name]) for name in old}
    assert holds(moved(shares, moves), mean(new, shares) - mean(old, shares))


@pytest.mark.parametrize("seed", fast_rows(range(5), 2))
def test_the_bound_of_other_weights_is_nearly_reached(seed: int) -> None:
    choices = random.Random(seed)
    shift = Fraction(choices.randint(1, 200), THOUSANDTHS)
    old = {"a": Fraction(1, 2), "b": Fraction(1, 2)}
    new = {"a": Fraction(1, 2) + shift, "b": Fraction(1, 2) - shift}
    most = max(
        mean({"a": Fraction(1), "b": Fraction(n, 2000)}, new)
        - mean({"a": Fraction(1), "b": Fraction(n, 2000)}, old)
        for n in range(1, 2001)
    )
    bound = reweighted(old, new).high
    assert bound * Fraction(999, 1000) <= Fraction(most) <= bound


def test_equal_weights_move_nothing_and_a_new_axis_can_take_all() -> None:
    old = {"a": Fraction(1, 2), "b": Fraction(1, 2)}
    assert reweighted(old, old).is_zero
    assert reweighted(old, {"a": Fraction(1, 2), "c": Fraction(1, 2)}) == Interval.of(-1, 1)
