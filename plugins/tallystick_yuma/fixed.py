"""The chain's fixed-point numbers: a whole number x stands for x / 2**32 (I32F32).

The scalar functions say what each operation is, in Python's integers. Those over columns give the
same: they take the cheapest arithmetic of 64 bits that is exact for the magnitudes at hand, and
where none is, the scalar function, element by element. No float takes part.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.int64]
"""Whole numbers of 64 bits."""
Truths = npt.NDArray[np.bool_]
_Unsigned = npt.NDArray[np.uint64]

ONE = 1 << 32
"""The number one."""
U16_MAX = (1 << 16) - 1
"""The number one as the chain stores proportions."""
LARGEST, SMALLEST = (1 << 63) - 1, -(1 << 63)
"""The largest number of the chain."""
TERMS = range(2, 32)
"""The terms of the exponential series after the second; there is no early stop."""
EXP_LIMIT = 20 * ONE
"""The largest magnitude of which an exponential is taken."""
EXP_ONE = 22802600 << 9
"""The chain's e, with 23 fraction bits."""

_LOW, _LOW_BITS, _HALF = np.int64(ONE - 1), np.uint64(ONE - 1), np.uint64(32)
_ALL = np.uint64((1 << 64) - 1)
_BLOCK = 4096
"""Elements whose intermediate columns stay in the cache of a core."""


def product(a: int, b: int) -> int:
    """The product, rounded toward minus infinity; the nearest number there is when it is beyond."""
    return max(SMALLEST, min(LARGEST, a * b >> 32))


def quotient(a: int, b: int) -> int:
    """Return the quotient, rounded toward zero; 0 for a divisor of 0, and when it is beyond."""
    if not b:
        return 0
    magnitude = (abs(a) << 32) // abs(b)
    signed = magnitude if (a < 0) == (b < 0) else -magnitude
    return signed if SMALLEST <= signed <= LARGEST else 0


def exponential(x: int) -> int:
    """The chain's series of 31 terms, for at most 20 in magnitude; exactly 1 gives ``EXP_ONE``."""
    if x == ONE:
        return EXP_ONE
    a = min(abs(x), EXP_LIMIT)
    total, term = ONE + a, a
    for i in TERMS:
        term = (term * a >> 32) // i
        total += term
    return total if x >= 0 else (1 << 64) // total


def proportion(value: int, whole: int = U16_MAX) -> int:
    """Return a part of a whole, such as a parameter of 16 bits, as a number."""
    return (value << 32) // whole


def products(a: Column, b: Column | int) -> Column:
    """Return the `product` of each pair."""
    (low, high), (least, most) = _range(a), _range(b)
    largest = max(-low, high) * max(-least, most)
    if largest <= LARGEST:
        return a * b >> 32
    other = np.asarray(b, np.int64)
    if low >= 0 and least >= 0 and largest < 1 << 64:
        return (a.view(np.uint64) * other.view(np.uint64) >> _HALF).view(np.int64)
    if largest < 1 << 95:
        return _split_product(a, other)
    return _each(product, a, other)


def _split_product(a: Column, b: Column) -> Column:
    """Return products below 2**63, by halves of 32 bits; an overflow on the way wraps back."""
    a_high, b_high, a_low, b_low = a >> 32, b >> 32, a & _LOW, b & _LOW
    low = a_low.view(np.uint64) * b_low.view(np.uint64) >> _HALF
    product: Column = (a_high * b_high << 32) + a_high * b_low + a_low * b_high + low.view(np.int64)
    return product


def quotients(a: Column, b: Column | int) -> Column:
    """Return the `quotient` of each pair."""
    divisor = np.asarray(b, np.int64)
    low, high = _range(a)
    # below 2**31 times the divisor, or the quotient is beyond
    if low < 0 or not (a >> 31 < divisor).all():
        return _each(quotient, a, divisor)
    by, rest, left = divisor.view(np.uint64), a.view(np.uint64), 32
    result = np.zeros(len(a), np.uint64)
    # as many bits at once as a remainder has room for
    while left:
        step = min(left, 64 - high.bit_length())
        rest = rest << np.uint64(step)
        digits = rest // by
        result = (result << np.uint64(step)) + digits
        left -= step
        if left:
            rest -= digits * by
            high = int(rest.max(initial=0))
    return result.view(np.int64)


def exponentials(x: Column) -> Column:
    """Return the `exponential` of each."""
    a = np.minimum(np.abs(np.maximum(x, -EXP_LIMIT)), EXP_LIMIT).view(np.uint64)
    total = np.empty(len(a), np.uint64)
    for begin in range(0, len(a), _BLOCK):
        total[begin : begin + _BLOCK] = _series(a[begin : begin + _BLOCK])
    powers = np.where(x < 0, reciprocals(total), total.view(np.int64))
    powers[x == ONE] = EXP_ONE
    return powers


def _series(a: _Unsigned) -> _Unsigned:
    """1 + a + a²/2 + …; each term is below 2**58, so halves of 32 bits multiply without loss."""
    low, high = a & _LOW_BITS, a >> _HALF
    total, term, part = a + np.uint64(ONE), a.copy(), np.empty_like(a)
    carried = np.empty_like(a)
    for i in TERMS:
        # term · a / 2**32 = term · high + (upper half of term) · low + (lower half · low) / 2**32
        np.bitwise_and(term, _LOW_BITS, out=part)
        np.multiply(part, low, out=part)
        np.right_shift(part, _HALF, out=part)
        np.right_shift(term, _HALF, out=carried)
        np.multiply(carried, low, out=carried)
        np.multiply(term, high, out=term)
        term += carried
        term += part
        np.floor_divide(term, np.uint64(i), out=term)
        total += term
    return total


def reciprocals(x: Column | _Unsigned) -> Column:
    """Return the number 1 / x of each, rounded down, for x above 2**-32: the quotient of 2**64."""
    by = x.view(np.uint64)
    result = _ALL // by
    # 2**64 is one more than can be divided
    result += _ALL - result * by == by - np.uint64(1)
    return result.view(np.int64)


def normalised(x: Column) -> Column:
    """Return each element divided by the sum of all; as they are when that is 0."""
    whole = int(x.sum())
    return quotients(x, whole) if whole else x.copy()


def u16(x: Column) -> Column:
    """Return each number as a proportion of 65535, from 0 to that."""
    return np.clip(x, 0, ONE) * U16_MAX >> 32


def of_u16(x: Column) -> Column:
    """Return the `proportion` of each."""
    return (x << 32) // U16_MAX


def _range(x: Column | int) -> tuple[int, int]:
    """Return the least and the largest element, and 0."""
    if isinstance(x, int):
        return min(x, 0), max(x, 0)
    return int(x.min(initial=0)), int(x.max(initial=0))


def _each(function: Callable[[int, int], int], a: Column, b: Column) -> Column:
    pairs = zip(a.tolist(), np.broadcast_to(b, a.shape).tolist(), strict=True)
    return np.fromiter((function(*pair) for pair in pairs), np.int64, len(a))
