"""Enclosures of roots, exp and log of a rational number, by whole numbers alone.

An enclosure of x at some bits is a pair of whole numbers (low, high) with low ≤ x · 2ᵇⁱᵗˢ ≤ high,
few units apart. Work is done with spare bits; of these every function loses a few.

*exp.* With k near x / ln 2 the rest r = x − k · ln 2 is in [0, 1), up to a few units. The series of
r / 2ʰ loses a unit a term and has fewer terms than there are bits w; h squarings multiply what is
lost by at most 2ʰ · e and lose a unit each: together less than (w + 32) · 2ʰ⁺² units of 2⁻ʷ.

*log.* x is m · 2ᵏ with m in (1/2, 4/3]. Of h square roots of m each loses a unit, which is at most
two of its log; log m = 2ʰ⁺¹ · artanh((r − 1) / (r + 1)) of the last, whose series loses less than
four units a term; each of the k times ln 2 loses one: together less than (8w + |k|) · 2ʰ.

*Powers.* A power p/q is the root of a whole number, cut; where that would be a long one, it is exp
of p/q times the log.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, isqrt, log

Enclosure = tuple[int, int]
"""The largest known whole number at most x · 2ᵇⁱᵗˢ, and the smallest known at least that."""

_SPARE = 64
"""Bits beyond those that are asked for."""
_LONG_ROOT = 16
"""A root of a number of more than so many times the bits that are asked for is no short work."""
_SMALL = 48
"""A root of so many bits is proposed by a double."""
_LN2 = ((18, 26), (-2, 4801), (8, 8749))
"""ln 2 = 18 artanh(1/26) − 2 artanh(1/4801) + 8 artanh(1/8749)."""


def whole_root(number: int, degree: int) -> int:
    """The largest whole number whose power of that degree is at most ``number``, at least 0."""
    if degree == 1 or number < 2:
        return number
    if degree % 2 == 0:
        return whole_root(isqrt(number), degree // 2)
    bits = number.bit_length() // degree
    if bits < _SMALL:
        guess = round(exp(log(number) / degree))
    else:
        half = bits // 2
        guess = whole_root(number >> half * degree, degree) << half
    # of whatever is proposed the next is at least the root, and from there on they descend to it
    root = _closer(max(guess, 1), number, degree)
    while (closer := _closer(root, number, degree)) < root:
        root = closer
    return root


def _closer(root: int, number: int, degree: int) -> int:
    """Return one step of Newton's method."""
    below: int = root ** (degree - 1)
    return ((degree - 1) * root + number // below) // degree


def enclose_root(numerator: int, denominator: int, degree: int, bits: int) -> Enclosure:
    """Return the root of a ratio of positive whole numbers."""
    low = whole_root((numerator << bits * degree) // denominator, degree)
    return low, low + 1


def enclose_power(
    numerator: int, denominator: int, times: int, degree: int, bits: int
) -> Enclosure:
    """The power ``times / degree`` of a ratio of positive whole numbers; both are above 0."""
    widest = max(numerator.bit_length(), denominator.bit_length())
    if max(times * widest, bits * degree) <= _LONG_ROOT * bits:
        return enclose_root(numerator**times, denominator**times, degree, bits)
    # the power is below 2 to the power `above`, so that the log is needed with so many bits more
    above = (numerator.bit_length() - denominator.bit_length() + 1) * times // degree + 1
    finer = bits + max(above, 0) + times.bit_length() + 16
    low, high = (end * times for end in enclose_log(numerator, denominator, finer))
    below = degree << finer
    return enclose_exp(low, below, bits)[0], enclose_exp(high, below, bits)[1]


def enclose_exp(numerator: int, denominator: int, bits: int) -> Enclosure:
    """Return the exponential of a ratio, whose denominator is positive."""
    turns = (numerator << _SPARE) // denominator // _ln2(_SPARE)
    if turns < -bits - 2:
        return 0, 1
    halvings = 8 + isqrt(bits) // 2
    width = bits + _SPARE + halvings + max(turns, 0)
    finer = width + turns.bit_length() + 2
    rest = ((numerator << finer) // denominator - turns * _ln2(finer)) >> finer - width
    power = _exp_of_small(rest >> halvings, width)
    for _ in range(halvings):
        power = power * power >> width
    lost, shift = width + 32 << halvings + 2, width - bits - turns
    return max(power - lost >> shift, 0), (power + lost >> shift) + 1


def _exp_of_small(value: int, width: int) -> int:
    """Return the series of exp; value and result are in units of 2⁻ʷⁱᵈᵗʰ."""
    term = total = 1 << width
    number = 1
    while term := (term * value >> width) // number:
        if term == -1:  # what a value below 0 ends with
            break
        total += term
        number += 1
    return total


def enclose_log(numerator: int, denominator: int, bits: int) -> Enclosure:
    """Return the natural logarithm of a ratio of positive whole numbers."""
    doublings = numerator.bit_length() - denominator.bit_length()
    if doublings > 0:
        denominator <<= doublings
    else:
        numerator <<= -doublings
    if 3 * numerator > 4 * denominator:
        denominator <<= 1
        doublings += 1
    halvings = isqrt(bits) // 4
    width = bits + _SPARE + halvings
    one = 1 << width
    root = (numerator << width) // denominator
    for _ in range(halvings):
        root = isqrt(root << width)
    half = _artanh((abs(root - one) << width) // (root + one), width)
    log = ((half if root >= one else -half) << halvings + 1) + doublings * _ln2(width)
    lost, shift = 8 * width + abs(doublings) << halvings, width - bits
    return log - lost >> shift, (log + lost >> shift) + 1


def _artanh(value: int, width: int) -> int:
    """Return the series of artanh of a value of at least 0, in units of 2⁻ʷⁱᵈᵗʰ."""
    square = value * value >> width
    total, number = 0, 1
    while value:
        total += value // number
        value = value * square >> width
        number += 2
    return total


def _ln2(bits: int) -> int:
    """Return the logarithm of 2 in units of 2⁻ᵇⁱᵗˢ, less than one off."""
    widest = 1 << max(bits, _SPARE).bit_length()
    return _remembered_ln2(widest) >> widest - bits


@lru_cache(maxsize=16)
def _remembered_ln2(bits: int) -> int:
    """Return ln 2 · 2**bits by Machin's series, each of which loses less than 4 units a term."""
    width = bits + 32
    return sum(times * _artanh((1 << width) // divisor, width) for times, divisor in _LN2) >> 32
