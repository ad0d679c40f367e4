"""Tracked thresholds: those that the replays of some candidates give each epoch of a history.

A replay goes through events one by one and keeps sums. What is compared record by record is counted
once more by columns, with each record under the thresholds of its epoch, as the replay left them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import attrs
import numpy as np

from tallystick.formula.columns import Column
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick_governance.backtest.candidates import Candidate
from tallystick_governance.backtest.comparison_model import EpochState, StateOutcome

_Named = tuple[tuple[str, int], ...]
_ByType = tuple[tuple[str, _Named], ...]


@attrs.frozen(slots=False)
class TrackedThresholds:
    """The thresholds of each epoch under one candidate; a value that workers can be sent.

    Attributes:
        epochs: the epochs that have records, ascending.
        thresholds: of each, by skill type, the tracked thresholds in nano, by name.
        displaced: the lines of records that repeat an earlier one and do not count, ascending.
    """

    epochs: tuple[int, ...] = attrs.field(repr=False)
    thresholds: tuple[_ByType, ...] = attrs.field(repr=False)
    displaced: tuple[int, ...] = attrs.field(repr=False)

    @classmethod
    def of(cls, states: Sequence[EpochState], outcome: StateOutcome) -> TrackedThresholds:
        """The thresholds of a replay.

        Args:
            states: as each epoch with records begins, ascending.
            outcome: of the replay.
        """
        named = (
            tuple((name, tuple(found.items())) for name, found in state.thresholds.items())
            for state in states
        )
        return cls(tuple(state.epoch for state in states), tuple(named), outcome.displaced)

    def at(self, epoch: int, skill_type: str) -> _Named:
        """The tracked thresholds of a type in an epoch; none before the first."""
        place = bisect_right(self.epochs, epoch)
        return self._types[place - 1].get(skill_type, ()) if place else ()

    @cached_property
    def lines(self) -> Column:
        """The lines that do not count."""
        return np.array(self.displaced, np.int64)

    @cached_property
    def _types(self) -> list[Mapping[str, _Named]]:
        return [dict(each) for each in self.thresholds]


def scored_by(candidate: Candidate, skill_type: str, tracked: _Named) -> Candidate:
    """A candidate that scores a type by some tracked thresholds."""
    rules = candidate.rules
    found = completed(rules, skill_type, dict(tracked))
    if not found:
        return candidate
    changed = attrs.evolve(rules, thresholds={**rules.thresholds, skill_type: found})
    return attrs.evolve(candidate, rules=changed)


def completed(rules: BoundRules, skill_type: str, tracked: Thresholds) -> Thresholds:
    """Every threshold of a type from the tracked ones; none where it has no tiers."""
    bound = rules.types.get(skill_type)
    if bound is None or bound.tiers is None or set(bound.tiers.tracked) - set(tracked):
        return {}
    return bound.tiers.thresholds(tracked)


def tracks(candidates: Iterable[Candidate]) -> bool:
    """Whether a state tracks a threshold of one of some candidates."""
    rules = (span for each in candidates for _, span in each.rules.spans())
    types = (bound for span in rules for bound in span.types.values())
    return any(bound.tiers is not None and bound.tiers.tracked for bound in types)
