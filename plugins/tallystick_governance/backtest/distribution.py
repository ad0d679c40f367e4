"""One amount over some miners, under the baseline and under a candidate: who gains, who loses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from tallystick.numbers.nano import NANO, publish, round_half_even
from tallystick_governance.backtest.outcome import Counts, MinerTotals
from tallystick_governance.backtest.statistics import gini, hhi, moved, ranks, shares, tau_b


@attrs.frozen
class Concentration:
    """Inequality of an amount among the miners, in nano; None where nobody has anything.

    Attributes:
        gini: 0 when all have the same, towards 1 when one has everything.
        hhi: the sum of the squares of the shares, from 1/n to 1.
    """

    gini: int | None
    hhi: int | None

    @classmethod
    def of(cls, amounts: Counts) -> Concentration:
        """Return the concentration of some amounts, rounded once."""
        return cls(*(x if x is None else publish(x) for x in (gini(amounts), hhi(amounts))))


@attrs.frozen
class MinerChange:
    """The change of one miner's amount, share and rank.

    Attributes:
        miner: who.
        before: its amount under the baseline, in nano.
        after: the same under the candidate.
        share_before: its share in all amounts, in nano.
        share_after: the same under the candidate.
        rank_before: its place by amount, from 1; equals share one.
        rank_after: the same under the candidate.
    """

    miner: MinerTotals
    before: int
    after: int
    share_before: int
    share_after: int
    rank_before: int
    rank_after: int

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
        """The ranks that the miner rises; negative when it falls."""
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
    miners: tuple[MinerTotals, ...] = attrs.field(repr=False)
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
        """Return the change of each miner, in their order."""
        return list(
            map(
                MinerChange,
                self.miners,
                self.before,
                self.after,
                shares(self.before),
                shares(self.after),
                ranks(self.before),
                ranks(self.after),
            )
        )


def distribution(
    measure: str, miners: Sequence[MinerTotals], before: Counts, after: Counts
) -> Distribution:
    """Compare two lists of amounts, in the order of the miners.

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
        moved(before, after),
        Concentration.of(before),
        Concentration.of(after),
    )


def gaining(changes: Iterable[MinerChange]) -> int:
    """Count the miners that have a larger share."""
    return sum(miner.share_change > 0 for miner in changes)


def losing(changes: Iterable[MinerChange]) -> int:
    """Count the miners that have a smaller share."""
    return sum(miner.share_change < 0 for miner in changes)


def winners(changes: Iterable[MinerChange], limit: int) -> list[MinerChange]:
    """Return the largest gains of share, the largest first; by hotkey among equals."""
    return _largest(((miner.share_change, miner) for miner in changes), limit)


def losers(changes: Iterable[MinerChange], limit: int) -> list[MinerChange]:
    """Return the largest losses of share, the largest first; by hotkey among equals."""
    return _largest(((-miner.share_change, miner) for miner in changes), limit)


def relative_winners(changes: Iterable[MinerChange], limit: int) -> list[MinerChange]:
    """Return the largest gains as a part of the share before; a miner without one is left out."""
    return _largest(((miner.relative or 0, miner) for miner in changes), limit)


def relative_losers(changes: Iterable[MinerChange], limit: int) -> list[MinerChange]:
    """Return the largest losses as a part of the share before."""
    return _largest(((-(miner.relative or 0), miner) for miner in changes), limit)


def _largest(changes: Iterable[tuple[int, MinerChange]], limit: int) -> list[MinerChange]:
    """Return the miners with the largest values above 0; by hotkey among equals."""
    order = sorted(
        ((-value, change.miner.hotkey, change) for value, change in changes if value > 0),
        key=lambda entry: entry[:2],
    )
    return [change for *_, change in order[:limit]]
