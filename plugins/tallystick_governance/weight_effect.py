"""The effect of other rules on weights: one function from a history and two rule sets.

The steps are those of the engine: each record is scored by the thresholds of its epoch, the epoch
is closed, and its miners are weighed as a state would weigh them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

import attrs

from tallystick.io.paths import PathLike, path_of
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.executors.executor import InProcess
from tallystick_governance.backtest.candidates import Candidate, Identity
from tallystick_governance.backtest.history import reader_of
from tallystick_governance.backtest.outcome import History
from tallystick_governance.backtest.replay import Start, replays
from tallystick_governance.backtest.run import BacktestRun
from tallystick_governance.backtest.statistics import Bootstrap
from tallystick_governance.backtest.weights import WeightComparison, compare_weights
from tallystick_state.ledger import Ledger

WeightEffect = WeightComparison
"""The result of `weight_effect`."""


@attrs.frozen
class HistoryEffect:
    """The effect of other rules on a history.

    Attributes:
        history: as it was read.
        weights: the comparison of weights.
        emissions: under the old rules and under the new ones, by skill type, the sum over all
            records in nano; types without an emission are left out.
    """

    history: History
    weights: WeightEffect
    emissions: tuple[Mapping[str, int], Mapping[str, int]]


def weight_effect(  # noqa: PLR0913  # a history, two rule sets, and what is around them
    history: PathLike,
    old: BoundRules,
    new: BoundRules,
    *,
    state: Start | None = None,
    groups: PathLike | None = None,
    bootstrap: Bootstrap | None = None,
) -> WeightEffect:
    """Return what other rules do to the weights of the epochs of a history.

    Thresholds, reputations and carried columns follow from epoch to epoch under each rule set.

    Args:
        history: a file of records or facts, or a folder of either.
        old: the rules in force.
        new: other rules, loaded with the same plugins.
        state: what the network is as the first epoch begins; by default a new one.
        groups: a file of the groups of the records, of which each rule set computes their
            consensus; by default they keep the one that they have.
        bootstrap: how epochs are drawn for an interval; by default there is none.

    Raises:
        InputError: the history cannot be read, or has no record of a type of the old rules.
        StateError: an epoch cannot be closed by one of the rule sets.
    """
    effect = history_effect(history, old, new, state=state, groups=groups, bootstrap=bootstrap)
    return effect.weights


def history_effect(  # noqa: PLR0913  # as above
    history: PathLike,
    old: BoundRules,
    new: BoundRules,
    *,
    state: Start | None = None,
    groups: PathLike | None = None,
    bootstrap: Bootstrap | None = None,
) -> HistoryEffect:
    """Return the result of `weight_effect`, with the history and the emissions.

    Raises:
        InputError: as `weight_effect`.
        StateError: as `weight_effect`.
    """
    reader = reader_of(
        path_of(history, "a file or a folder of records or facts"),
        map(_candidate, (old, new)),
        None if groups is None else path_of(groups, "a file of groups"),
    )
    outcome = BacktestRun(reader).outcome()
    found = replays(reader, outcome, InProcess(), follows=True, start=state)
    with closing(found) as replayed:
        before, after = replayed
    weights = compare_weights(outcome.miners, before.weights, after.weights, bootstrap)
    emission_before, emission_after = (
        {} if replay.state is None else replay.state.emission for replay in (before, after)
    )
    return HistoryEffect(outcome.history, weights, (emission_before, emission_after))


def start_of(ledger: Ledger) -> Start:
    """Return the network of a state as its open epoch begins."""
    with ledger.queries() as queries:
        epoch = queries.state.epoch
        pinned = queries.pinned(epoch)
        rules = {own.line: own for own in queries.in_force.at(epoch).lines}
    return Start(queries.state if pinned is None else pinned, rules)


def _candidate(rules: BoundRules) -> Candidate:
    reference = rules.rule_set.reference
    return Candidate(Identity(reference, reference, rules.digest), rules)
