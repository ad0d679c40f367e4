"""Ratios made by hand: every small one, ties, the nearest misses of a tie, and the largest sizes.

A sample is a case, its rows, and the ways that the columns are expected to take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import attrs
from formula.agreement import check_rows
from formula.random_trees import Case

from tallystick.formula.domain import Domain
from tallystick.formula.facts import integer, number
from tallystick.formula.tree import Node, cases, minimum
from tallystick.numbers.nano import NANO

A, B, X, Y = integer("a"), integer("b"), number("x"), number("y")


@attrs.frozen(eq=False)
class Sample:
    name: str
    case: Case
    rows: Sequence[Sequence[int]]
    ways: tuple[str, ...]

    def check(self) -> None:
        assert check_rows(self.case, self.rows) == self.ways


def share(most: int) -> Case:
    """a / b with 0 ≤ a ≤ b ≤ most."""
    return Case(A / B, ((A, Domain(0, most)), (B, Domain(1, most))), {}, (A <= B,))


def small_ratios(limit: int) -> list[tuple[int, int]]:
    return [(a, b) for b in range(1, limit + 1) for a in range(b + 1)]


def nearest_to_ties(denominator: int) -> Iterator[tuple[int, int]]:
    """Ratios a / b whose nano is 1 / (2b) from a tie, as near as one that is no tie can be.

    2 · 10⁹ · a ≡ b ± 1 (mod 2b) is solved for a, which needs b to be odd and no multiple of 5.
    """
    b = next(d for d in range(denominator, 0, -1) if d % 2 and d % 5)
    inverse = pow(NANO, -1, b)
    for side in (1, -1):
        yield (b + side) // 2 * inverse % b, b
        yield b - (b + side) // 2 * inverse % b, b


def ties(power: int) -> Iterator[tuple[int, int]]:
    """Ratios a / 2ᵖ whose nano is exactly between two: 10⁹ has only nine factors 2."""
    b = 1 << power
    step = 1 << (power - 10)
    yield from ((odd * step, b) for odd in (1, 3, 5, 7, 511, 513, 1021, 1023))


def _around(limit: int) -> list[tuple[int, int]]:
    """Ratios whose denominators are at a limit and just below."""
    rows = [row for b in range(limit - 12, limit + 1) for row in nearest_to_ties(b)]
    rows += [(a, b) for b in (limit - 1, limit) for a in (0, 1, 2, b // 3, b // 2, b - 1, b)]
    if limit >= 1 << 11:
        rows += ties((limit - 1).bit_length() - 1)
    return rows


def _sized(power: int, offset: int, way: str) -> Sample:
    limit = (1 << power) + offset
    return Sample(f"ratios up to 2^{power}{offset:+d}", share(limit), _around(limit), (way,))


SIZES = [
    _sized(23, -1, "whole"),
    _sized(23, 0, "settled whole"),
    _sized(26, 0, "settled whole"),
    _sized(53, -1, "settled whole"),
    _sized(53, 1, "settled whole"),
    _sized(63, -1, "settled whole"),
]


def _one(name: str, tree: Node, most: int, way: str, values: Sequence[int]) -> Sample:
    return Sample(name, Case(tree, ((X, Domain(-most, most)),)), [(v,) for v in values], (way,))


def _ends(most: int) -> list[int]:
    near = [most - n for n in range(6)]
    middle = [most // 3, most // 2, most // 2 + 1, 1, 2, 3, 5, 7]
    return [v for each in (*near, *middle, 0) for v in (each, -each)]


_ODD = [1, 3, 5, 7, 899_999_999, 770_000_001, 1_540_000_001, 10**9 - 1]
_SIGNED_ODD = [v for each in _ODD for v in (each, -each)]
_LARGEST = (1 << 63) - 1
_HALF = Fraction(1, 2)

PAIR = Case(X * Y, tuple((f, Domain(0, 2 * NANO)) for f in (X, Y)))
WIDE_PAIR = Case(X * Y * _HALF**3, ((X, Domain(0, 1 << 62)), (Y, Domain(0, NANO))))

TIES = [
    _one("halves", X * _HALF, 2 * NANO, "whole", _SIGNED_ODD),
    _one("fifths are no ties", X * Fraction(3, 5), 2 * NANO, "whole", _SIGNED_ODD),
    _one("half steps below one", 1 - X * _HALF, 2 * NANO, "whole", _SIGNED_ODD),
    Sample(
        "products of two: 0.7700000005, 0.4499999995",
        PAIR,
        [(1_540_000_001, NANO // 2), (899_999_999, NANO // 2), (1, NANO // 2), (3, NANO // 2)],
        ("settled whole",),
    ),
    Sample(
        "a tie in the second arm",
        Case(cases((A == 0, X), otherwise=X * _HALF), ((A, Domain(0, 1)), (X, Domain(0, NANO)))),
        [(a, x) for a in (0, 1) for x in (1, 2, 3, 899_999_999, 770_000_001)],
        ("whole", "whole"),
    ),
]

_DIVISOR = 1_000_003


def _beside_ties(most: int) -> list[int]:
    """Values whose share is half a part of the divisor from a tie."""
    last = most // _DIVISOR - 1
    middles = [(2 * k + 1) * _DIVISOR for k in (0, 1, 2, 1000, last // 2, last - 1, last)]
    return [sign * (m + side) // 2 for m in middles for side in (1, -1) for sign in (1, -1)]


LIMITS = [
    *(
        _one(
            f"beside ties up to 2^{power}",
            X * Fraction(1, _DIVISOR),
            (1 << power) - 1,
            way,
            _beside_ties((1 << power) - 1),
        )
        for power, way in (
            (51, "whole"),
            (52, "whole"),
            (53, "settled whole"),
            (60, "settled whole"),
        )
    ),
    _one("whole nano to the last", X, _LARGEST - 2, "whole", _ends(_LARGEST - 2)),
    Sample(
        "a part that wraps where it is not taken",
        Case(
            minimum(1, cases((A <= B, 0), otherwise=(A - B) / X)),
            ((A, Domain(0, 4096)), (B, Domain(0, 1 << 40)), (X, Domain(1, 1 << 50))),
        ),
        [(a, b, 5) for a in (0, 7, 4096) for b in (0, 4095, 4096, 10**12, 1 << 40, (1 << 40) - 1)],
        ("whole", "settled whole"),
    ),
    Sample(
        "products that wrap",
        WIDE_PAIR,
        [(x, y) for x in (0, 1, 1 << 61, (1 << 62) - 1, 1 << 62) for y in (0, 1, 3, NANO)],
        ("integers",),
    ),
]
