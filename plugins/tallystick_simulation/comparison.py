"""Comparison of two rule sets without a history: who would be paid what under each.

The miners are made up such that as much as can be of the rules makes a difference: honest ones from
poor to excellent, some who are late, do not answer, answer alike and wrong, send nothing of worth,
abort, join late, leave, or take the slot of another; they begin with reputations from one end of
the range to the other. What made no difference all the same is named.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import numpy as np

from tallystick.formula.columns import Column
from tallystick.numbers.nano import NANO
from tallystick.plugins.registry import united
from tallystick.scoring.bound_rules import BoundRules
from tallystick_simulation.assumptions import Assumptions, shipped_assumptions
from tallystick_simulation.network import Network, NetworkRun, Participant, spread
from tallystick_simulation.pool import Pool, pool_of
from tallystick_simulation.run import run
from tallystick_simulation.strategy import HONEST, MinerStrategy, strategies_of
from tallystick_state.model import State

MINERS, EPOCHS = 24, 12
"""Size of a comparison, by default."""
BURNT, NOBODY = "burnt", "nobody"
"""Names of what goes to no participant, and of the weight of epochs in which nobody has one."""
_TASKS = 8
"""Tasks of a type in the pool of a comparison."""
_DETECTION = 30
"""Dishonest answers of 100 that are caught there: enough for every penalty to have its turn."""
_WORST, _BEST = 35, 99
_HUNDRED = 100
_UNUSUAL: tuple[tuple[str, str, int], ...] = (
    ("late", "late", 60),
    ("absent", "absent", 100),
    ("first-colluder", "collude", 99),
    ("second-colluder", "collude", 98),
    ("idle", "idle", 25),
    ("hopeless", "idle", 0),
    ("spray", "spray", 50),
    ("rush", "rush", 50),
    ("abort", "abort", 55),
)
"""Names, strategies and first reputations, of 100, of those who are not simply honest."""


@attrs.frozen(eq=False, kw_only=True)
class Comparison:
    """Two runs of the same miners, under an old and a new rule set.

    Attributes:
        old: the run under the one.
        new: the run under the other.
        not_exercised: the switches of either rule set that made no difference in its run.
    """

    old: NetworkRun
    new: NetworkRun
    not_exercised: tuple[str, ...]

    @property
    def moved_overall(self) -> int:
        """The share of the weight of all epochs together that changes hands, in nano.

        What is burnt is in one hand, and nobody is another.
        """
        old, new = (_hands(outcome).sum(axis=0) for outcome in (self.old, self.new))
        return int(np.maximum(new - old, 0).sum()) // max(1, len(self.old.burnt))

    @property
    def emission(self) -> tuple[int, int]:
        """The sums of all emissions under the old rules and under the new ones, in nano."""
        return int(self.old.emission.sum()), int(self.new.emission.sum())

    @property
    def pay(self) -> Mapping[str, tuple[int, int]]:
        """The mean weight of each participant under both, in nano; of `BURNT` and `NOBODY` too."""
        epochs = max(1, len(self.old.burnt))
        old, new = (_hands(o).sum(axis=0) // epochs for o in (self.old, self.new))
        pairs = zip(old.tolist(), new.tolist(), strict=True)
        return dict(zip((*self.old.names, BURNT, NOBODY), pairs, strict=True))


def compare(  # noqa: PLR0913  # the sizes of the network
    old: BoundRules,
    new: BoundRules,
    *,
    seed: int = 0,
    state: State | None = None,
    miners: int = MINERS,
    epochs: int = EPOCHS,
    assumptions: Assumptions | None = None,
) -> Comparison:
    """Return what the same miners are paid under two rule sets.

    Args:
        old: the one rule set.
        new: the other.
        seed: equal ones give equal bytes.
        state: in which both begin; None for new ones.
        miners: how many there are, at least 16.
        epochs: how many epochs there are, at least 1.
        assumptions: costs and accuracies; None for those that ship.

    Raises:
        InputError: the rules read of records what a simulation cannot put in.
        StateError: the rules cannot be those of a state.
    """
    numbers = assumptions or shipped_assumptions()
    registry = (
        old.registry if old.registry is new.registry else united([old.registry, new.registry])
    )
    pool = pool_of(registry, seed, _TASKS)
    runs = [
        run(
            Network(
                rules=rules,
                participants=made_up(pool, rules, miners, epochs, numbers),
                epochs=epochs,
                seed=seed,
                state=state,
                detection=_DETECTION,
                assumptions=numbers,
            ),
            pool,
        )
        for rules in (old, new)
    ]
    return Comparison(
        old=runs[0],
        new=runs[1],
        not_exercised=tuple(sorted({name for side in runs for name in side.not_exercised})),
    )


def made_up(
    pool: Pool, rules: BoundRules, miners: int, epochs: int, assumptions: Assumptions
) -> tuple[Participant, ...]:
    """Return miners of whom as much as can be of the rules makes a difference.

    Args:
        pool: of which they answer.
        rules: under which they do.
        miners: how many there are.
        epochs: how many epochs there are.
        assumptions: costs and accuracies.
    """
    strategies = strategies_of(pool, rules.types, assumptions)
    honest = miners - len(_UNUSUAL)
    people = [
        Participant(
            name=f"honest-{number:02}",
            strategy=strategies[HONEST],
            accuracy=spread(_WORST, _BEST, number, honest),
            variant=number,
            reputation=spread(15, 75, number * 4 % honest, honest) * NANO // _HUNDRED,
        )
        for number in range(honest)
    ]
    # a newcomer, somebody who leaves, and somebody who takes the slot of another
    people[1] = attrs.evolve(people[1], joins=epochs // 3, reputation=None)
    people[2] = attrs.evolve(people[2], leaves=epochs // 2)
    people[3] = attrs.evolve(
        people[3], joins=2 * epochs // 3, replaces=people[4].name, reputation=None
    )
    people += (
        _unusual(name, strategies[strategy], reputation, honest + number)
        for number, (name, strategy, reputation) in enumerate(_UNUSUAL)
    )
    return tuple(people)


def _unusual(name: str, strategy: MinerStrategy, reputation: int, variant: int) -> Participant:
    return Participant(
        name=name,
        strategy=strategy,
        accuracy=80,
        variant=variant,
        coalition=strategy.coalition,
        reputation=reputation * NANO // _HUNDRED,
    )


def _hands(outcome: NetworkRun) -> Column:
    table: Column = np.column_stack((outcome.weights, outcome.burnt, outcome.nobody))
    return table
