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


def ratios(seed: int, rows: int, bits: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numerators and denominators below ``2**bits``: at random, ties, and the nearest misses."""
    high = 2**bits - 1
    denominators = integers(seed, rows, 1, high)
    numerators = (words(seed + 1, rows) % (denominators + 1).astype(np.uint64)).astype(np.int64)
    for row in range(0, rows, 4):
        numerators[row], denominators[row] = _tied_ratio(int(denominators[row]), bits)
    for row in range(1, rows, 4):
        numerators[row], denominators[row] = _missed_ratio(int(denominators[row]), high)
    return numerators, denominators


def _tied_ratio(word: int, bits: int) -> tuple[int, int]:
    """1e9 a / b is half of an odd number: b = 1024 t and a is an odd multiple of t."""
    scale = max(1, word >> 11) if bits > 11 else 1
    return scale * (word % 512 * 2 + 1), scale * 1024


def _missed_ratio(word: int, high: int) -> tuple[int, int]:
    """1e9 a / b is 1 / (2b) away from half of an odd number, the least that a miss can be."""
    b = word | 1
    if b % 5 == 0:
        b = b - 2 if b > high - 2 else b + 2
    half = (b + (1 if word & 2 else -1)) // 2
    return (half * pow(NANO, -1, b) % b if b > 1 else 1), b


def factors(seed: int, rows: int, count: int) -> list[NDArray[np.int64]]:
    """Columns of factors in [0, 8e9]: at random, special, ties, and misses by one last place."""
    columns = [integers(seed + number, rows, 0, NANO) for number in range(count)]
    for number, column in enumerate(columns):
        column[0::8] = integers(seed + 50 + number, rows, 0, 8 * NANO)[0::8]
        column[1::8] = SPECIAL[integers(seed + 60 + number, rows, 0, 7)][1::8]
        column[2::8] = 5**9 * (2 * integers(seed + 70 + number, rows, 0, 255) + 1)[2::8]
        column[3::8] = NANO // 2 + 500 * integers(seed + 80 + number, rows, 0, 9)[3::8]
    odd = 2 * integers(seed + 90, rows, 0, 1000) + 1
    tie = 2 ** (9 * (count - 1) - 1)
    if tie <= NANO:
        columns[-1][2::8] = (tie * (odd % (NANO // tie + 1) | 1))[2::8]
    for row in range(4, rows, 8):
        _set_row(columns, row, _missed_product(int(columns[0][row]), row // 8 % 3))
    for row in range(5, rows, 8):
        _set_row(columns, row, _missed_half(int(columns[0][row])))
    return columns


def _set_row(columns: list[NDArray[np.int64]], row: int, values: Sequence[int]) -> None:
    """The values in the first columns that there are, and ones in the rest."""
    for column, value in itertools.zip_longest(columns, values[: len(columns)], fillvalue=NANO):
        column[row] = value


def _missed_product(word: int, step: int) -> tuple[int, int]:
    """Two factors whose product ends in a half, or one last place above or below."""
    first = word | 1
    first += 2 if first % 5 == 0 else 0
    return first, (NANO // 2 + 1 - step) * pow(first, -1, NANO) % NANO


def _missed_half(word: int) -> tuple[int, int, int]:
    """Three factors whose product is half a nano times 1 + 1e-9, 1, or 1 - 1e-9."""
    first = 2 ** (word % 9) * 5 ** (word // 9 % 10)
    return first, NANO // 2 // first, NANO + 1 - word // 90 % 3


def starts(seed: int, rows: int, largest: int, smallest: int = 0) -> NDArray[np.int64]:
    """First rows of groups of ``smallest`` to ``largest`` rows."""
    sizes = integers(seed, rows, smallest, largest)
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    return bounds[bounds < rows - largest]
