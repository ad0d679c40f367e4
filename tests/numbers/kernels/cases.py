"""Hard cases for the kernels, the same on every machine.

The random integers are SplitMix64 in integer arithmetic, so that a digest of results can be pinned.
"""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

NANO = 10**9
SPECIAL = np.array([0, 1, 2, 3, NANO // 3, NANO // 2, NANO - 1, NANO])
_WORD = 2**64
# How far the near-ties may leave the value they share.
MARGIN = 1000

WEIGHTS = (
    "1",
    "0.5 0.5",
    "0.5 0 0.5",
    "0.75 0.25",
    "0.2 0.2 0.2 0.2 0.2",
    "0.375 0.625",
    "0.3 0.3 0.3 0.1",
    "0.35 0.30 0.20 0.15",
    "0.30 0.25 0.25 0.20",
    "0.30 0.30 0.15 0.10 0.15",
    "0.36 0.24 0.40",
    "0.025 0.475 0.5",
    "0.02 0.48 0.5",
    "0.33 0.27 0.25 0.15",
    "0.98 0.01 0 0.01",
    "0.376 0.624",
    "0.005 0.495 0.5",
    "0.004 0.496 0.5",
    "0.002 0.498 0.5",
    "0.333 0.333 0.334",
    "0.001 0.999",
    "0.001 0.499 0.5",
)


def fractions(weights: str) -> list[Fraction]:
    """The exact weights of one of `WEIGHTS`."""
    return [Fraction(weight) for weight in weights.split()]


def degree(weights: Sequence[Fraction]) -> int:
    """The common denominator."""
    return math.lcm(*(weight.denominator for weight in weights))


def words(seed: int, rows: int) -> NDArray[np.uint64]:
    """Uniform 64-bit words: SplitMix64."""
    start = np.uint64(seed * 0xD1342543DE82EF95 % _WORD)
    z = start + np.arange(1, rows + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def integers(seed: int, rows: int, low: int, high: int) -> NDArray[np.int64]:
    """Integers in [low, high]."""
    return (words(seed, rows) % np.uint64(high - low + 1)).astype(np.int64) + low


def axes(seed: int, rows: int, weights: Sequence[Fraction]) -> list[NDArray[np.int64]]:
    """Columns of nano in [0, 1e9]: eight kinds of rows in turn, the last of them near-ties."""
    shared, kind = integers(seed, rows, MARGIN, NANO - MARGIN), np.arange(rows) % 8
    offsets = near_tie(weights)
    return [
        _axis(1000 * seed + number, shared, kind, offset) for number, offset in enumerate(offsets)
    ]


def _axis(
    seed: int, shared: NDArray[np.int64], kind: NDArray[np.int64], offset: int
) -> NDArray[np.int64]:
    rows = len(shared)
    uniform = integers(seed + 1, rows, 0, NANO)
    kinds = [
        uniform,
        NANO - uniform // 4,
        uniform >> integers(seed + 2, rows, 0, 29),
        SPECIAL[integers(seed + 3, rows, 0, len(SPECIAL) - 1)],
        shared,
        integers(seed + 4, rows, 1, 20),
        NANO - integers(seed + 5, rows, 0, 20),
        shared + offset,
    ]
    return np.choose(kind, kinds)


def near_tie(weights: Sequence[Fraction]) -> tuple[int, ...]:
    """The least offsets d of mean 1/2 that are found, else zeros.

    The geometric mean of k + d is below k + 1/2 by about their variance over 2k, and no double
    can tell.
    """
    spans = [range(-4, 5) if weight else range(1) for weight in weights[1:4]]
    found = []
    for rest in itertools.product(*spans):
        shares = zip(rest, weights[1:], strict=False)
        first = (Fraction(1, 2) - sum(d * weight for d, weight in shares)) / weights[0]
        if first.denominator == 1 and abs(first) < MARGIN:
            found.append((int(first), *rest, *(0 for _ in weights[4:])))
    return min(found, key=lambda d: sum(n * n for n in d), default=(0,) * len(weights))
