"""The last pass over a history: what some candidates change, epoch by epoch.

It counts as the pass before does, with another idea of who a miner is: a miner of one stretch of
epochs is one of its own. So the sums of all stretches are those of the whole history.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import attrs
import numpy as np

from tallystick.formula.columns import Column
from tallystick.io.sources import Source
from tallystick.scoring.executors.executor import Executor
from tallystick_governance.backtest.aggregate import Aggregate
from tallystick_governance.backtest.bootstrap import Bootstrap, Uncertainty, uncertainty
from tallystick_governance.backtest.candidates import Candidate
from tallystick_governance.backtest.chunk_count import count_chunks
from tallystick_governance.backtest.comparison import CandidateComparison
from tallystick_governance.backtest.comparison_model import FlipRows, Miner
from tallystick_governance.backtest.distribution import EMISSION, NOTHING
from tallystick_governance.backtest.permutation import ShareChanges, chances
from tallystick_governance.backtest.rounds import RoundStretches
from tallystick_governance.backtest.tally import Sums, Tally
from tallystick_governance.backtest.tracked_thresholds import TrackedThresholds


class RoundCount:
    """The changes of some candidates in each stretch of a history."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        miners: Sequence[Miner],
        stretches: RoundStretches,
        tracked: tuple[TrackedThresholds, ...] | None = None,
    ) -> None:
        """Nothing is counted yet.

        Args:
            candidates: the baseline first.
            miners: of the history.
            stretches: of its epochs or rounds.
            tracked: of each candidate, the thresholds of each epoch; by default the seeds.
        """
        self._candidates, self._miners, self._stretches = candidates, miners, stretches
        self._tracked = tracked
        self._aggregate = Aggregate()
        self._flips = np.zeros((len(candidates), stretches.count), np.int64)

    def read(self, source: Source, executor: Executor) -> None:
        """Count a history.

        Raises:
            InputError: it cannot be read.
            EngineError: the workers cannot be used.
        """
        counted = count_chunks(
            source,
            self._candidates,
            executor,
            self._aggregate,
            self._flip,
            self._stretches,
            self._tracked,
        )
        with closing(counted) as parts:
            for _ in parts:
                pass

    def uncertainties(
        self, comparisons: Sequence[CandidateComparison], bootstrap: Bootstrap
    ) -> list[Uncertainty | None]:
        """The uncertainty of what each candidate changes.

        Args:
            comparisons: of the candidates that were counted with the baseline, in their order.
            bootstrap: how the stretches are drawn.
        """
        stretches, hotkeys = self._stretches, [each.hotkey for each in self._miners]
        known, changes = list[Uncertainty | None](), list[ShareChanges | None]()
        for place, each in enumerate(comparisons, 1):
            measure = each.overall.measure
            before, after = self.amounts(0, measure), self.amounts(place, measure)
            changes.append(ShareChanges.of(before, after))
            known.append(
                uncertainty(
                    bootstrap,
                    hotkeys,
                    before,
                    after,
                    self.flips(place),
                    rounds=stretches.rounds,
                    epochs=stretches.epochs,
                )
            )
        dealt = chances(bootstrap.seed, bootstrap.draws, changes)
        return [
            None if found is None else attrs.evolve(found, chance=chance)
            for found, chance in zip(known, dealt, strict=True)
        ]

    def amounts(self, place: int, measure: str) -> list[list[int]]:
        """By stretch and miner, the amounts of all types under a candidate, in nano."""
        column = {miner.hotkey: n for n, miner in enumerate(self._miners)}
        found = [[0] * len(column) for _ in range(self._stretches.count)]
        places = self._aggregate.places
        cells = [self._stretches.cell(label) for label in places]
        for tallies in self._aggregate.tallies.values():
            sums = _sums(tallies.get(place), measure)
            if sums is not None:
                amounts = sums.totals(list(places.values()))
                for (stretch, hotkey), amount in zip(cells, amounts, strict=True):
                    found[stretch][column[hotkey]] += amount
        return found

    def flips(self, place: int) -> Column:
        """By stretch, how many records flip under a candidate."""
        found: Column = self._flips[place]
        return found

    def _flip(self, rows: FlipRows) -> None:
        self._flips[rows.candidate] += np.bincount(rows.miner_uid, minlength=self._stretches.count)


def _sums(tally: Tally | None, measure: str) -> Sums | None:
    """The sums of a measure of one type; None without any."""
    if tally is None or (measure == EMISSION and tally.most is None) or measure == NOTHING:
        return None
    return tally.emission if measure == EMISSION else tally.quality
