"""Strategies of miners: which behaviour when, by how many hotkeys, and at which cost.

A strategy is data; a network runs it. What it costs is counted in nano units of the work of one
honest answer, so that pay can be compared with work.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any, Literal

import attrs

from tallystick.diagnostics import nearest
from tallystick.errors import InputError
from tallystick.numbers.nano import NANO, from_decimal
from tallystick.plugins.entries import code_of_strangers
from tallystick.plugins.generator import Draw
from tallystick.plugins.strategy import Strategy
from tallystick.records.messages import shown
from tallystick_simulation.assumptions import Assumptions
from tallystick_simulation.behaviour import (
    BEHAVIOURS,
    Behaviour,
    RecordObject,
    always,
    answer_of,
    fill_one,
    like,
)
from tallystick_simulation.pool import Pool
from tallystick_simulation.type_profile import TypeProfile

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
        behaviour: by which it answers.
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
    behaviour: Behaviour = BEHAVIOURS["honest"]
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
        pool: of the tasks, with the plugins that have strategies.
        types: the names of the types.
        assumptions: costs and accuracies.
    """
    names = [*types]
    made = [*_built_in(assumptions)]
    for option in dict.fromkeys(option for name in names for option in pool.of(name).choices):
        behaviour = Behaviour(f"always:{option}", always(option), "nothing")
        summary = f"gives {option} to every task"
        answers = _of(assumptions, "always", summary, behaviour)
        made.append(attrs.evolve(answers, name=behaviour.name))
    for field in dict.fromkeys(field for name in names for field in pool.of(name).list_fields):
        for kind, summary, finds in (
            ("spray", f"fills {field} with all that is expected, and more", True),
            ("pad", f"lengthens {field} by what nobody expects", False),
        ):
            behaviour = Behaviour(f"{kind}:{field}", fill_one(field, finds=finds))
            made.append(_named(behaviour, summary, assumptions.cost(f"{kind}-one")))
    made += (
        _of_plugin(strategy)
        for strategy in pool.registry.strategies.values()
        if {*strategy.skill_types} & {*names}
    )
    return {strategy.name: strategy for strategy in made}


def of_example(name: str, record: Mapping[str, Any], assumptions: Assumptions) -> MinerStrategy:
    """Return the strategy that answers every task as one record of a type does."""
    # simulations of other records of that name can share a pool
    behaviour = Behaviour(f"{name}:{json.dumps(record, sort_keys=True)}", like(record))
    return MinerStrategy(
        name=name,
        summary="answers every task as one record does",
        behaviour=behaviour,
        cost=assumptions.cost("example"),
    )


def _named(behaviour: Behaviour, summary: str, cost: int) -> MinerStrategy:
    """Return the strategy that has the name of its behaviour."""
    return MinerStrategy(name=behaviour.name, summary=summary, behaviour=behaviour, cost=cost)


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
            of(
                "copy",
                "gives the answer of the best other member of its group, later",
                honest.behaviour,
            ),
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
        of("deadline-camper", "answers at the last moment", BEHAVIOURS["camp"]),
        attrs.evolve(
            of(
                "collude",
                "gives the wrong answer that its coalition agreed on",
                BEHAVIOURS["wrong"],
            ),
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
            behaviour=BEHAVIOURS["abort"],
        ),
        attrs.evolve(of("absent", "does not answer"), is_honest=True),
    )


def _of(
    assumptions: Assumptions, name: str, summary: str, behaviour: Behaviour | None = None
) -> MinerStrategy:
    """Return a strategy of one behaviour, with its assumed cost and accuracy."""
    return MinerStrategy(
        name=name,
        summary=summary,
        behaviour=behaviour or BEHAVIOURS[name],
        cost=assumptions.cost(name),
        accuracy=assumptions.accuracy(name),
    )


def _of_plugin(strategy: Strategy) -> MinerStrategy:
    def answer(_profile: TypeProfile, draw: Draw, record: RecordObject) -> RecordObject | None:
        with code_of_strangers(f"the strategy {strategy.name!r}", "strategy-failed"):
            answered = strategy.answer(draw, record)
            changed = {} if answered is None else answer_of(answered)
        return None if answered is None else {**record, **changed}

    behaviour = Behaviour(strategy.name, answer, skill_types=strategy.skill_types)
    cost = from_decimal(Decimal(strategy.cost))
    return attrs.evolve(_named(behaviour, strategy.summary, cost), is_honest=strategy.is_honest)
