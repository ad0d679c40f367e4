"""The weighted geometric mean, exact.

*Algorithm.* Let n_i be the values in nano and a_i/D the weights in lowest terms. The weights sum to
one, so the scale of 1e-9 cancels and the mean in nano is y = (Π n_i**a_i)**(1/D).

*Ties.* y**D is an integer, so y is an integer or irrational, never half of an odd number. So the
rounded mean is the largest k with k - 1/2 < y, that is with (2k - 1)**D < 2**D * Π n_i**a_i, and
integers decide that comparison. A double proposes k; when its neighbours do not confirm it, the
answer is found by bisection, so a proposal of any quality costs at most some thirty comparisons.

Scalars are always decided so. Columns decide so what doubles leave open (`_columns/geometric.py`).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from tallystick.numbers.nano import NANO
from tallystick.numbers.weights import check_values

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tallystick.numbers._columns.column import Column, Integers
    from tallystick.numbers.weights import Weights


def geometric_mean(values: Sequence[int], weights: Weights) -> int:
    """The weighted geometric mean of nano values, rounded once; 0 if a weighed value is 0.

    Args:
        values: nano in [0, 1e9], one for each weight that was given.
        weights: their weights.

    Raises:
        NumberError: a value is outside [0, 1e9], or there are more or fewer than weights.
    """
    check_values(values, weights)
    return decide(tuple(values[index] for index in weights.kept), weights)


def geometric_mean_columns(columns: Sequence[Column], weights: Weights) -> Integers:
    """The weighted geometric mean of each row of nano columns, equal to `geometric_mean`.

    Args:
        columns: one int32 or int64 column of nano in [0, 1e9] for each weight that was given.
        weights: their weights.

    Raises:
        NumberError: a value is outside [0, 1e9], or the columns do not fit the weights.
    """
    from tallystick.numbers._columns import geometric  # noqa: PLC0415  # loads NumPy

    return geometric.means(columns, weights)


def decide(kept: tuple[int, ...], weights: Weights) -> int:
    """The mean of the values of kept weights, by integers; values as in `geometric_mean`."""
    if 0 in kept:
        return 0
    degree = weights.denominator
    power = math.prod(n**a for n, a in zip(kept, weights.numerators, strict=True)) << degree
    return _largest(lambda k: (2 * k - 1) ** degree < power, _propose(kept, weights))


decide_remembered = lru_cache(maxsize=1 << 14)(decide)
"""As `decide`: a column that repeats one hard row does not pay for it again and again."""


def _propose(kept: tuple[int, ...], weights: Weights) -> int:
    """A guess at the mean, in [1, 1e9]; nothing depends on its quality but speed."""
    terms = zip(kept, weights.numerators, strict=True)
    logarithm = math.fsum(a * math.log(n) for n, a in terms) / weights.denominator
    return min(max(round(math.exp(logarithm)), 1), NANO)


def _largest(is_below: Callable[[int], bool], guess: int) -> int:
    """The largest k in [1, 1e9] that is below; 1 always is, and all up to some k are."""
    if is_below(guess):
        low, high = guess, NANO
        if guess == NANO or not is_below(guess + 1):
            return guess
    else:
        low, high = 1, guess - 1
    while low < high:
        middle = (low + high + 1) // 2
        if is_below(middle):
            low = middle
        else:
            high = middle - 1
    return low
