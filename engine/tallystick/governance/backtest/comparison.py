"""One candidate against the baseline: everything that a report or a file says about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress

import attrs

from tallystick.governance.backtest.comparison_model import (
    CandidateOutcome,
    Comparison,
    Counts,
    Identity,
    Miner,
    Outcome,
    TypeOutcome,
)
from tallystick.governance.backtest.distances import DistanceTally, FlipDistances
from tallystick.governance.backtest.distribution import (
    EMISSION,
    QUALITY,
    Distribution,
    distribution,
    summed,
)
from tallystick.governance.backtest.state_comparison import (
    StateComparison,
    compare_states,
    members_of,
)


@attrs.frozen
class TypeComparison:
    """What a candidate changes for one skill type.

    Attributes:
        skill_type: the type.
        distribution: among the miners with a scored record of the type under either rule set; by
            emission, or by quality where one of the two has no emission for the type.
        scored_before: how many records the baseline scores.
        scored_after: how many the candidate scores.
        rejected: how many records only the candidate refuses, by code.
        tiers: the records that both score, by tier; None when one of them lacks the type.
        distances: of the flips to their cliffs.
    """

    skill_type: str
    distribution: Distribution
    scored_before: int
    scored_after: int
    rejected: Mapping[str, int]
    tiers: Comparison | None
    distances: FlipDistances


@attrs.frozen
class CandidateComparison:
    """What a candidate changes.

    Attributes:
        position: of the candidate, from 1; 0 compares the baseline with itself.
        identity: which rule set it is.
        overall: among all miners of the history, over all types; by emission, or by quality when
            no type has an emission.
        types: by skill type, those of either rule set.
        state: with a replay of the epochs.
    """

    position: int
    identity: Identity
    overall: Distribution
    types: Mapping[str, TypeComparison]
    state: StateComparison | None

    @property
    def compared(self) -> int:
        """How many records both rule sets score."""
        return sum(each.tiers.compared for each in self.types.values() if each.tiers)

    @property
    def tier_flips(self) -> int:
        """How many records change their tier."""
        return sum(each.tiers.tier_flips for each in self.types.values() if each.tiers)

    @property
    def gate_flips(self) -> int:
        """How many records another gate decides."""
        return sum(each.tiers.gate_flips for each in self.types.values() if each.tiers)

    @property
    def flips(self) -> int:
        """How many records flip in either way."""
        return sum(each.tiers.flips for each in self.types.values() if each.tiers)

    @property
    def distances(self) -> FlipDistances:
        """The distances of all flips."""
        return sum((each.distances for each in self.types.values()), FlipDistances())


def compare(outcome: Outcome, position: int, tally: DistanceTally) -> CandidateComparison:
    """The candidate at a position of the outcome against its baseline."""
    before, after = outcome.baseline, outcome.candidates[position]
    types = {
        name: _compare_type(outcome.miners, name, before, after, tally.of(position, name))
        for name in dict.fromkeys([*before.types, *after.types])
    }
    return CandidateComparison(
        position,
        after.identity,
        _overall(outcome.miners, before, after),
        types,
        compare_states(outcome.miners, before, after),
    )


def _compare_type(
    miners: Sequence[Miner],
    name: str,
    before: CandidateOutcome,
    after: CandidateOutcome,
    distances: FlipDistances,
) -> TypeComparison:
    old, new = before.types.get(name), after.types.get(name)
    measure, members = _measure(old, new), members_of(before, after, name)
    return TypeComparison(
        name,
        distribution(
            measure,
            tuple(compress(miners, members)),
            tuple(compress(_amounts(old, measure, len(miners)), members)),
            tuple(compress(_amounts(new, measure, len(miners)), members)),
        ),
        old.scored if old else 0,
        new.scored if new else 0,
        new.rejected if new else {},
        new.comparison if old and new else None,
        distances,
    )


def _measure(*types: TypeOutcome | None) -> str:
    """Emission, where every rule set that has the type has one for it."""
    return EMISSION if all(each.emission is not None for each in types if each) else QUALITY


def _amounts(outcome: TypeOutcome | None, measure: str, many: int) -> Counts:
    found = outcome and (outcome.emission if measure == EMISSION else outcome.quality)
    return found or (0,) * many


def _overall(
    miners: Sequence[Miner], before: CandidateOutcome, after: CandidateOutcome
) -> Distribution:
    """Types without an emission take part only when no type has one."""
    every = [*before.types.values(), *after.types.values()]
    measure = EMISSION if any(each.emission is not None for each in every) else QUALITY
    many = len(miners)
    old = [_amounts(each, measure, many) for each in before.types.values()]
    new = [_amounts(each, measure, many) for each in after.types.values()]
    return distribution(measure, miners, summed(old, many), summed(new, many))
