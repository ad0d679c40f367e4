"""Numbers as people read them."""

from collections.abc import Callable
from fractions import Fraction

import pytest

from tallystick.numbers.nano import NANO
from tallystick.numbers.text import counted, decimal, fraction, grouped, numbered, percent, points

TEXTS: list[tuple[Callable[[], str], str]] = [
    (lambda: percent(0), "0.00 %"),
    (lambda: percent(NANO), "100.00 %"),
    (lambda: percent(123_450_000), "12.34 %"),
    (lambda: percent(123_550_000), "12.36 %"),
    (lambda: percent(-4_999), "0.00 %"),
    (lambda: percent(-10_000_000), "−1.00 %"),
    (lambda: percent(None), "–"),
    (lambda: points(1_000_000), "+0.100"),
    (lambda: points(-1_000_000), "−0.100"),
    (lambda: points(1), "0.000"),
    (lambda: decimal(1_234_500_000_001, 0), "1,235"),
    (lambda: decimal(1_234_500_000_001, 1), "1,234.5"),
    (lambda: decimal(1_234_500_000_001, 9), "1,234.500000001"),
    (lambda: numbered(0, "record"), "0 records"),
    (lambda: numbered(1, "record"), "1 record"),
    (lambda: numbered(12_345, "record"), "12345 records"),
    (lambda: counted(1, "record"), "1 record"),
    (lambda: counted(12_345, "record"), "12,345 records"),
    (lambda: grouped(None), "–"),
    (lambda: fraction(0), "0"),
    (lambda: fraction(100), "100"),
    (lambda: fraction(Fraction(-1, 2)), "-0.5"),
    (lambda: fraction(Fraction(1, 3)), "1/3"),
    (lambda: fraction(Fraction(1, NANO)), "0.000000001"),
    (lambda: fraction(Fraction(1, 10 * NANO)), "1/10000000000"),
]


@pytest.mark.parametrize(("write", "text"), TEXTS)
def test_a_number_is_written_as_people_read_it(write: Callable[[], str], text: str) -> None:
    assert write() == text
