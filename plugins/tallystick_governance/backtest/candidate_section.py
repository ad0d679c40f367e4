"""The section of a report on one candidate: what ``candidate_section.html`` shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from tallystick.numbers.text import decimal
from tallystick_governance.backtest.bootstrap import Interval
from tallystick_governance.backtest.comparison import EDGES, CandidateComparison
from tallystick_governance.backtest.comparison_model import Comparison, EpochState, Miner
from tallystick_governance.backtest.distribution import MinerChange
from tallystick_governance.backtest.wording import sentences

_DARKEST = 3


@attrs.frozen
class MeanReputation:
    """The mean reputation of all miners in one skill type at the end of a replay, in nano.

    Attributes:
        skill_type: the type.
        before: under the baseline; None without any.
        after: under the candidate; None without any.
    """

    skill_type: str
    before: int | None
    after: int | None


@attrs.frozen
class MinerIncentive:
    """The incentive of one miner in each scenario of who adopts a candidate.

    Attributes:
        miner: who.
        incentive: of each scenario, in nano.
    """

    miner: Miner
    incentive: tuple[int, ...]


@attrs.define
class CandidateSection:
    """One candidate against the baseline.

    Attributes:
        comparison: the numbers.
        label: what is different about it.
        standing: its place among many candidates; empty among a few.
        rows: how many miners its table has at most.
        alone: whether there is no other.
        drawn: whether it has plots.
        folded: whether plots and tables are folded away.
        changes: what becomes of each miner.
    """

    comparison: CandidateComparison
    label: str
    standing: str
    rows: int
    alone: bool = attrs.field(kw_only=True)
    drawn: bool = attrs.field(kw_only=True)
    folded: bool = attrs.field(kw_only=True)
    changes: list[MinerChange] = attrs.field(init=False)

    @changes.default
    def _changes(self) -> list[MinerChange]:
        return self.comparison.overall.changes()

    @property
    def sentences(self) -> Iterator[str]:
        """The candidate in words."""
        return sentences(self.comparison, self.changes)

    @property
    def migrations(self) -> Mapping[str, Comparison]:
        """By skill type with tiers, where the records of each tier go."""
        return {
            name: each.tiers
            for name, each in self.comparison.types.items()
            if each.tiers is not None and each.tiers.migration and each.tiers.compared
        }

    def interval(self, change: MinerChange) -> Interval | None:
        """Of the change of a miner's share; None when it is not known."""
        known = self.comparison.uncertainty
        return None if known is None else known.shares[change.miner.hotkey]

    @staticmethod
    def heat(number: int, row: Sequence[int]) -> int:
        """How dark a cell is, from 0 to 3, by its part of the row."""
        return -(-_DARKEST * number // (sum(row) or 1))

    @property
    def edges(self) -> tuple[str, ...]:
        """The heads of the columns of flips at most so far from their threshold."""
        return tuple(f"within {decimal(edge, 6).rstrip('0')}" for edge in EDGES)

    @property
    def reputations(self) -> list[MeanReputation]:
        """The mean reputations of the skill types that have any, at the end of a replay."""
        state = self.comparison.state
        if state is None:
            return []
        before, after = state.before.final, state.after.final
        means = (
            MeanReputation(name, _mean_reputation(before, name), _mean_reputation(after, name))
            for name in state.types
        )
        return [each for each in means if (each.before, each.after) != (None, None)]

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Who adopts the candidate, as heads of columns."""
        found = self.comparison.incentives
        return tuple(each.name for each in found.scenarios) if found else ()

    @property
    def incentives(self) -> Iterator[MinerIncentive]:
        """Of those whose incentive changes most, as many as the table of miners has."""
        found = self.comparison.incentives
        if found is None:
            return
        for place in found.most_changed(self.rows):
            values = tuple(each.incentive[place] for each in found.scenarios)
            yield MinerIncentive(found.miners[place], values)

    @property
    def miners(self) -> list[MinerChange]:
        """Those whose share changes most, from the largest gain to the largest loss."""
        order = sorted(self.changes, key=lambda e: (-abs(e.share_change), e.miner.hotkey))
        return sorted(order[: self.rows], key=lambda e: (-e.share_change, e.miner.hotkey))


def _mean_reputation(state: EpochState, skill_type: str) -> int | None:
    found = [each[skill_type] for each in state.reputations.values() if skill_type in each]
    return sum(found) // len(found) if found else None
