"""Weights: exact shares of one."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.errors import NumberError
from tallystick.numbers.weights import Weights


@st.composite
def thousandths(draw: st.DrawFn) -> list[Fraction]:
    """Weights of at most three decimals that sum to one."""
    cuts = sorted(draw(st.lists(st.integers(0, 1000), max_size=8)))
    bounds = zip([0, *cuts], [*cuts, 1000], strict=True)
    return [Fraction(high - low, 1000) for low, high in bounds]


@given(thousandths())
def test_weights_are_kept_exactly(values: list[Fraction]) -> None:
    weights = Weights.of(values)
    assert [Fraction(a, weights.denominator) for a in weights.numerators] == values


@given(thousandths())
def test_weights_are_in_lowest_terms(values: list[Fraction]) -> None:
    weights = Weights.of(values)
    assert sum(weights.numerators) == weights.denominator
    assert min(weights.numerators) >= 0
    for prime in (2, 5):
        assert any(n % prime for n in (*weights.numerators, weights.denominator))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5, 0.5], r"weight 0: found 0\.5, expected an integer or a decimal"),
        ([Decimal("0.5"), 0.5], r"weight 1: found 0\.5, expected an integer or a decimal"),
        ([Decimal("1.5"), Decimal("-0.5")], r"weight 1: found -0\.5, expected at least 0"),
        (
            [Decimal("0.9995"), Decimal("0.0005")],
            r"weight 0: found 0\.9995, expected at most three",
        ),
        ([Decimal("0.3")] * 3, r"sum to 0\.9, expected exactly 1"),
        ([], "sum to 0, expected exactly 1"),
    ],
)
def test_weights_that_are_no_shares_of_one_are_refused(
    values: list[Fraction | Decimal | int], message: str
) -> None:
    with pytest.raises(NumberError, match=message):
        Weights.of(values)
