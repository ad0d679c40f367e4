"""Columns of the weighted means, in NumPy.

Doubles only propose: a proposal is kept when a stated error bound excludes every other answer, and
integers decide the rest (`root.py`). So the results do not depend on the machine, its vector
instructions, the C library or the version of NumPy. No kernel uses BLAS. Let u = 2**-53.

The arithmetic mean
===================

Every a_i * n_i and every partial sum is an integer of at most 1e9 * D <= 1e12, so the sum is exact.
The quotient is at most 1e9 < 2**30 and one rounding moves it by at most 2**-24. A quotient that is
no tie is at least 1/(2D) >= 1/2000 from the nearest k + 1/2, so it stays on its side; a tie is a
double, so the division is exact and ``rint`` rounds it to even.

The geometric mean
==================

In each span of rows doubles propose the rounded mean r, one of two tests accepts it
or not, and integers decide the rows that were not accepted. NaN passes neither test.

*Certified form*, D <= 34. P = Π n_i**a_i is evaluated in doubles, where 10**(9 * 34) does not
overflow; one logarithm and one exponential propose its root. With q = r**D and h = r + D/2, r is
accepted iff in doubles

    |q - P| * h < P * D * (1/2 - 2**-21)

That proves (r - 1/2)**D < P < (r + 1/2)**D. Let x = 1/(2r). By Bernoulli (1 + x)**D >= 1 + Dx, so
(1 - x)**D <= 1/(1 + Dx), and it is enough that 1/(1 + Dx) < q/P < 1 + Dx, which follows from
|q - P| * h < P * D/2. h is exact. P and q carry D - 1 roundings each (`_monomial`), the
difference and both products one more; as h < 2**30 where r can be right, that is less than
D * 2**-21 of P together. Only IEEE arithmetic and comparison are trusted, neither log nor exp.

*Logarithmic form*, D > 34. With x_i = n_i * 2**-30 < 0.94, which is exact, S = Σ (a_i/D) log x_i
over k axes and y = 2**30 * exp(S). r is accepted iff |y - r| <= 1/2 - m, m = (1 + k/256) * 2**-16.
That is sound while log and exp are within 64 units in the last place. A logarithm is then wrong by
at most 2**-46 of itself, weight and product add 2u, and, all terms having one sign, the sum adds
(k - 1)u; so S is wrong by at most (1 + (k + 1)/128) * 2**-46 of itself. As |S| exp(S) <= 0.368,
that moves y by at most 0.368 * (1 + (k + 1)/128) * 2**-16; 64 units of an exponential below one
move it by 2**-17; together that is less than m. Libraries claim 4 units. They are measured at
first use (`logarithms_are_trusted`); if they are far from it, no row is accepted.

A value of zero gives P = 0, or S = -inf and y = 0. A product of positive integers is never 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from functools import cache
from typing import TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tallystick.errors import NumberError
from tallystick.numbers.nano import NANO
from tallystick.numbers.root import decide_remembered
from tallystick.numbers.weights import Weights

Column: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
Integers: TypeAlias = NDArray[np.int64]
Doubles: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

CERTIFIED_DEGREE = 34
"""Up to this common denominator the certified form is used."""

_ROWS = 1 << 14
"""Rows a pass: a few columns of them stay in the second-level cache."""
_UNITS = 8
"""Error that bounds allow a logarithm, in units in the last place: a little more than libraries
claim.
"""
_SAMPLE = 509
"""Odd, so that vector code meets its remainder too."""


def arithmetic_means(columns: Sequence[Column], weights: Weights) -> Integers:
    """See `tallystick.numbers.means.arithmetic_mean_columns`."""
    if len(columns) != weights.count:
        raise NumberError(f"found {len(columns)} columns, expected {weights.count}")
    out = np.empty(_check_columns(columns), np.int64)
    for span in _spans(len(out)):
        _check_range([column[span] for column in columns], NANO, span.start)
        total = _weighted_sum([columns[index][span] for index in weights.kept], weights.numerators)
        np.divide(total, float(weights.denominator), out=total)
        np.rint(total, out=total)
        np.copyto(out[span], total, casting="unsafe")
    return out


def _weighted_sum(columns: Sequence[Column], numerators: Sequence[int]) -> Doubles:
    """Σ a_i n_i of each row, in doubles."""
    total = np.multiply(columns[0], float(numerators[0]))
    term = np.empty_like(total)
    for column, numerator in zip(columns[1:], numerators[1:], strict=True):
        np.multiply(column, float(numerator), out=term)
        np.add(total, term, out=total)
    return total


def geometric_means(columns: Sequence[Column], weights: Weights) -> Integers:
    """See `tallystick.numbers.means.geometric_mean_columns`."""
    if len(columns) != weights.count:
        raise NumberError(f"found {len(columns)} columns, expected {weights.count}")
    rows = _check_columns(columns)
    weighed = [columns[index] for index in weights.kept]
    out = np.empty(rows, np.int64)
    buffers = _buffers(len(weighed), min(_ROWS, rows))
    propose = _certified if weights.denominator <= CERTIFIED_DEGREE else _logarithmic
    with np.errstate(all="ignore"):
        for span in _spans(rows):
            _check_range([column[span] for column in columns], NANO, span.start)
            part, result = [column[span] for column in weighed], out[span]
            if len(result) != len(buffers.product):
                buffers = _buffers(len(weighed), len(result))
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
    _monomial(axes, weights.numerators, product)
    root, power = buffers.axes[:2]
    _propose(product, degree, root)
    np.copyto(out, root, casting="unsafe")
    _monomial([root], [degree], power)
    return _certify(product, root, power, degree, buffers.accepted)


def _propose(product: Doubles, degree: int, out: Doubles) -> None:
    """Write the rounded root of a product."""
    np.log(product, out=out)
    np.multiply(out, 1.0 / degree, out=out)
    np.exp(out, out=out)
    np.rint(out, out=out)


def _certify(product: Doubles, root: Doubles, power: Doubles, degree: int, out: Mask) -> Mask:
    """Return which rounded roots are certain; the doubles are overwritten."""
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
    margin = (1 + len(columns) / 256) * 2.0**-16 if logarithms_are_trusted() else 1.0
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


@cache
def logarithms_are_trusted() -> bool:
    """Return whether log on (0, 1) and exp on (-21, 0) are within 8 units on a fixed sample.

    Nothing in IEEE 754 binds them, and NumPy takes them from vector code or from the C library, as
    the machine has it. The logarithmic form is sound within 64 units.
    """
    arguments = -21.0 * (np.arange(_SAMPLE) + 0.5) / _SAMPLE
    powers = np.exp(arguments)
    with localcontext(prec=30):
        exact = [Decimal(argument).exp() for argument in arguments.tolist()]
        if not _is_close(powers, exact):
            return False
        # ln(p) of p = e(1 + d) is ln(e) + d, but for d**2 / 2, which is below 1e-29
        both = zip(map(Decimal, powers.tolist()), exact, strict=True)
        shifts = [power / true - 1 for power, true in both]
        logarithms = [Decimal(a) + d for a, d in zip(arguments.tolist(), shifts, strict=True)]
        return _is_close(np.log(powers), logarithms)


def _is_close(found: Doubles, exact: Sequence[Decimal]) -> bool:
    units = map(Decimal, np.spacing(np.abs(found)).tolist())
    return bool(np.isfinite(found).all()) and all(
        abs(Decimal(value) - true) <= _UNITS * unit
        for value, true, unit in zip(found.tolist(), exact, units, strict=True)
    )


def _monomial(columns: Sequence[Doubles], exponents: Sequence[int], out: Doubles) -> None:
    """Write the product of ``columns[i] ** exponents[i]`` to ``out``; exponents are at least 1.

    A monomial of degree D is evaluated by simultaneous squaring: from the highest bit of the
    exponents to the lowest, square, then multiply by every column whose exponent has the bit.

    A product of factors of degrees p and q that carry p - 1 and q - 1 roundings carries p + q - 1.
    By induction the result is the exact one times D - 1 factors (1 + d), |d| <= u, in whatever
    order, provided that nothing overflows or underflows.
    """
    highest, *levels = _levels(exponents)
    product = _product([columns[index] for index in highest], out)
    for level in levels:
        product = np.square(product, out=out)
        for index in level:
            np.multiply(out, columns[index], out=out)
    if product is not out:
        np.copyto(out, product)


def _levels(exponents: Sequence[int]) -> list[list[int]]:
    """For each bit from the highest on, the indices of the exponents that have it."""
    bits = range(max(exponents).bit_length() - 1, -1, -1)
    return [[index for index, e in enumerate(exponents) if e >> bit & 1] for bit in bits]


def _product(columns: Sequence[Doubles], out: Doubles) -> Doubles:
    """Return the product of one or more columns: the column itself, or written to ``out``."""
    product = columns[0]
    for column in columns[1:]:
        product = np.multiply(product, column, out=out)
    return product


def _spans(rows: int) -> Iterator[slice]:
    """Consecutive slices that cover ``rows`` rows, each of at most `_ROWS`."""
    for start in range(0, rows, _ROWS):
        yield slice(start, min(start + _ROWS, rows))


def _check_columns(columns: Sequence[Column]) -> int:
    """Return the number of rows of columns of one length.

    Raises:
        NumberError: there is no column, one is not a one-dimensional array of int32 or int64, or
            one has another length than the first.
    """
    if not columns:
        raise NumberError("found no column, expected at least one")
    for index, column in enumerate(columns):
        _check_shape(f"column {index}", column, len(columns[0]))
    return len(columns[0])


def _check_range(columns: Sequence[Column], high: int, start: int = 0) -> None:
    """Refuse columns that hold a value outside [0, high].

    Args:
        columns: integer columns, or one span of them.
        high: the largest value that is accepted.
        start: the row that the first value is in, for the message.

    Raises:
        NumberError: a value is outside the range.
    """
    for index, column in enumerate(columns):
        # Seen as unsigned, a negative number is above every other: one pass tests both ends.
        unsigned = column.view(f"u{column.dtype.itemsize}")
        if len(column) == 0 or unsigned.max() <= high:
            continue
        row = int(np.flatnonzero(unsigned > high)[0])
        raise NumberError(
            f"column {index}, row {start + row}: found {column[row]}, "
            f"expected an integer from 0 to {high}"
        )


def _check_shape(name: str, column: Column, rows: int) -> None:
    if column.dtype not in (np.dtype(np.int32), np.dtype(np.int64)) or column.ndim != 1:
        raise NumberError(
            f"{name}: found {column.ndim} dimensions of {column.dtype}, "
            "expected one dimension of int32 or int64"
        )
    if len(column) != rows:
        raise NumberError(f"{name}: found {len(column)} rows, expected {rows}")
