"""Columns of ratios in nano: q = 1e9 * a / b. Let u = 2**-53.

*Small*, |a| < 2**22 and b <= 2**53. 1e9 * a is exact and below 2**52, so one rounding moves q by at
most u|q| < 1/(2b), the least distance from k + 1/2 of a q that is no tie; a tie is a double. So
``rint`` of the quotient is right.

*Corrected*, b < 2**61. Doubles propose r: a, b, the product and the quotient carry four roundings,
so for |q| <= 2**49 it is wrong by at most 1/2 + 1/4. The remainder R = 1e9 * a - r * b is computed
modulo 2**64, and as |R| <= 3b/4 < 2**61 it is exact. r + 1 is right iff 2R > b, or 2R = b and r is
odd, that is iff 2R + (r odd) > b; r - 1 likewise with -R.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tallystick.errors import NumberError
from tallystick.numbers._columns.column import check_columns, spans
from tallystick.numbers.nano import NANO

if TYPE_CHECKING:
    from tallystick.numbers._columns.column import Column, Integers

_LARGEST_DENOMINATOR = 2**61 - 1
_LARGEST_RATIO = 2.0**49
_SMALL_NUMERATOR = 2**22
_SMALL_DENOMINATOR = 2**53


def ratios(numerators: Column, denominators: Column) -> Integers:
    """See `tallystick.numbers.ratio.ratio_columns`."""
    out = np.empty(check_columns([numerators, denominators]), np.int64)
    for span in spans(len(out)):
        a, b, result = numerators[span], denominators[span], out[span]
        _check_denominators(b, span.start)
        _propose(a, b, result, span.start)
        if not _is_small(a, b):
            _correct(a, b, result)
    return out


def _is_small(a: Column, b: Column) -> bool:
    largest = max(int(a.max()), -int(a.min()))
    return largest < _SMALL_NUMERATOR and int(b.max()) <= _SMALL_DENOMINATOR


def _check_denominators(b: Column, start: int) -> None:
    if b.min() >= 1 and b.max() <= _LARGEST_DENOMINATOR:
        return
    row = int(np.flatnonzero((b < 1) | (b > _LARGEST_DENOMINATOR))[0])
    raise NumberError(
        f"row {start + row}: found the denominator {b[row]}, expected from 1 to 2**61 - 1"
    )


def _propose(a: Column, b: Column, out: Integers, start: int) -> None:
    """Write the proposals, and refuse a row whose ratio is beyond what can be corrected."""
    quotient = np.multiply(a, float(NANO))
    np.divide(quotient, b, out=quotient)
    np.rint(quotient, out=quotient)
    within = np.abs(quotient) <= _LARGEST_RATIO
    if not within.all():
        row = int(np.flatnonzero(~within)[0])
        raise NumberError(
            f"row {start + row}: found {a[row]} / {b[row]}, expected a ratio within ±562949"
        )
    np.copyto(out, quotient, casting="unsafe")


def _correct(a: Column, b: Column, out: Integers) -> None:
    """Move each proposal by one where its remainder asks for it."""
    remainder = np.multiply(a, NANO, dtype=np.int64)
    remainder -= np.multiply(out, b, dtype=np.int64)
    remainder *= 2
    odd = out & 1
    up, down = remainder + odd > b, odd - remainder > b
    out += up
    out -= down
