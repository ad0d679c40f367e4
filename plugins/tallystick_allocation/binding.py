"""The steps of a rule set, bound: each to the earlier steps that it reads.

The cross checks of the rule set have found every name; nothing is proved here, so that a query of a
state, whose rules were proved when they came into force, stays quick. `proofs` proves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

# their modules name the steps that they compute
from tallystick_allocation import (  # noqa: F401
    average,
    collect,
    formula_step,
    select,
    share,
    spread,
)
from tallystick_allocation.rules import (
    ALLOCATION,
    FormulaStep,
    PlacedStep,
    inputs_of,
    placed_steps,
)
from tallystick_allocation.step import (
    COMPUTED_BY,
    AllocationStep,
    BoundAllocation,
    Range,
    Surroundings,
)

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry
    from tallystick.rules.model import RuleSet


def bind_allocation(
    rule_set: RuleSet, registry: Registry, within: Mapping[str, Range] | None = None
) -> BoundAllocation | None:
    """Return the allocation of a rule set that is loaded; None where it has none.

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
    surroundings = Surroundings(registry, groups, rules.group or "", within or {}, exact)
    steps: dict[str, AllocationStep] = {}
    for placed in placed_steps(rule_set):
        steps[placed.rules.name] = _bound(placed, steps, surroundings)
    return BoundAllocation(tuple(steps.values()), rules.group or "", groups, rule_set.reference)


def _bound(
    placed: PlacedStep, earlier: Mapping[str, AllocationStep], surroundings: Surroundings
) -> AllocationStep:
    """Return a step, bound to the earlier ones that it reads."""
    rules = placed.rules
    published: Iterable[str] = ()
    if isinstance(rules, FormulaStep):
        published = surroundings.registry.formulas[rules.formula].published
    inputs = tuple(earlier[name] for name in dict.fromkeys(inputs_of(rules, published)))
    shape = rules.shape([step.shape for step in inputs], bool(surroundings.groups))
    parts = {
        "inputs": inputs,
        "rules": rules,
        "shape": shape,
        "origin": placed.origin,
    }
    return COMPUTED_BY[type(rules)].bound(parts, surroundings)
