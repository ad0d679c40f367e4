"""Columns of products of nano factors.

*Propose.* With k factors, doubles multiply by each further factor and divide by 1e9: 2(k - 1)
roundings, a relative error below k * 2**-51. Its integer is accepted when the proposal is further
than that, taken of the largest proposal of the span, from every k + 1/2.

*Decide.* The rest, real ties among them, is multiplied exactly in limbs of base 1e9. A limb is
below 1e9, a factor and a carry at most 8e9, so limb * factor + carry < 2**63. The lowest k - 1
limbs are the fraction: its highest limb is compared with a half, and the lower ones and the parity
of the whole break what is equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tallystick.errors import NumberError
from tallystick.numbers._columns.column import check_columns, check_range, spans
from tallystick.numbers.nano import NANO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tallystick.numbers._columns.column import Column, Doubles, Integers, Mask

_LARGEST_FACTOR = 8 * NANO
_LARGEST_PRODUCT = 2.0**62


def products(columns: Sequence[Column]) -> Integers:
    """See `tallystick.numbers.product.product_columns`."""
    out = np.empty(check_columns(columns), np.int64)
    for span in spans(len(out)):
        part = [column[span] for column in columns]
        check_range(part, _LARGEST_FACTOR, span.start)
        if len(part) == 1:
            np.copyto(out[span], part[0])
        else:
            _multiply(part, out[span], span.start)
    return out


def _multiply(columns: Sequence[Column], out: Integers, start: int) -> None:
    proposal = _propose(columns)
    largest = float(proposal.max())
    if not largest < _LARGEST_PRODUCT:
        row = start + int(proposal.argmax())
        raise NumberError(f"row {row}: found a product of 2**62 nano or more, expected less")
    nearest = np.rint(proposal)
    np.copyto(out, nearest, casting="unsafe")
    np.subtract(proposal, nearest, out=proposal)
    margin = len(columns) * 2.0**-51 * largest
    rows = np.flatnonzero(~(np.abs(proposal) < 0.5 - margin))
    if len(rows):
        out[rows] = _exact([column[rows].astype(np.int64) for column in columns])


def _propose(columns: Sequence[Column]) -> Doubles:
    proposal = columns[0].astype(np.float64)
    for column in columns[1:]:
        np.multiply(proposal, column, out=proposal)
        np.divide(proposal, float(NANO), out=proposal)
    return proposal


def _exact(columns: Sequence[Integers]) -> Integers:
    """The rounded product of each row, in limbs of base 1e9, lowest first."""
    limbs = [columns[0] % NANO, columns[0] // NANO]
    for column in columns[1:]:
        limbs = _times(limbs, column)
    places = len(columns) - 1
    whole = np.zeros_like(columns[0])
    for limb in reversed(limbs[places:]):
        whole = whole * NANO + limb
    return whole + _is_rounded_up(limbs[:places], whole)


def _times(limbs: Sequence[Integers], factor: Integers) -> list[Integers]:
    """The limbs times a factor, two limbs longer."""
    result, carry = [], np.zeros_like(factor)
    for limb in limbs:
        total = limb * factor + carry
        carry = total // NANO
        result.append(total - carry * NANO)
    return [*result, carry % NANO, carry // NANO]


def _is_rounded_up(fraction: Sequence[Integers], whole: Integers) -> Integers:
    """1 where the fraction is above a half, or a half exactly and the whole is odd; else 0."""
    beyond = whole & 1
    for limb in fraction[:-1]:
        beyond |= limb
    half = NANO // 2
    up: Mask = (fraction[-1] > half) | ((fraction[-1] == half) & (beyond != 0))
    return up.astype(np.int64)
