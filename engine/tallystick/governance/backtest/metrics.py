"""What tells two distributions of the same amounts apart: exact, and published once.

Amounts are whole numbers, such as emission in nano. A metric is a rational number or the root of
one; each is rounded half-even once, where it is published, and no float takes part. What is not
defined, such as the concentration of nothing, is None.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import groupby

from tallystick.numbers.nano import NANO, round_half_even


def share(part: int, whole: int) -> Fraction:
    """What part of the whole that is, exactly; 0 of nothing."""
    return Fraction(part, whole) if whole else Fraction(0)


def shares(amounts: Sequence[int]) -> list[Fraction]:
    """The share of each amount in their sum; they sum to 1 exactly unless all are 0."""
    whole = sum(amounts)
    return [share(amount, whole) for amount in amounts]


def published_share(part: int, whole: int) -> int:
    """As `share`, in nano, rounded once."""
    return round_half_even(part * NANO, whole) if whole else 0


def ranks(amounts: Sequence[int]) -> list[int]:
    """The place of each amount, the largest first, from 1.

    A place is one more than the number of larger amounts: equals share one, as in 1, 2, 2, 4.
    """
    place: dict[int, int] = {}
    for position, amount in enumerate(sorted(amounts, reverse=True), 1):
        place.setdefault(amount, position)
    return [place[amount] for amount in amounts]


def relative_change(before: int, after: int) -> Fraction | None:
    """The change as a part of what was before, in [−1, ∞); None where nothing was before."""
    return Fraction(after - before, before) if before else None


def gini(amounts: Sequence[int]) -> Fraction | None:
    """The Gini coefficient, half the mean absolute difference over the mean, in [0, 1).

    0 when all are equal, 1 − 1/n when one of n has everything. None when there is nothing to have.

    Args:
        amounts: not negative; amounts of 0 count.
    """
    whole, many = sum(amounts), len(amounts)
    if not whole:
        return None
    weighted = sum((2 * i - many - 1) * each for i, each in enumerate(sorted(amounts), 1))
    return Fraction(weighted, many * whole)


def hhi(amounts: Sequence[int]) -> Fraction | None:
    """The Herfindahl-Hirschman index, the sum of the squares of the shares, in [1/n, 1].

    Its inverse is the number of equal shares that would be as concentrated. None when there is
    nothing to have.
    """
    whole = sum(amounts)
    return Fraction(sum(each * each for each in amounts), whole * whole) if whole else None


def tau_b(first: Sequence[int], second: Sequence[int]) -> int | None:
    """Kendall's rank correlation with ties (tau-b) of two lists of amounts, in nano, in [−1, 1].

    (P − Q) / √((n0 − n1)(n0 − n2)), with P and Q the pairs in the same and in the opposite order,
    n0 all pairs, n1 and n2 those tied in one list; by merge sort in O(n log n) (Knight 1966), with
    whole numbers up to the root, whose rounding whole numbers decide too. None when all amounts of
    a list are equal: then there is no order to compare.
    """
    pairs = sorted(zip(first, second, strict=True))
    every = math.comb(len(pairs), 2)
    tied_first, tied_second = _tied(first), _tied(second)
    discordant, _ = _inversions([b for _, b in pairs])
    # every pair is concordant, discordant, or tied in one of the lists, or in both
    concordant = every - tied_first - tied_second + _tied(pairs) - discordant
    square = (every - tied_first) * (every - tied_second)
    return _over_root(concordant - discordant, square) if square else None


def _tied(values: Iterable[object]) -> int:
    """The pairs of equal values."""
    ordered = sorted(values)  # type: ignore[type-var]  # amounts, or pairs of them
    return sum(math.comb(sum(1 for _ in group), 2) for _, group in groupby(ordered))


def _inversions(values: list[int]) -> tuple[int, list[int]]:
    """How many pairs stand in strictly descending order, and the values in ascending order."""
    if len(values) < 2:
        return 0, values
    middle = len(values) // 2
    left_count, left = _inversions(values[:middle])
    right_count, right = _inversions(values[middle:])
    crossing, position = 0, 0
    for each in left:
        while position < len(right) and right[position] < each:
            position += 1
        crossing += position
    return left_count + right_count + crossing, sorted(left + right)


def _over_root(numerator: int, square: int) -> int:
    """``numerator / √square`` in nano, rounded half-even once; the square is positive."""
    scaled = (numerator * NANO) ** 2
    below = math.isqrt(scaled // square)
    # compare the exact value with the middle between `below` and the next
    excess = 4 * scaled - (2 * below + 1) ** 2 * square
    nearest = below + (excess > 0 or (excess == 0 and below & 1))
    return nearest if numerator >= 0 else -nearest
