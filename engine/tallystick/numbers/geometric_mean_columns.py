"""Geometric means of columns: doubles propose, and what they do not settle integers decide.

With x_i = n_i * 2**-30 < 0.94, which is exact, S = Σ (a_i/D) log x_i over k axes and
y = 2**30 * exp(S), the nearest whole number r of a row is accepted iff |y - r| <= 1/2 - m with
m = (1 + k/256) * 2**-16. That is sound while log and exp are within 64 units in the last place. Let
e = 1 + (k + 1)/128 and u = 2**-53. A logarithm is then wrong by at most 2**-46 of itself, weight
and product add 2u, and, all terms having one sign, the sum adds (k - 1)u; so S is wrong by at most
e * 2**-46 of itself. As |S| exp(S) <= 0.368, that moves y by at most 0.368 * e * 2**-16; 64 units
of an exponential below one move it by 2**-17; together that is less than m. Libraries claim 4
units. They are measured at first use (`doubles.exp_and_log_are_trusted`); if they are far from it,
no row is accepted, and none of a short column, for which they are not measured.

A value of zero gives S = -inf and y = 0. The few rows that are not accepted are decided by
integers. So the results do not depend on the machine, its vector instructions, the C library or
the version of NumPy; no BLAS is used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tallystick.numbers.doubles import Doubles, exp_and_log_are_trusted, nearest
from tallystick.numbers.geometric_mean import remembered_geometric_mean
from tallystick.numbers.weights import Weights

Column = npt.NDArray[np.int64]

_SCALE = 2.0**-30
_MARGIN = 2.0**-16
_AXES = 2.0**-8
_SHORT = 8
"""Maximum rows that are decided exactly, each, as to measure exp and log would take longer."""


def logarithms(columns: Sequence[Column]) -> Doubles:
    """Return the logarithms of axes, a row for each: of nano times 2⁻³⁰, minus infinity for 0."""
    result = np.empty((len(columns), len(columns[0])))
    for column, row in zip(columns, result, strict=True):
        np.multiply(column, _SCALE, out=row)
    with np.errstate(divide="ignore"):
        np.log(result, out=result)
    return result


def geometric_means(columns: Sequence[Column], logs: Doubles, weights: Weights) -> Column:
    """Return the weighted geometric mean of every row, in nano.

    Args:
        columns: integers in [0, 1e9], a column for each weight that is not 0.
        logs: their `logarithms`, which are taken once for many weights.
        weights: the weights.
    """
    total = np.zeros(len(columns[0]))
    is_short = len(total) <= _SHORT
    trusted = not is_short and exp_and_log_are_trusted()
    if trusted or is_short:
        shares = np.array(weights.numerators) / weights.denominator
        np.einsum("a,ar->r", shares, logs, out=total)
        np.exp(total, out=total)
        np.multiply(total, 1 / _SCALE, out=total)
    margin = (1 + len(columns) * _AXES) * _MARGIN if trusted else 1
    result, is_open = nearest(total, margin)
    hard = np.flatnonzero(is_open)
    if len(hard):
        rows = zip(*(column[hard].tolist() for column in columns), strict=True)
        result[hard] = [remembered_geometric_mean(row, weights) for row in rows]
    return result
