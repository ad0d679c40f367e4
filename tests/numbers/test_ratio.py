"""The ratio of two integers, scalar and in columns."""

import numpy as np
import pytest
from kernels import cases, oracle

from tallystick.errors import NumberError
from tallystick.numbers._columns import ratio as kernel
from tallystick.numbers.ratio import ratio, ratio_columns

BITS = (4, 10, 20, 22, 23, 31, 40, 53, 54, 61)
LIMIT = 2**61 - 1


def wrong_rows(bits: int, rows: int, seed: int = 1) -> list[int]:
    numerators, denominators = cases.ratios(seed, rows, bits)
    return oracle.wrong_ratios(ratio_columns(numerators, denominators), numerators, denominators)


@pytest.mark.parametrize("bits", BITS)
def test_a_column_is_the_exact_ratio_rounded_once(bits: int) -> None:
    assert wrong_rows(bits, 10_000) == []


def test_spans_join() -> None:
    assert wrong_rows(45, 70_000) == []


@pytest.mark.slow
@pytest.mark.parametrize("bits", BITS)
def test_a_million_rows_are_the_exact_ratio_rounded_once(bits: int) -> None:
    assert wrong_rows(bits, 100_000, seed=2) == []


def test_every_small_ratio_is_exact() -> None:
    numerators, denominators = np.meshgrid(np.arange(-300, 301), np.arange(1, 301))
    a, b = numerators.ravel(), denominators.ravel()
    assert oracle.wrong_ratios(ratio_columns(a, b), a, b) == []
    narrow = ratio_columns(a.astype(np.int32), b.astype(np.int32))
    assert oracle.wrong_ratios(narrow, a, b) == []


def test_ratios_beyond_one_and_below_zero_are_exact() -> None:
    b = cases.integers(1, 20_000, 1, LIMIT >> 19)
    a = b * cases.integers(2, 20_000, -500_000, 500_000) + cases.integers(3, 20_000, 0, 10**6)
    within = np.abs(a / b) < 500_000
    assert oracle.wrong_ratios(ratio_columns(a[within], b[within]), a[within], b[within]) == []


@pytest.mark.parametrize("bits", BITS)
def test_a_scalar_equals_its_row(bits: int) -> None:
    a, b = cases.ratios(3, 500, bits)
    scalars = [ratio(*pair) for pair in zip(a.tolist(), b.tolist(), strict=True)]
    assert scalars == ratio_columns(a, b).tolist()


def test_32_bits_and_mixed_columns_give_the_same_ratios() -> None:
    a, b = cases.ratios(4, 5_000, 31)
    expected = ratio_columns(a, b).tolist()
    assert ratio_columns(a.astype(np.int32), b.astype(np.int32)).tolist() == expected
    assert ratio_columns(a.astype(np.int32), b).tolist() == expected


def test_the_ends_of_the_range_are_exact() -> None:
    a = np.array([0, 1, LIMIT // 2, LIMIT // 2 + 1, LIMIT - 1, LIMIT, -LIMIT])
    b = np.full(len(a), LIMIT)
    assert oracle.wrong_ratios(ratio_columns(a, b), a, b) == []


@pytest.mark.parametrize("bits", [31, 61])
def test_the_oracle_sees_a_kernel_without_correction(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_is_small", lambda *_: True)
    assert wrong_rows(bits, 10_000)


def test_the_oracle_sees_rounding_half_up() -> None:
    a, b = cases.ratios(1, 10_000, 20)
    half_up = np.array([(2 * 10**9 * x + y) // (2 * y) for x, y in zip(a, b, strict=True)])
    assert oracle.wrong_ratios(half_up, a, b)


@pytest.mark.parametrize("value", [0, -1, 2**61])
def test_a_denominator_outside_its_range_is_refused(value: int) -> None:
    b = np.array([1, value])
    with pytest.raises(NumberError, match=f"row 1: found the denominator {value}, expected"):
        ratio_columns(np.array([1, 1]), b)


def test_a_scalar_denominator_that_is_not_positive_is_refused() -> None:
    with pytest.raises(NumberError, match="found the denominator 0, expected at least 1"):
        ratio(1, 0)


def test_a_ratio_beyond_correction_is_refused() -> None:
    assert ratio_columns(np.array([562_949]), np.array([1])).tolist() == [562_949 * 10**9]
    with pytest.raises(NumberError, match="row 0: found 562950 / 1, expected a ratio within"):
        ratio_columns(np.array([562_950]), np.array([1]))


def test_columns_that_do_not_fit_are_refused() -> None:
    with pytest.raises(NumberError, match="column 1: found 2 rows, expected 1"):
        ratio_columns(np.array([1]), np.array([1, 2]))
