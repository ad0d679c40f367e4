"""The steps of the shipped rule sets, with other numbers and with what they leave off."""

from decimal import Decimal

import attrs
from rules.documents import with_section
from state.subnet import under

from tallystick.plugins.registry import installed_plugins
from tallystick_allocation.rules import ALLOCATION, AllocationRules
from tallystick_allocation.steps.collect import Collect
from tallystick_allocation.steps.formula import FormulaStep
from tallystick_allocation.steps.select import Filter
from tallystick_allocation.steps.share import CapStep, Share
from tallystick_allocation.steps.step import AllocationStep
from tallystick_state.rules import StateRules

QUALITIES = {"do": "collect", "value": "quality", "empty": Decimal(0)}


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


def window_steps(
    tasks: int = 100,
    *,
    low: str | None = None,
    warm: int | None = None,
    share: str = "0.15",
) -> tuple[AllocationStep, ...]:
    """The steps of a window, as `workflow@1.0.0` has them and says that others may.

    Args:
        tasks: the mean is over the last so many.
        low: an average up to this counts as 0.
        warm: so many tasks warm a miner up that is immune.
        share: the cap.
    """
    mean = Collect(name="raw", statistic="mean", last=tasks, **QUALITIES)  # type: ignore[arg-type]  # keys of it
    steps: list[AllocationStep] = [mean]
    if low is None:
        steps = [attrs.evolve(mean, name="mean")]
    else:
        zeroed = Filter(name="mean", do="filter", of="raw", above=Decimal(low), others="zero")
        steps.append(zeroed)
    if warm is not None:
        done = Collect(name="done", statistic="count", last=warm, **QUALITIES)  # type: ignore[arg-type]  # keys of it
        parameters = {"tasks": Decimal(warm)}
        steps += [
            done,
            FormulaStep(
                name="warm", do="formula", formula="allocation/warm-up@1", parameters=parameters
            ),
        ]
    *before, last = steps
    return (*before, attrs.evolve(last, publish=True), *_capped(last.name, share))


def _capped(of: str, share: str) -> tuple[AllocationStep, ...]:
    part = Share(name="part", do="share", of=of, zero="zero")
    weight = CapStep(
        name="weight",
        do="cap",
        of="part",
        share=Decimal(share),
        excess="water_filling",
        lowest_share="one_over_miners",
        publish=True,
    )
    return part, weight


def round_steps(twice: bool, empty: str = "0", *, zero: bool = False) -> tuple[AllocationStep, ...]:
    """The steps of a round score, as `skills@1.0.0` has them, or `skills@1.1.0`.

    Args:
        twice: whether the base weight counts in the emission and in the round.
        empty: the score of a round without tasks.
        zero: whether a missed deadline counts 0.
    """
    both = ("base_weight", "reputation")
    score = Collect(
        name="score",
        do="collect",
        value="emission",
        statistic="weighted_mean",
        times=both if twice else ("reputation",),
        over=both if twice else ("base_weight",),
        empty=Decimal(empty),
        missed="zero" if zero else "left_out",
        records="round",
        publish=True,
    )
    return score, Share(name="weight", do="share", of="score", zero="zero", publish=True)
