"""The weighted geometric mean of nano values, exact, rounded once.

*Algorithm.* Let n_i be the values in nano and a_i/D the weights in lowest terms. The weights sum to
one, so the scale of 1e-9 cancels and the mean in nano is y = (Π n_i**a_i)**(1/D).

*Ties.* y**D is an integer, so y is an integer or irrational, never half of an odd number. So the
rounded mean is the largest k with k - 1/2 < y, that is with (2k - 1)**D < 2**D * Π n_i**a_i, and
integers decide that comparison. A double proposes k; when its neighbours do not confirm it, the
answer is found by bisection, so a proposal of any quality costs at most some thirty comparisons.

Columns are in `geometric_mean_columns`, which loads NumPy.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from tallystick.errors import NumberError
from tallystick.numbers.nano import NANO

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tallystick.numbers.weights import Weights


def geometric_mean(values: Sequence[int], weights: Weights) -> int:
    """Return the weighted geometric mean of nano values, rounded once; 0 if a weighed value is 0.

    Args:
        values: nano in [0, 1e9], one for each weight that was given.
        weights: their weights.

    Raises:
        NumberError: a value is outside [0, 1e9], or there are more or fewer than weights.
    """
    if len(values) != weights.count:
        raise NumberError(f"found {len(values)} values, expected {weights.count}")
    for index, value in enumerate(values):
        if not 0 <= value <= NANO:
            raise NumberError(f"value {index}: found {value}, expected nano from 0 to {NANO}")
    return decide(tuple(values[index] for index in weights.kept), weights)


def decide(kept: tuple[int, ...], weights: Weights) -> int:
    """Return the mean of the values of kept weights, by integers; values as in `geometric_mean`."""
    if 0 in kept:
        return 0
    degree = weights.denominator
    power = math.prod(n**a for n, a in zip(kept, weights.numerators, strict=True)) << degree
    return _largest(lambda k: (2 * k - 1) ** degree < power, _propose(kept, weights))


decide_remembered = lru_cache(maxsize=1 << 14)(decide)
"""`decide` with a memory: a column that repeats one hard row does not pay for it again."""


def _propose(kept: tuple[int, ...], weights: Weights) -> int:
    """Return a guess at the mean, in [1, 1e9]; nothing depends on its quality but speed."""
    terms = zip(kept, weights.numerators, strict=True)
    logarithm = math.fsum(a * math.log(n) for n, a in terms) / weights.denominator
    return min(max(round(math.exp(logarithm)), 1), NANO)


def _largest(is_below: Callable[[int], bool], guess: int) -> int:
    """Return the largest k in [1, 1e9] that is below; 1 always is, and all up to some k are."""
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
