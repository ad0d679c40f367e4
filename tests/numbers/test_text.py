"""Numbers as people read them."""

from fractions import Fraction

import pytest

from tallystick.numbers.nano import NANO
from tallystick.numbers.text import counted, decimal, fraction, grouped, numbered, percent, points


@pytest.mark.parametrize(
    ("nano", "shown"),
    [
        (0, "0.00 %"),
        (NANO, "100.00 %"),
        (123_450_000, "12.34 %"),
        (123_550_000, "12.36 %"),
        (-4_999, "0.00 %"),
        (-10_000_000, "−1.00 %"),
        (None, "–"),
    ],
)
def test_a_percentage_rounds_half_to_even_and_is_never_a_negative_nothing(
    nano: int | None, shown: str
) -> None:
    assert percent(nano) == shown


def test_a_change_has_a_sign_unless_it_is_nothing() -> None:
    assert points(1_000_000) == "+0.100"
    assert points(-1_000_000) == "−0.100"
    assert points(1) == "0.000"


@pytest.mark.parametrize(
    ("places", "shown"),
    [(0, "1,235"), (1, "1,234.5"), (2, "1,234.50"), (9, "1,234.500000001")],
)
def test_a_decimal_keeps_so_many_places(places: int, shown: str) -> None:
    assert decimal(1_234_500_000_001, places) == shown


def test_a_number_of_things_agrees_with_it() -> None:
    assert [numbered(n, "record") for n in (0, 1, 12_345)] == [
        "0 records",
        "1 record",
        "12345 records",
    ]
    assert [counted(n, "record") for n in (0, 1, 12_345)] == [
        "0 records",
        "1 record",
        "12,345 records",
    ]
    assert [grouped(n) for n in (None, 0, 12_345)] == ["–", "0", "12,345"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Fraction(0), "0"),
        (1, "1"),
        (100, "100"),
        (Fraction(-1, 2), "-0.5"),
        (Fraction(1, 3), "1/3"),
        (Fraction(1, NANO), "0.000000001"),
        (Fraction(1, 10 * NANO), "1/10000000000"),
    ],
)
def test_a_fraction_is_a_decimal_when_nine_places_hold_it(value: Fraction, shown: str) -> None:
    assert fraction(value) == shown
