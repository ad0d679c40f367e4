"""Nano integers and their notations."""

import copy
import pickle
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import oracle

from tallystick.errors import NumberError
from tallystick.numbers import nano

WHOLE = st.integers(-(10**30), 10**30)
POSITIVE = st.integers(1, 10**30)


@given(WHOLE, POSITIVE)
def test_rounding_gives_the_nearest_integer(numerator: int, denominator: int) -> None:
    assert oracle.is_nearest(nano.round_half_even(numerator, denominator), numerator, denominator)


@given(WHOLE, POSITIVE)
def test_a_tie_is_rounded_to_the_even_neighbour(whole: int, scale: int) -> None:
    rounded = nano.round_half_even((2 * whole + 1) * scale, 2 * scale)
    assert rounded % 2 == 0
    assert rounded in (whole, whole + 1)


@given(WHOLE)
def test_every_notation_gives_the_value_back(value: int) -> None:
    assert nano.from_text(nano.to_text(value)) == value
    assert nano.publish(nano.to_fraction(value)) == value
    assert nano.from_decimal(nano.to_decimal(value)) == value


@pytest.mark.parametrize(
    ("text", "value"), [("1", 10**9), ("0.5", 5 * 10**8), ("-0.000000000", 0), ("007", 7 * 10**9)]
)
def test_text_may_have_fewer_places(text: str, value: int) -> None:
    assert nano.from_text(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "-", ".5", "1.", "+1", "1e3", " 1", "1\n", "nan", "0.1234567890", "1_0", "٣", "9" * 31],
)
def test_text_that_is_no_nano_is_refused(text: str) -> None:
    with pytest.raises(NumberError, match=r"expected a decimal such as '0\.766438904'"):
        nano.from_text(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3 * 10**9),
        (-3, -3 * 10**9),
        (Decimal("0.35"), 350_000_000),
        (Decimal("-0.000000001"), -1),
        (Decimal("0.10000000000000"), 10**8),
        (Decimal("1E+3"), 10**12),
        (Decimal("0E-999999"), 0),
        (Decimal("-0"), 0),
        (Decimal("9" * 30), (10**30 - 1) * 10**9),
    ],
)
def test_a_decimal_is_taken_exactly(value: Decimal | int, expected: int) -> None:
    assert nano.from_decimal(value) == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Decimal("NaN"), "found NaN, expected a finite number"),
        (Decimal("sNaN"), "found sNaN, expected a finite number"),
        (Decimal("-Infinity"), "found -Infinity, expected a finite number"),
        (Decimal("0.1234567891"), "found 0.1234567891, expected at most nine decimal places"),
        (Decimal("1E-999999999"), "found 1E-999999999, expected at most nine decimal places"),
        (Decimal("1E+999999999"), r"found 1E\+999999999, expected fewer than 31 digits"),
        (10**30, "expected fewer than 31 digits"),
        (0.5, r"found 0\.5, expected an integer or a decimal"),
        (True, "found True, expected an integer or a decimal"),
        ("1", "found '1', expected an integer or a decimal"),
    ],
)
def test_a_decimal_that_is_no_nano_is_refused(value: Decimal | int, message: str) -> None:
    with pytest.raises(NumberError, match=message):
        nano.from_decimal(value)


@given(st.floats(-1e290, 1e290))
def test_a_double_is_scaled_in_doubles_and_rounded_half_even(x: float) -> None:
    assert oracle.is_nearest(nano.from_double(x), *(x * 1e9).as_integer_ratio())


@pytest.mark.parametrize("x", [float("nan"), float("inf"), float("-inf"), 1e300, 10**400])
def test_a_double_that_is_not_finite_is_refused(x: float) -> None:
    with pytest.raises(NumberError, match="expected a finite number below 1e299"):
        nano.from_double(x)


@given(st.one_of(st.integers(-2000, 2000), st.integers(-(10**12), 10**12)))
def test_the_text_of_a_value_is_its_nine_places(value: int) -> None:
    found = nano.to_decimal(value)
    assert str(found) == f"{found}" == nano.to_text(value)
    assert repr(found) == f"Decimal('{nano.to_text(value)}')"
    assert found == Decimal(value).scaleb(-9)
    assert hash(found) == hash(Decimal(value).scaleb(-9))
    again = pickle.loads(pickle.dumps(found))  # noqa: S301  # what was pickled here
    assert (str(again), again) == (str(found), found)
    assert str(copy.deepcopy(found)) == str(found)


def test_a_median_of_nothing_is_refused() -> None:
    with pytest.raises(NumberError, match="found no value, expected at least one"):
        nano.median([])
