from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.rules.toml import UnusableNumber, decimal_text, parse


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0.5", "0.5"),
        ("0.50", "0.5"),
        ("5e-1", "0.5"),
        ("1_000.5", "1000.5"),
        ("0.1234567890", "0.123456789"),
        ("1e9", "1000000000"),
        ("-0.0", "0"),
        ("0e-400", "0"),
    ],
)
def test_a_number_with_a_point_is_an_exact_decimal(written: str, value: str) -> None:
    document = parse(f"x = {written}", "f")
    assert type(document.data["x"]) is Decimal
    assert decimal_text(document.data["x"]) == value


@pytest.mark.parametrize(
    "written",
    ["nan", "+nan", "-nan", "inf", "+inf", "-inf", "1e-10", "0.1234567891", "1e31", "1e999999999"],
)
def test_a_number_that_no_rule_set_may_hold_is_kept_as_text(written: str) -> None:
    data = parse(f"[t]\na = [1, {{ x = {written} }}]", "f").data
    assert data["t"]["a"][1]["x"] == UnusableNumber(written)


@given(st.integers(-(10**18), 10**18), st.integers(0, 9))
def test_the_text_of_a_decimal_denotes_it_and_is_the_shortest(count: int, places: int) -> None:
    value = Decimal(count).scaleb(-places)
    text = decimal_text(value)
    assert Decimal(text) == value
    assert "E" not in text
    assert len(text) == min(len(form) for form in (text, f"{value:f}"))
    assert "." not in text or text[-1] not in "0."
