"""The section ``[allocation]``: steps from the scores of a population to weights.

Each step adds a column, a value for each miner (in each group, where the rule set has groups), or
one number; it reads earlier steps only. What a step computes is said in docs/allocation.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

import attrs

from tallystick.rules.keys import chosen_by
from tallystick.rules.model import SectionKind
from tallystick_allocation.steps import STEPS, AllocationStep, Collect

if TYPE_CHECKING:
    from tallystick.rules.formula_references import FormulaReference
    from tallystick.rules.model import RuleSet
    from tallystick.rules.toml import KeyPath


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


ALLOCATION = SectionKind("allocation", AllocationRules)
"""The section that says how the scores of a population become weights."""


@attrs.frozen
class PlacedStep:
    """A step, and the keys of the rule set that say it."""

    rules: AllocationStep
    origin: KeyPath


def placed_steps(rule_set: RuleSet) -> Iterator[PlacedStep]:
    """Yield the steps of a rule set in order, with what says them."""
    allocation = rule_set.section(ALLOCATION)
    for index, rules in enumerate(() if allocation is None else allocation.steps):
        yield PlacedStep(rules, (ALLOCATION.name, "steps", index))


def round_score(rule_set: RuleSet) -> Collect | None:
    """Return the step that gives the score of a miner in a round; None where there is none."""
    steps = (placed.rules for placed in placed_steps(rule_set))
    of_round = (step for step in steps if isinstance(step, Collect) and step.records == "round")
    return next(of_round, None)


def references(rules: AllocationRules) -> Iterator[FormulaReference]:
    """Yield the formula of each step that names one."""
    for index, step in enumerate(rules.steps):
        reference = step.reference((ALLOCATION.name, "steps", index))
        if reference is not None:
            yield reference
