"""Networks: what the miners of a made-up network are paid, epoch by epoch.

These are the values: who takes part, and what becomes of them. `run` has the loop.
"""

from __future__ import annotations

import attrs
import numpy as np

from tallystick.formula.columns import Column
from tallystick.scoring.bound_rules import BoundRules
from tallystick_simulation.assumptions import Assumptions, shipped_assumptions
from tallystick_simulation.strategy import MinerStrategy
from tallystick_state.model import State

Table = np.ndarray[tuple[int, int], np.dtype[np.int64]]
"""Whole numbers by epoch and participant."""


@attrs.frozen(kw_only=True)
class Participant:
    """A miner, whichever hotkeys it has.

    Attributes:
        name: tells it from the others; its hotkeys follow from it and the seed.
        strategy: what it does.
        accuracy: how many of 100 things its honest answers have right.
        variant: tells equally good miners apart, whose mistakes differ.
        types: the skill types that it declares; None for all.
        joins: the epoch of the run in which it registers.
        leaves: the epoch of the run from which on it has no slot; None for none.
        replaces: the name of the participant whose slot it takes as it joins.
        coalition: the name of those whose wrong answers are alike.
        reputation: with which its first hotkeys begin, in nano, kept within floor and ceiling; None
            for that of newcomers.
    """

    name: str
    strategy: MinerStrategy
    accuracy: int
    variant: int = 0
    types: frozenset[str] | None = None
    joins: int = 0
    leaves: int | None = None
    replaces: str | None = None
    coalition: str = ""
    reputation: int | None = None


def spread(low: int, high: int, number: int, count: int) -> int:
    """Return the place of a number among so many that are spread over a range."""
    return low + (high - low) * number // max(1, count - 1)


@attrs.frozen(kw_only=True)
class Network:
    """A made-up network.

    Attributes:
        rules: of all epochs.
        participants: in any order; names differ.
        epochs: how many epochs there are.
        rounds: of an epoch; each skill type has one task in each.
        seed: equal ones give equal bytes.
        state: from which it begins; None for that of new rules. Its miners that are no participants
            have no slot.
        detection: how many of 100 dishonest answers are caught; None for what is assumed.
        assumptions: other numbers.
    """

    rules: BoundRules
    participants: tuple[Participant, ...]
    epochs: int
    rounds: int = 2
    seed: int = 0
    state: State | None = None
    detection: int | None = None
    assumptions: Assumptions = attrs.field(factory=shipped_assumptions)

    @property
    def detected(self) -> int:
        """Number of dishonest answers of 100 that are caught."""
        if self.detection is None:
            return self.assumptions.constant("detection")
        return self.detection


@attrs.frozen(eq=False, kw_only=True)
class NetworkRun:
    """The outcome of a network.

    Attributes:
        names: of the participants, in their order.
        weights: shares of all weight of the epoch, in nano, of all hotkeys of a participant
            together.
        burnt: the share of each epoch that goes to no participant, such as to the owner, in nano.
        nobody: all of each epoch in which nobody has a weight, in nano; 0 of others.
        answers: how many tasks it answered.
        work: in nano units of the work of an honest answer.
        quality: the sum over its records, in nano, of one validator.
        emission: the same of emissions.
        tiers: the highest tier reached, from 0; -1 for none.
        not_exercised: the switches of the rules that made no difference.
        state: after the last epoch.
    """

    names: tuple[str, ...]
    weights: Table
    burnt: Column
    nobody: Column
    answers: Table
    work: Table
    quality: Table
    emission: Table
    tiers: Table
    not_exercised: tuple[str, ...]
    state: State = attrs.field(repr=False)

    def pay(self, name: str) -> int:
        """Return the sum of a participant's weights, in nano."""
        return int(self.weights[:, self.names.index(name)].sum())

    def pay_per_work(self, name: str) -> tuple[int, int]:
        """Return the sums of weights and of work of a participant, in nano."""
        return self.pay(name), int(self.work[:, self.names.index(name)].sum())
