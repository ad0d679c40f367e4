"""The weighted geometric mean of nano values, exact, rounded once.

*Algorithm.* Let n_i be the values in nano and a_i/D the weights in lowest terms. The weights sum to
one, so the scale of 1e-9 cancels and the mean in nano is y = (Π n_i**a_i)**(1/D).

*Ties.* y**D is an integer, so y is an integer or irrational, never half of an odd number. So the
rounded mean is (m + 1) // 2 of m = floor(2y), the whole root of 2**D * Π n_i**a_i.

Columns are in `geometric_mean_columns`, which loads NumPy.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from tallystick.numbers.functions import whole_root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tallystick.numbers.weights import Weights


def geometric_mean(values: Sequence[int], weights: Weights) -> int:
    """Return the weighted geometric mean of nano values, rounded once; 0 if a weighed value is 0.

    Args:
        values: nano in [0, 1e9], one for each weight.
        weights: their weights.
    """
    degree = weights.denominator
    power = math.prod(n**a for n, a in zip(values, weights.numerators, strict=True))
    return (whole_root(power << degree, degree) + 1) // 2


remembered_geometric_mean = lru_cache(maxsize=1 << 14)(geometric_mean)
"""`geometric_mean` with a memory: a column that repeats one hard row does not pay for it again."""
