"""The steps of the shipped rule sets, with other numbers and with what they leave off."""

from decimal import Decimal
from functools import cache
from typing import Any

import attrs
from rules.documents import with_section
from state.subnet import under

import tallystick
from tallystick.plugins.registry import installed_plugins
from tallystick_allocation.rules import ALLOCATION, AllocationRules
from tallystick_allocation.steps.formula import FormulaStep
from tallystick_allocation.steps.select import Filter
from tallystick_allocation.steps.step import AllocationStep
from tallystick_state.rules import StateRules


def with_steps(rules: StateRules, *steps: AllocationStep) -> StateRules:
    """The rules with other steps, for the same miners."""
    before = rules.rule_set.section(ALLOCATION)
    assert before is not None
    found = AllocationRules(steps, miners=before.miners)
    plugins = installed_plugins().of([*rules.registry.plugins, "allocation"])
    return under(
        StateRules(attrs.evolve(rules.loaded, registry=plugins)),
        with_section(rules.rule_set, ALLOCATION, found),
    )


@cache
def shipped(reference: str) -> tuple[Any, ...]:
    """The steps of a shipped rule set."""
    section = tallystick.load(reference).rule_set.section(ALLOCATION)
    assert section is not None
    return section.steps


def window_steps(
    tasks: int = 100, *, low: str | None = None, warm: int | None = None
) -> tuple[AllocationStep, ...]:
    """The steps of a window, as `workflow@1.0.0` has them and says that others may.

    Args:
        tasks: the mean is over the last so many.
        low: an average up to this counts as 0.
        warm: so many tasks warm a miner up that is immune.
    """
    mean, part, weight = shipped("workflow@1.0.0")
    mean = attrs.evolve(mean, last=tasks, publish=False)
    steps = [mean]
    if low is not None:
        steps = [attrs.evolve(mean, name="raw")]
        above = Decimal(low)
        steps.append(Filter(name="mean", do="filter", of="raw", above=above, others="zero"))
    if warm is not None:
        steps.append(attrs.evolve(mean, name="done", statistic="count", last=warm))
        formula, parameters = "allocation/warm-up@1", {"tasks": Decimal(warm)}
        steps.append(FormulaStep(name="warm", do="formula", formula=formula, parameters=parameters))
    steps[-1] = attrs.evolve(steps[-1], publish=True)
    return (*steps, attrs.evolve(part, of=steps[-1].name), weight)


def round_steps(twice: bool, empty: str, *, zero: bool) -> tuple[AllocationStep, ...]:
    """The steps of a round score, as `skills@1.0.0` has them, or `skills@1.1.0`.

    Args:
        twice: whether the base weight counts in the emission and in the round.
        empty: the score of a round without tasks.
        zero: whether a missed deadline counts 0.
    """
    score, weight = shipped("skills@1.0.0" if twice else "skills@1.1.0")
    missed = "zero" if zero else "left_out"
    return attrs.evolve(score, empty=Decimal(empty), missed=missed), weight
