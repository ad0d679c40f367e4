"""Newcomers: how long an honest miner takes to reach each tier, and the weight of its equals."""

from __future__ import annotations

import attrs
import numpy as np

from tallystick.formula.columns import Column, Truths
from tallystick.json_values import json_fields
from tallystick.numbers.nano import NANO
from tallystick_simulation.network import NetworkRun, Participant
from tallystick_simulation.response import Trial
from tallystick_simulation.strategy import HONEST

NEWCOMER, VETERAN = "newcomer", "veteran"
_JOINS = 3
"""The newcomer joins after one of so many parts of the epochs."""
_EQUAL, _OF = 9, 10
"""Part of the weight of the veteran at which the newcomer counts as its equal."""


@json_fields(nano=("concentration",), hidden=("skill_type",))
@attrs.frozen
class Newcomer:
    """An honest miner that joins a running network, beside one that was there from the beginning.

    Attributes:
        skill_type: of all tasks.
        tiers: by the name of each tier above the lowest, the mean number of epochs until the first
            record that reaches it, over the seeds in which it does; None where it never does.
        equal: epochs until the mean weight since is nine tenths of that of its equal; None where it
            never is. Means are rounded down.
        concentration: by epoch, the sum of the squares of all shares of weight, in nano, of the
            first seed: 1 where one miner has all.
    """

    skill_type: str
    tiers: dict[str, int | None]
    equal: int | None
    concentration: tuple[int, ...]


def newcomer(trial: Trial) -> Newcomer:
    """Return what becomes of a newcomer among honest miners.

    Args:
        trial: the rules, the skill type and the size of the network.
    """
    setting, honest = trial.setting, trial.strategies[HONEST]
    joins = setting.epochs // _JOINS
    own = trial.assumptions.accuracy(HONEST)
    types = frozenset({trial.skill_type})
    people = [
        *trial.honest(setting.miners - 2),
        *(
            Participant(name=name, strategy=honest, accuracy=own, types=types, joins=begin)
            for name, begin in ((VETERAN, 0), (NEWCOMER, joins))
        ),
    ]
    runs = [trial.run_of(people, seed) for seed in setting.all_seeds]
    bound = trial.rules.types[trial.skill_type]
    levels = () if bound.tiers is None else bound.tiers.levels
    return Newcomer(
        skill_type=trial.skill_type,
        tiers={
            name: _mean([_first_tier(outcome, place, joins) for outcome in runs])
            for place, name in enumerate(levels)
            if place
        },
        equal=_mean([_first_equal(outcome, joins) for outcome in runs]),
        concentration=tuple(map(_squares, runs[0].weights)),
    )


def _first_tier(outcome: NetworkRun, tier: int, joins: int) -> int | None:
    return _first(outcome.tiers[joins:, outcome.names.index(NEWCOMER)] >= tier)


def _first_equal(outcome: NetworkRun, joins: int) -> int | None:
    """Return after how many epochs the weight of the newcomer is about that of its equal."""
    weights = outcome.weights
    own, equal = (weights[joins:, outcome.names.index(name)] for name in (NEWCOMER, VETERAN))
    # the sums of what is left, so that one lucky epoch is not taken for a place
    own_left, equal_left = (np.cumsum(column[::-1])[::-1] for column in (own, equal))
    return _first((own_left * _OF >= equal_left * _EQUAL) & (own_left > 0))


def _first(wanted: Truths) -> int | None:
    places = np.flatnonzero(wanted)
    return int(places[0]) if len(places) else None


def _mean(epochs: list[int | None]) -> int | None:
    known = [epoch for epoch in epochs if epoch is not None]
    return sum(known) // len(known) if known else None


def _squares(weights: Column) -> int:
    """Return the sum of the squares of shares of weight, in nano."""
    shares: list[int] = weights.tolist()
    return sum(share * share for share in shares) // NANO
