"""The steps of a rule set, bound: each to the earlier steps that it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.population.step import BoundAllocation

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry
    from tallystick.rules.model import RuleSet


def bind_allocation(rule_set: RuleSet, registry: Registry) -> BoundAllocation | None:
    """The allocation of a rule set that is loaded; None where it has none.

    Nothing is proved here: a query of a state asks it, of rules that were proved when they came
    into force.
    """
    raise NotImplementedError
