"""What a candidate changes when the epochs of the history are replayed under both rule sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress

import attrs

from tallystick.governance.backtest.comparison_model import (
    CandidateOutcome,
    Counts,
    Miner,
    StateOutcome,
)
from tallystick.governance.backtest.distribution import (
    EMISSION,
    QUALITY,
    Distribution,
    distribution,
    summed,
)


@attrs.frozen
class StateComparison:
    """What a candidate changes when states follow from epoch to epoch.

    Attributes:
        epochs: how many epochs were closed under the candidate.
        overall: the amounts of all types under the thresholds that each state tracked.
        types: the same by skill type.
        round_scores: the sums of round scores; None where one of the two has none.
        before: the outcome of the baseline: its thresholds and reputations at the end.
        after: the same of the candidate.
    """

    epochs: int
    overall: Distribution
    types: Mapping[str, Distribution]
    round_scores: Distribution | None
    before: StateOutcome = attrs.field(repr=False)
    after: StateOutcome = attrs.field(repr=False)


def compare_states(
    miners: Sequence[Miner], before: CandidateOutcome, after: CandidateOutcome
) -> StateComparison | None:
    """The replays of two candidates; None when one was not replayed."""
    old, new = before.state, after.state
    if old is None or new is None:
        return None
    names = dict.fromkeys([*old.quality, *new.quality])
    return StateComparison(
        new.epochs,
        _overall(miners, old, new),
        {name: _of_type(miners, name, old, new, members_of(before, after, name)) for name in names},
        _round_scores(miners, old, new),
        old,
        new,
    )


def members_of(before: CandidateOutcome, after: CandidateOutcome, skill_type: str) -> list[bool]:
    """Which miners have a scored record of a type under one of two candidates."""
    found = [each.types[skill_type].records for each in (before, after) if skill_type in each.types]
    return [any(counts) for counts in zip(*found, strict=True)]


def _of_type(
    miners: Sequence[Miner],
    name: str,
    old: StateOutcome,
    new: StateOutcome,
    members: Sequence[bool],
) -> Distribution:
    """By emission, where every rule set that has the type has one for it."""
    having = [each for each in (old, new) if name in each.quality]
    measure = EMISSION if all(name in each.emission for each in having) else QUALITY
    amounts = [_amounts(each, measure).get(name, (0,) * len(miners)) for each in (old, new)]
    before, after = (tuple(compress(each, members)) for each in amounts)
    return distribution(measure, tuple(compress(miners, members)), before, after)


def _overall(miners: Sequence[Miner], old: StateOutcome, new: StateOutcome) -> Distribution:
    """Types without an emission take part only when no type has one."""
    measure = EMISSION if old.emission or new.emission else QUALITY
    before, after = (summed(_amounts(each, measure).values(), len(miners)) for each in (old, new))
    return distribution(measure, miners, before, after)


def _amounts(outcome: StateOutcome, measure: str) -> Mapping[str, Counts]:
    return outcome.emission if measure == EMISSION else outcome.quality


def _round_scores(
    miners: Sequence[Miner], old: StateOutcome, new: StateOutcome
) -> Distribution | None:
    if old.round_scores is None or new.round_scores is None:
        return None
    return distribution("round_score", miners, old.round_scores, new.round_scores)
