"""The steps of a rule set, bound: each to the earlier steps that it reads.

The cross checks of the rule set have found every name; nothing is proved here, so that a query of a
state, whose rules were proved when they came into force, stays quick. `proofs` proves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tallystick_allocation.average import AverageStep
from tallystick_allocation.collect import CollectStep
from tallystick_allocation.formula_step import FormulaColumnStep
from tallystick_allocation.rules import (
    ALLOCATION,
    UNGROUPED,
    AllocationRules,
    Collect,
    FormulaStep,
    PlacedStep,
    Pools,
    Shape,
    inputs_of,
    placed_steps,
    shape_of,
)
from tallystick_allocation.select import FilterStep, OnePerStep, TopStep
from tallystick_allocation.share import (
    ByRankStep,
    EqualStep,
    MixStep,
    PoolsStep,
    ReserveStep,
    ShareStep,
)
from tallystick_allocation.spread import CapStep, LiftStep, StatisticStep, ZScoreStep
from tallystick_allocation.step import BoundAllocation, Range, Step

if TYPE_CHECKING:
    from tallystick.formula.formula import Formula
    from tallystick.plugins.registry import Registry
    from tallystick.rules.model import RuleSet

_PLAIN: Mapping[str, Callable[..., Step]] = {
    "filter": FilterStep,
    "top": TopStep,
    "one_per": OnePerStep,
    "by_rank": ByRankStep,
    "share": ShareStep,
    "mix": MixStep,
    "equal": EqualStep,
    "lift": LiftStep,
    "z_score": ZScoreStep,
    "cap": CapStep,
    "average": AverageStep,
    "reserve": ReserveStep,
    "statistic": StatisticStep,
}
"""The steps that are bound to nothing but their inputs."""


def bind_allocation(
    rule_set: RuleSet, registry: Registry, within: Mapping[str, Range] | None = None
) -> BoundAllocation | None:
    """The allocation of a rule set that is loaded; None where it has none.

    Args:
        rule_set: the rule set.
        registry: the plugins that it names.
        within: by the ``value`` of a collect step, the range of the values of records, where it is
            known; values that leave it are refused.
    """
    rules = rule_set.section(ALLOCATION)
    if rules is None:
        return None
    groups = {name: Fraction(rules.groups[name]) for name in sorted(rules.groups)}
    exact = frozenset(name for name, measure in rule_set.measures.items() if measure.exact)
    binding = _Binding(rules, groups, registry, within or {}, exact)
    for placed in placed_steps(rule_set):
        binding.add(placed)
    steps = tuple(binding.steps.values())
    return BoundAllocation(steps, rules.group or "", groups, rule_set.reference)


class _Binding:
    def __init__(
        self,
        rules: AllocationRules,
        groups: Mapping[str, Fraction],
        registry: Registry,
        within: Mapping[str, Range],
        exact: frozenset[str],
    ) -> None:
        self.rules, self.groups, self.registry = rules, groups, registry
        self.within, self.exact = within, exact
        self.names = tuple(groups) or (UNGROUPED,)
        self.steps: dict[str, Step] = {}

    def add(self, placed: PlacedStep) -> None:
        rules = placed.rules
        named = self._formula(rules).published if isinstance(rules, FormulaStep) else ()
        reads = inputs_of(rules, named)
        inputs = tuple(self.steps[name] for name in dict.fromkeys(reads))
        shape: Shape = shape_of(rules, [step.shape for step in inputs], bool(self.groups))
        common: dict[str, Any] = {
            "rules": rules,
            "inputs": inputs,
            "shape": shape,
            "origin": placed.origin,
        }
        names = self.names if shape == "grouped" else (UNGROUPED,)
        step: Step
        match rules:
            case Collect():
                within = rules.within
                known = None if within is None else (Fraction(within[0]), Fraction(within[1]))
                known = known or self.within.get(rules.value)
                step = CollectStep(
                    **common,
                    groups=names,
                    grouping=self.rules.group or "",
                    within=known,
                    is_exact=rules.value in self.exact,
                )
            case FormulaStep():
                step = FormulaColumnStep(**common, formula=self._formula(rules), groups=names)
            case Pools():
                step = PoolsStep(**common, groups=self.groups)
            case _:
                step = _PLAIN[rules.do](**common)
        self.steps[rules.name] = step

    def _formula(self, rules: FormulaStep) -> Formula:
        return self.registry.formulas[rules.formula]
