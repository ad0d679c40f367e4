"""Columns of the weighted geometric mean; the exact decision is in `numbers/root.py`.

Let u = 2**-53. In each span of rows doubles propose the rounded mean r, one of two tests accepts it
or not, and integers decide the rows that were not accepted. NaN passes neither test.

*Certified form*, D <= 34. P = Π n_i**a_i is evaluated in doubles, where 10**(9 * 34) does not
overflow; one logarithm and one exponential propose its root. With q = r**D and h = r + D/2, r is
accepted iff in doubles

    |q - P| * h < P * D * (1/2 - 2**-21)

That proves (r - 1/2)**D < P < (r + 1/2)**D. Let x = 1/(2r). By Bernoulli (1 + x)**D >= 1 + Dx, so
(1 - x)**D <= 1/(1 + Dx), and it is enough that 1/(1 + Dx) < q/P < 1 + Dx, which follows from
|q - P| * h < P * D/2. h is exact. P and q carry D - 1 roundings each (`monomial.py`), the
difference and both products one more; as h < 2**30 where r can be right, that is less than
D * 2**-21 of P together. Only IEEE arithmetic and comparison are trusted, neither log nor exp.

*Logarithmic form*, D > 34. With x_i = n_i * 2**-30 < 0.94, which is exact, S = Σ (a_i/D) log x_i
over k axes and y = 2**30 * exp(S). r is accepted iff |y - r| <= 1/2 - m, m = (1 + k/256) * 2**-16.
That is sound while log and exp are within 64 units in the last place. A logarithm is then wrong by
at most 2**-46 of itself, weight and product add 2u, and, all terms having one sign, the sum adds
(k - 1)u; so S is wrong by at most (1 + (k + 1)/128) * 2**-46 of itself. As |S| exp(S) <= 0.368,
that moves y by at most 0.368 * (1 + (k + 1)/128) * 2**-16; 64 units of an exponential below one
move it by 2**-17; together that is less than m. Libraries claim 4 units. `libm.py` measures them at
first use; if they are far from it, no row is accepted.

A value of zero gives P = 0, or S = -inf and y = 0. A product of positive integers is never 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from tallystick.errors import NumberError
from tallystick.numbers._columns import libm, monomial
from tallystick.numbers._columns.column import ROWS, check_columns, check_range, spans
from tallystick.numbers.nano import NANO
from tallystick.numbers.root import decide_remembered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tallystick.numbers._columns.column import Column, Doubles, Integers, Mask
    from tallystick.numbers.weights import Weights

CERTIFIED_DEGREE = 34


def means(columns: Sequence[Column], weights: Weights) -> Integers:
    """See `tallystick.numbers.geometric.geometric_mean_columns`."""
    if len(columns) != weights.count:
        raise NumberError(f"found {len(columns)} columns, expected {weights.count}")
    rows = check_columns(columns)
    kept = [columns[index] for index in weights.kept]
    out = np.empty(rows, np.int64)
    buffers = _buffers(len(kept), min(ROWS, rows))
    propose = _certified if weights.denominator <= CERTIFIED_DEGREE else _logarithmic
    with np.errstate(all="ignore"):
        for span in spans(rows):
            check_range([column[span] for column in columns], NANO, span.start)
            part, result = [column[span] for column in kept], out[span]
            if len(result) != len(buffers.product):
                buffers = _buffers(len(kept), len(result))
            accepted = propose(part, weights, buffers, result)
            _decide_rest(part, weights, accepted, result)
    return out


@attrs.frozen
class _Buffers:
    """Scratch memory for one span, used again for the next; few, so that the cache holds them."""

    axes: list[Doubles]
    product: Doubles
    accepted: Mask


def _buffers(axes: int, rows: int) -> _Buffers:
    return _Buffers(
        [np.empty(rows) for _ in range(max(axes, 2))], np.empty(rows), np.empty(rows, np.bool_)
    )


def _certified(
    columns: Sequence[Column], weights: Weights, buffers: _Buffers, out: Integers
) -> Mask:
    """Write proposals to ``out``; the mask says which of them are certain."""
    degree, product, axes = weights.denominator, buffers.product, buffers.axes[: len(columns)]
    for column, axis in zip(columns, axes, strict=True):
        np.copyto(axis, column)
    monomial.evaluate(axes, weights.numerators, product)
    root, power = buffers.axes[:2]
    _propose(product, degree, root)
    np.copyto(out, root, casting="unsafe")
    monomial.evaluate([root], [degree], power)
    return _certify(product, root, power, degree, buffers.accepted)


def _propose(product: Doubles, degree: int, out: Doubles) -> None:
    """Write the rounded root of a product."""
    np.log(product, out=out)
    np.multiply(out, 1.0 / degree, out=out)
    np.exp(out, out=out)
    np.rint(out, out=out)


def _certify(product: Doubles, root: Doubles, power: Doubles, degree: int, out: Mask) -> Mask:
    """Whether each rounded root is certain; the doubles are overwritten."""
    np.subtract(power, product, out=power)
    np.add(root, degree / 2, out=root)
    np.multiply(power, root, out=power)
    np.abs(power, out=power)
    np.multiply(product, degree * (0.5 - 2.0**-21), out=product)
    return np.less(power, product, out=out)


def _logarithmic(
    columns: Sequence[Column], weights: Weights, buffers: _Buffers, out: Integers
) -> Mask:
    """Write proposals to ``out``; the mask says which of them are certain."""
    term, total = buffers.axes[:2]
    total.fill(0.0)
    for column, numerator in zip(columns, weights.numerators, strict=True):
        np.multiply(column, 2.0**-30, out=term)
        np.log(term, out=term)
        np.multiply(term, numerator / weights.denominator, out=term)
        np.add(total, term, out=total)
    np.exp(total, out=total)
    np.multiply(total, 2.0**30, out=total)
    np.rint(total, out=term)
    np.copyto(out, term, casting="unsafe")
    np.subtract(total, term, out=total)
    np.abs(total, out=total)
    margin = (1 + len(columns) / 256) * 2.0**-16 if libm.is_trusted() else 1.0
    return np.less_equal(total, 0.5 - margin, out=buffers.accepted)


def _decide_rest(
    columns: Sequence[Column], weights: Weights, accepted: Mask, out: Integers
) -> None:
    """Replace the proposals that were not accepted by what integers say."""
    if accepted.all():
        return
    rows = np.flatnonzero(~accepted)
    values = [column[rows] for column in columns]
    positive = np.logical_and.reduce([value > 0 for value in values])
    out[rows[~positive]] = 0
    hard = zip(*(value[positive].tolist() for value in values), strict=True)
    out[rows[positive]] = [decide_remembered(row, weights) for row in hard]
