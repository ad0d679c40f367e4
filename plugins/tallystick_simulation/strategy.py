"""Strategies of miners: which behaviour when, by how many hotkeys, and at which cost.

A strategy is data; a network runs it. What it costs is counted in nano units of the work of one
honest answer, so that pay can be compared with work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import partial
from typing import Literal

import attrs

from tallystick.diagnostics import nearest
from tallystick.errors import InputError
from tallystick.numbers.nano import NANO, from_decimal
from tallystick.plugins.strategy import Strategy
from tallystick.records.messages import shown
from tallystick_simulation.assumptions import Assumptions
from tallystick_simulation.pool import ALWAYS, PAD, SPRAY, Pool

Chooses = Literal["own", "best_of_group", "coalition", "good_tasks", "least_work"]
"""Ways to choose an answer: the own behaviour; the answer of the best honest member of the group,
later; that of the coalition; the own, but nothing where it would be poor; the least accurate one
that reaches the tier of the own.
"""


@attrs.frozen(kw_only=True)
class MinerStrategy:
    """A way to take part in a network.

    Attributes:
        name: by which people call it.
        summary: one sentence for people.
        behaviour: the name of the behaviour of a pool by which it answers.
        cost: of an answer, in nano units of the work of an honest one.
        accuracy: of the honest records that it makes its answers of; None for that of the miner.
        is_honest: whether it breaks no rule, so that nobody is caught at it.
        chooses: the way in which it chooses an answer.
        hotkeys: the number of hotkeys that give the same answers; the work is done once.
        renewed: epochs after which a new hotkey takes the slot; None for never.
        grinds: whether its hotkeys are chosen to come first in the order of hotkeys.
        then: the strategy that follows once the time has come; None for none.
        after: epochs after which it does.
        reputation: the mean reputation in nano at which it does; None for none.
    """

    name: str
    summary: str
    behaviour: str = "honest"
    cost: int
    accuracy: int | None = None
    is_honest: bool = False
    chooses: Chooses = "own"
    hotkeys: int = 1
    renewed: int | None = None
    grinds: bool = False
    then: MinerStrategy | None = None
    after: int = 0
    reputation: int | None = None

    @property
    def coalition(self) -> str:
        """The name of the coalition of who has it, if it needs one; else empty."""
        return self.name if self.chooses == "coalition" else ""


HONEST = "honest"


def strategies_of(
    pool: Pool, types: Iterable[str], assumptions: Assumptions
) -> Mapping[str, MinerStrategy]:
    """Return the strategies that miners of some skill types have, by name.

    Args:
        pool: whose behaviours they use; with examples.
        types: the names of the types.
        assumptions: costs and accuracies.
    """
    names = [*types]
    made = [*_built_in(assumptions)]
    options = dict.fromkeys(option for name in names for option in pool.of(name).choices)
    for option in options:
        summary = f"gives {option} to every task"
        made.append(_of(assumptions, "always", summary, f"{ALWAYS}{option}"))
    fields = dict.fromkeys(field for name in names for field in pool.of(name).list_fields)
    for field in fields:
        for prefix, summary, kind in (
            (SPRAY, f"fills {field} with all that is expected, and more", "spray-one"),
            (PAD, f"lengthens {field} by what nobody expects", "pad-one"),
        ):
            name, cost = f"{prefix}{field}", assumptions.cost(kind)
            made.append(MinerStrategy(name=name, summary=summary, behaviour=name, cost=cost))
    made += (
        _of_plugin(strategy)
        for strategy in pool.registry.strategies.values()
        if {*strategy.skill_types} & {*names}
    )
    for name, record in pool.examples.items():
        if record["skill_type"] in names:
            cost = assumptions.cost("example")
            summary = "answers every task as one record does"
            made.append(MinerStrategy(name=name, summary=summary, behaviour=name, cost=cost))
    return {strategy.name: strategy for strategy in made}


def strategy_of(strategies: Mapping[str, MinerStrategy], name: str) -> MinerStrategy:
    """Return a strategy by its name.

    Raises:
        InputError: there is none.
    """
    if name not in strategies:
        raise InputError(
            f"found the strategy {shown(name)}, expected one of {', '.join(strategies)}"
            f"{nearest(name, strategies)}"
        )
    return strategies[name]


def split(strategy: MinerStrategy, hotkeys: int) -> MinerStrategy:
    """Return a strategy by several hotkeys, whose work is done once."""
    name, summary = f"split:{hotkeys}", f"gives the same answers by {hotkeys} hotkeys"
    return attrs.evolve(strategy, name=name, summary=summary, hotkeys=hotkeys, is_honest=False)


def _built_in(assumptions: Assumptions) -> Iterable[MinerStrategy]:
    honest = MinerStrategy(
        name=HONEST,
        summary="does the work as well as it can",
        cost=assumptions.cost(HONEST),
        is_honest=True,
    )
    as_honest = partial(attrs.evolve, honest, is_honest=False)
    of = partial(_of, assumptions)
    idle = of("idle", "sends answers in which nothing was done")
    return (
        honest,
        of("rush", "answers at the first moment, with little care"),
        idle,
        of("spray", "fills every list: all that is expected is there, and more"),
        of("no-sandbox", "runs nothing, so that all checks but one fail"),
        of("unchecked", "runs nothing, so that all checks but one are left out"),
        attrs.evolve(
            of("copy", "gives the answer of the best other member of its group, later", HONEST),
            chooses="best_of_group",
        ),
        split(honest, assumptions.constant("split_hotkeys")),
        as_honest(
            name="re-register",
            summary="takes a new hotkey every few epochs",
            renewed=assumptions.constant("renewed_epochs"),
        ),
        as_honest(
            name="tie-grinder",
            summary="chooses a hotkey that comes first where hotkeys decide",
            grinds=True,
        ),
        as_honest(
            name="skip-hard",
            summary="answers only where its answer is good",
            chooses="good_tasks",
        ),
        as_honest(
            name="threshold-hugger",
            summary="does just enough for its tier",
            chooses="least_work",
        ),
        of("deadline-camper", "answers at the last moment", "camp"),
        attrs.evolve(
            of("collude", "gives the wrong answer that its coalition agreed on", "wrong"),
            chooses="coalition",
        ),
        as_honest(
            name="farmer",
            summary="does honest work until its reputation is good, then nothing",
            then=idle,
            after=assumptions.constant("farmed_epochs"),
            reputation=assumptions.constant("farmed_reputation") * NANO // 100,
        ),
        of("late", "answers after the deadline"),
        attrs.evolve(
            honest,
            name="abort",
            summary="raises flags of which nobody says whether they are good, such as of an abort",
            behaviour="abort",
        ),
        attrs.evolve(of("absent", "does not answer"), is_honest=True),
    )


def _of(
    assumptions: Assumptions, name: str, summary: str, behaviour: str | None = None
) -> MinerStrategy:
    """Return a strategy of one behaviour, with its assumed cost and accuracy."""
    full = behaviour if behaviour is not None and ":" in behaviour else name
    return MinerStrategy(
        name=full,
        summary=summary,
        behaviour=behaviour or name,
        cost=assumptions.cost(name),
        accuracy=assumptions.accuracy(name),
    )


def _of_plugin(strategy: Strategy) -> MinerStrategy:
    return MinerStrategy(
        name=strategy.name,
        summary=strategy.summary,
        behaviour=strategy.name,
        cost=from_decimal(Decimal(strategy.cost)),
        is_honest=strategy.is_honest,
    )
