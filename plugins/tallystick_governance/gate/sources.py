"""Sources of figures: a history, a made-up network, or one that goes on from a state.

Deviations are tried on made-up networks alone: a history has what its miners did.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs

from tallystick.errors import InputError, StateError
from tallystick.numbers.nano import NANO
from tallystick.scoring.scorer import Scorer
from tallystick_governance.diff.effect import recomputed
from tallystick_governance.gate.measurement import (
    DeviationFigures,
    MeasuredOn,
    NotAskedError,
    Pair,
    WeightFigures,
)
from tallystick_governance.gate.policy import Measure
from tallystick_governance.weight_effect import HistoryEffect, history_effect
from tallystick_simulation.comparison import NOBODY, Comparison, compare
from tallystick_simulation.response import Response, Setting, responses, trials
from tallystick_simulation.strategy import HONEST
from tallystick_state.ledger import Ledger
from tallystick_state.model import State


@attrs.frozen
class MadeUpNetwork:
    """Made-up miners under both rule sets.

    Attributes:
        measure: the seeds and the epochs; every seed has figures of its own.
        measured_on: as receipts name it.
        old: the rules before.
        new: the rules after.
        state: in which both begin; None for a new one.
    """

    measure: Measure
    measured_on: MeasuredOn
    old: Scorer
    new: Scorer
    state: State | None = None

    def weights(self) -> tuple[WeightFigures, ...]:
        """Return the figures of weights, of each seed.

        Raises:
            NotAskedError: the rules read what no simulation puts in, or are not those of a state.
        """
        sizes: dict[str, Any] = {"state": self.state, "epochs": self.measure.epochs}
        seeds = self.measure.seeds
        try:
            runs = [compare(self.old, self.new, seed=seed, **sizes) for seed in seeds]
        except (InputError, StateError) as error:
            raise NotAskedError(str(error)) from error
        return tuple(map(_figures, runs))

    def deviations(self, strategies: Collection[str]) -> tuple[DeviationFigures, ...]:
        """Return the figures of some deviations, of all by default, of each seed.

        A skill type whose miners the change leaves as they were is left out.

        Raises:
            NotAskedError: there is no such strategy; or as of `weights`.
        """
        types = [name for name in self.new.types if not _is_same(self.old, self.new, name)]
        if not types:
            return (DeviationFigures({}),)
        try:
            return tuple(self._deviations(types, strategies, s) for s in self.measure.seeds)
        except (InputError, StateError) as error:
            raise NotAskedError(str(error)) from error

    def _deviations(
        self, types: Collection[str], strategies: Collection[str], seed: int
    ) -> DeviationFigures:
        epochs = self.measure.trial_epochs
        setting = Setting(epochs=epochs, seeds=1, seed=seed, state=self.state)
        before: Mapping[tuple[str, str], Response] = {}
        shared = [name for name in types if name in self.old.types]
        if shared:
            before = _by_name(responses(trials(self.old, setting, types=shared), strategies))
        after = _by_name(responses(trials(self.new, setting, types=types), strategies))
        multiples, unpaid = dict[str, Pair](), dict[str, None]()
        for key, response in after.items():
            known = before.get(key)
            was = None if known is None else known.gain
            if response.gain is None:
                # under rules that paid honest work
                unpaid |= {} if was is None else {response.skill_type: None}
            elif not response.is_honest:
                name = f"{response.strategy} in {response.skill_type}"
                multiples[name] = _pair(NANO + (was or 0), NANO + response.gain)
        return DeviationFigures(multiples, tuple(unpaid))


def _by_name(tried: Iterable[Response]) -> dict[tuple[str, str], Response]:
    """Return responses by skill type and strategy."""
    return {(response.skill_type, response.strategy): response for response in tried}


def _is_same(old: Scorer, new: Scorer, skill_type: str) -> bool:
    """Return whether a change leaves everything as it was that miners of one type alone meet."""
    before, after = old.types.get(skill_type), new.types[skill_type]
    if before is None or old.rule_set.sections != new.rule_set.sections:
        return False
    return not recomputed(before, after)


@attrs.frozen(slots=False)
class RecordedHistory:
    """The records of a history under both rule sets.

    Attributes:
        path: a file or folder of records or facts.
        groups: a file of the groups of the records; None where they keep their consensus.
        network: the made-up network in which deviations are tried.
        old: the rules before.
        new: the rules after.
    """

    path: Path
    groups: Path | None
    network: MadeUpNetwork
    old: Scorer
    new: Scorer

    @property
    def measured_on(self) -> MeasuredOn:
        """The history, as receipts name it; the network where only deviations have figures."""
        try:
            history = self._effect.history
        except NotAskedError:
            return self.network.measured_on
        return MeasuredOn(
            "history",
            digest=history.digest,
            groups=history.groups.get("digest"),
            seeds=self.network.measure.seeds,
            epochs=0 if history.period is None else len(history.period.epochs),
            records=sum(history.records.values()),
        )

    def weights(self) -> tuple[WeightFigures, ...]:
        """Return the figures of weights.

        Raises:
            InputError: the history cannot be read, or has no record of a type of the old rules.
            NotAskedError: its epochs cannot be closed by one of the rule sets.
        """
        weights = self._effect.weights
        if weights.distribution is None:
            raise NotAskedError(weights.unknown)
        emissions = self._effect.emissions
        by_type = {
            name: _pair(*(side.get(name, 0) for side in emissions))
            for name in sorted({*emissions[0], *emissions[1]})
        }
        return (
            WeightFigures(
                emission=_pair(*(sum(side.values()) for side in emissions)),
                moved=Fraction(weights.share_moved or 0, NANO),
                nobody=_pair(*weights.nobody),
                weights={hotkey: _pair(*ends) for hotkey, ends in weights.shares.items()},
                emission_by_type=by_type,
                not_exercised=weights.not_exercised,
            ),
        )

    def deviations(self, strategies: Collection[str]) -> tuple[DeviationFigures, ...]:
        """Return the figures of deviations on the made-up network."""
        return self.network.deviations(strategies)

    @cached_property
    def _effect(self) -> HistoryEffect:
        try:
            return history_effect(self.path, self.old, self.new, groups=self.groups)
        except StateError as error:
            raise NotAskedError(str(error)) from error


Source = MadeUpNetwork | RecordedHistory
"""A world that figures of a change are measured on."""


def source_of(  # noqa: PLR0913  # two rule sets, and all that a world is made of
    history: Path | None,
    where: str | None,
    measure: Measure,
    old: Scorer,
    new: Scorer,
    *,
    groups: Path | None = None,
) -> Source:
    """Return the world that figures are measured on.

    Args:
        history: a file or folder of records or facts; None without.
        where: the state that a made-up network goes on from; None without.
        measure: the seeds and the epochs of made-up networks.
        old: the rules before.
        new: the rules after.
        groups: a file of the groups of the records of the history; by default they keep the
            consensus that they have.

    Raises:
        InputError: the place of the state is none.
        StateError: the state goes by other rules.
        StoreError: there is no state, or it cannot be used.
    """
    if where is None:
        named = MeasuredOn("network", seeds=measure.seeds, epochs=measure.epochs)
        network = MadeUpNetwork(measure, named, old, new)
        if history is None:
            return network
        return RecordedHistory(history, groups, network, old, new)
    with Ledger.open(where) as ledger, ledger.queries() as queries:
        state, digest = queries.state, queries.digest()
        in_force = [rules.digest for rules in queries.rules.lines]
    if old.digest not in in_force:
        raise StateError(
            f"found {old.digest}, expected OLD to be what the state goes by in epoch "
            f"{state.epoch}, which is {', '.join(in_force)}"
        )
    named = MeasuredOn(
        "state", digest=digest, epoch=state.epoch, seeds=measure.seeds, epochs=measure.epochs
    )
    return MadeUpNetwork(measure, named, old, new, state)


def _figures(comparison: Comparison) -> WeightFigures:
    shares = {name: _pair(*ends) for name, ends in comparison.pay.items()}
    return WeightFigures(
        emission=_pair(*comparison.emission),
        moved=Fraction(comparison.moved_overall, NANO),
        nobody=shares[NOBODY],
        weights={n: pair for n, pair in shares.items() if n.partition("-")[0] == HONEST},
        not_exercised=comparison.not_exercised,
    )


def _pair(before: int, after: int) -> Pair:
    """Return a figure in nano under both rule sets as exact numbers."""
    return Fraction(before, NANO), Fraction(after, NANO)
