"""One amount over the same miners, under the baseline and under a candidate.

The amount is the emission, or the quality where there is no emission. What there is for each miner
is made when it is asked for: only what is the same for all is kept, so that many candidates and
miners do not fill the memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import attrs

from tallystick.governance.backtest.comparison_model import Counts, Miner
from tallystick.governance.backtest.metrics import gini, hhi, published_share, ranks, tau_b
from tallystick.numbers.nano import NANO, publish, round_half_even

EMISSION = "emission"
"""The measure of what is distributed."""
QUALITY = "quality"
"""The measure where there is no emission."""


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
        measure: `EMISSION` or `QUALITY`.
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
