"""One amount over the same miners, under the baseline and under a candidate.

The amount is the emission, or the quality where there is no emission: whole numbers, in nano. Every
metric of it (shares, ranks, concentration, rank correlation) is a rational number or the root of
one, rounded half-even once where it is published; no float takes part. What is not defined, such as
the concentration of nothing, is None.

What there is for each miner is made when it is asked for: only what is the same for all is kept, so
that many candidates and miners do not fill the memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import groupby

import attrs

from tallystick.numbers.nano import NANO, publish, round_half_even
from tallystick_governance.backtest.comparison_model import Counts, Miner

EMISSION = "emission"
"""The measure of what is distributed."""
QUALITY = "quality"
"""The measure where there is no emission."""
NOTHING = "none"
"""The measure where there is neither: of types that have measures of their rule set alone."""


@attrs.frozen
class Concentration:
    """How unequal an amount is among the miners, in nano; None where nobody has anything.

    Attributes:
        gini: 0 when all have the same, towards 1 when one has everything.
        hhi: the sum of the squares of the shares, from 1/n to 1.
    """

    gini: int | None
    hhi: int | None


@attrs.frozen
class MinerChange:
    """What becomes of one miner.

    Attributes:
        miner: who.
        before: its amount under the baseline, in nano.
        after: the same under the candidate.
        share_before: its share in all amounts, in nano.
        share_after: the same under the candidate.
        rank_before: its place by amount, from 1; equals share one.
        rank_after: the same under the candidate.
    """

    miner: Miner
    before: int
    after: int
    share_before: int
    share_after: int
    rank_before: int
    rank_after: int

    @property
    def change(self) -> int:
        """The change of the amount, in nano."""
        return self.after - self.before

    @property
    def share_change(self) -> int:
        """The change of the published share, in nano."""
        return self.share_after - self.share_before

    @property
    def relative(self) -> int | None:
        """The change of the published share as a part of what it was, in nano.

        −1 loses everything; None for a miner that had no share.
        """
        before = self.share_before
        return round_half_even(self.share_change * NANO, before) if before else None

    @property
    def climb(self) -> int:
        """How many ranks the miner rises; negative when it falls."""
        return self.rank_before - self.rank_after


@attrs.frozen
class Distribution:
    """One amount over some miners, under the baseline and under a candidate.

    Attributes:
        measure: `EMISSION`, `QUALITY` or `NOTHING`.
        miners: who takes part, sorted by hotkey.
        before: the amount of each under the baseline, in nano.
        after: the amount of each under the candidate, in nano.
        tau: Kendall's tau-b of the two rankings, in nano; None when one has no order.
        moved: the part of all shares that changes hands, half the sum of their absolute changes,
            in nano; None when nobody has anything under one of the two.
        concentration_before: under the baseline.
        concentration_after: under the candidate.
    """

    measure: str
    miners: tuple[Miner, ...] = attrs.field(repr=False)
    before: Counts = attrs.field(repr=False)
    after: Counts = attrs.field(repr=False)
    tau: int | None
    moved: int | None
    concentration_before: Concentration
    concentration_after: Concentration

    @property
    def total_before(self) -> int:
        """The sum of the amounts under the baseline, in nano."""
        return sum(self.before)

    @property
    def total_after(self) -> int:
        """The sum of the amounts under the candidate, in nano."""
        return sum(self.after)

    def changes(self) -> list[MinerChange]:
        """What becomes of each miner, in their order."""
        return list(
            map(
                MinerChange,
                self.miners,
                self.before,
                self.after,
                _shares(self.before),
                _shares(self.after),
                ranks(self.before),
                ranks(self.after),
            )
        )


def distribution(
    measure: str, miners: Sequence[Miner], before: Counts, after: Counts
) -> Distribution:
    """The distribution of some amounts; the three have one order.

    Args:
        measure: what the amounts are.
        miners: who takes part.
        before: under the baseline, in nano, not negative.
        after: under the candidate, in nano, not negative.
    """
    return Distribution(
        measure,
        tuple(miners),
        before,
        after,
        tau_b(before, after),
        _moved(before, after),
        _concentration(before),
        _concentration(after),
    )


def summed(amounts: Iterable[Counts], many: int) -> Counts:
    """The sum of the amounts of each of some miners."""
    return tuple(map(sum, zip(*amounts, strict=True))) or (0,) * many


def gaining(changes: Iterable[MinerChange]) -> int:
    """How many miners have a larger share."""
    return sum(each.share_change > 0 for each in changes)


def losing(changes: Iterable[MinerChange]) -> int:
    """How many miners have a smaller share."""
    return sum(each.share_change < 0 for each in changes)


def winners(changes: Iterable[MinerChange], many: int) -> list[MinerChange]:
    """Who gains most of the shares, the largest gain first; by hotkey among equals."""
    found = [each for each in changes if each.share_change > 0]
    return sorted(found, key=lambda each: (-each.share_change, each.miner.hotkey))[:many]


def losers(changes: Iterable[MinerChange], many: int) -> list[MinerChange]:
    """Who loses most of the shares, the largest loss first; by hotkey among equals."""
    found = [each for each in changes if each.share_change < 0]
    return sorted(found, key=lambda each: (each.share_change, each.miner.hotkey))[:many]


def relative_winners(changes: Iterable[MinerChange], many: int) -> list[MinerChange]:
    """As `winners`, by the change as a part of the share that was; who had none is left out."""
    found = [(each.relative or 0, each) for each in changes]
    gains = sorted(
        ((part, each) for part, each in found if part > 0),
        key=lambda pair: (-pair[0], pair[1].miner.hotkey),
    )
    return [each for _, each in gains[:many]]


def relative_losers(changes: Iterable[MinerChange], many: int) -> list[MinerChange]:
    """As `losers`, by the change as a part of the share that was."""
    found = [(each.relative or 0, each) for each in changes]
    losses = sorted(
        ((part, each) for part, each in found if part < 0),
        key=lambda pair: (pair[0], pair[1].miner.hotkey),
    )
    return [each for _, each in losses[:many]]


def published_share(part: int, whole: int) -> int:
    """What part of the whole that is, in nano, rounded once; 0 of nothing."""
    return round_half_even(part * NANO, whole) if whole else 0


def ranks(amounts: Sequence[int]) -> list[int]:
    """The place of each amount, the largest first, from 1.

    A place is one more than the number of larger amounts: equals share one, as in 1, 2, 2, 4.
    """
    place: dict[int, int] = {}
    for position, amount in enumerate(sorted(amounts, reverse=True), 1):
        place.setdefault(amount, position)
    return [place[amount] for amount in amounts]


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


def _shares(amounts: Counts) -> list[int]:
    whole = sum(amounts)
    return [published_share(each, whole) for each in amounts]


def _concentration(amounts: Counts) -> Concentration:
    return Concentration(_published(gini(amounts)), _published(hhi(amounts)))


def _published(value: Fraction | None) -> int | None:
    return None if value is None else publish(value)


def _moved(before: Counts, after: Counts) -> int | None:
    whole, other = sum(before), sum(after)
    if not whole or not other:
        return None
    apart = sum(abs(b * other - a * whole) for b, a in zip(before, after, strict=True))
    return publish(Fraction(apart, 2 * whole * other))


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
