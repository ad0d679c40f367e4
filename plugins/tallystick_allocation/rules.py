"""The section ``[allocation]``: steps from the scores of a population to weights.

Each step adds a column, a value for each miner (in each group, where the rule set has groups), or
one number; it reads earlier steps only. What a step computes is said in docs/allocation.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal

import attrs

from tallystick.rules.keys import chosen_by
from tallystick.rules.model import SectionKind
from tallystick_allocation.steps.collect import Collect, Statistic
from tallystick_allocation.steps.formula import FormulaStep
from tallystick_allocation.steps.memory import Average, Hold, Reign
from tallystick_allocation.steps.mix import Burn, Mix, Pools, Reserve, Rest
from tallystick_allocation.steps.select import Filter, Gate, OnePer, Pareto, Top
from tallystick_allocation.steps.share import ByRank, CapStep, Equal, Lift, Share, ZScore
from tallystick_allocation.steps.step import AllocationStep

if TYPE_CHECKING:
    from tallystick.rules.formula_references import FormulaReference
    from tallystick.rules.model import RuleSet
    from tallystick.rules.toml import KeyPath


STEPS: Final[Mapping[str, type[AllocationStep]]] = {
    "collect": Collect,
    "formula": FormulaStep,
    "filter": Filter,
    "gate": Gate,
    "top": Top,
    "one_per": OnePer,
    "pareto": Pareto,
    "hold": Hold,
    "reign": Reign,
    "by_rank": ByRank,
    "pools": Pools,
    "share": Share,
    "mix": Mix,
    "equal": Equal,
    "burn": Burn,
    "rest": Rest,
    "lift": Lift,
    "z_score": ZScore,
    "cap": CapStep,
    "average": Average,
    "reserve": Reserve,
    "statistic": Statistic,
}
"""Classes of steps, by the word in ``do``."""


PlacedStep = tuple["KeyPath", AllocationStep]
"""The keys of the rule set that have a step, and the step."""


@attrs.frozen
class AllocationRules:
    """The steps from the scores of a population to weights.

    Attributes:
        steps: in order; the last one is the weight.
        group: what groups are made by: ``skill_type``, or a field of records.
        groups: the share of each group; they sum to 1.
        miners: who is weighed in a state: every miner with a slot, or those who have a record in
            the round that is closed.
    """

    steps: tuple[AllocationStep, ...] = attrs.field(metadata=chosen_by("do", STEPS))
    group: str | None = None
    groups: Mapping[str, Decimal] = attrs.field(factory=dict)
    miners: Literal["slots", "round"] = "slots"

    @property
    def placed(self) -> tuple[PlacedStep, ...]:
        """The steps in order, each with its keys."""
        path = (ALLOCATION.name, "steps")
        return tuple(((*path, index), step) for index, step in enumerate(self.steps))

    @property
    def collects(self) -> tuple[Collect, ...]:
        """The steps that collect values of records."""
        return tuple(step for step in self.steps if isinstance(step, Collect))

    @property
    def carries(self) -> bool:
        """True where the values of a step are kept for the next round."""
        return any(step.carries for step in self.steps)


ALLOCATION = SectionKind("allocation", AllocationRules)
"""The section that says how the scores of a population become weights."""


def placed_steps(rule_set: RuleSet) -> tuple[PlacedStep, ...]:
    """Return the steps of a rule set in order, each with its keys."""
    allocation = rule_set.section(ALLOCATION)
    return () if allocation is None else allocation.placed


def round_score(rule_set: RuleSet) -> Collect | None:
    """Return the step that gives the score of a miner in a round; None where there is none."""
    allocation = rule_set.section(ALLOCATION)
    collects = () if allocation is None else allocation.collects
    return next((step for step in collects if step.records == "round"), None)


def references(rules: AllocationRules) -> Iterator[FormulaReference]:
    """Yield the formula of each step that names one."""
    for path, step in rules.placed:
        reference = step.reference(path)
        if reference is not None:
            yield reference
