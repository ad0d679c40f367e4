"""Proofs of an allocation: what each step can come to, and that its formulas are safe for that.

Each step has a range, which follows from those of the steps that it reads; the ranges of what is
collected are those of the values of records. A formula is lowered over these ranges, as that of a
record is: what can divide by zero, or leave the range that it declares, does not load.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from tallystick.errors import FormulaError
from tallystick.formula.tree import MAX_DEGREE
from tallystick.numbers.nano import NANO
from tallystick.scoring.binding import placed
from tallystick.scoring.bound import BoundType
from tallystick.scoring.bound_rules import BoundRules
from tallystick_allocation.binding import BoundAllocation, bind_allocation
from tallystick_allocation.steps.step import BoundStep, Range, hull


def proved_allocation(rules: BoundRules) -> BoundAllocation | None:
    """Return the allocation of a rule set, proved; None where it has none.

    Raises:
        RuleSetError: a formula of a step cannot be proved safe.
    """
    bound = bind_allocation(rules.rule_set, rules.registry, value_ranges(rules))
    if bound is None:
        return None
    degrees: dict[str, int] = {}
    ranges: dict[BoundStep, Range] = {}
    for step in bound.steps:
        reference = step.rules.reference(())
        name = step.name if reference is None else reference.formula
        # the formula of a step is bound when it is first asked for, which can fail
        with placed(rules.loaded, step.origin, name, "every population"):
            degrees[step.name] = _degree(step, degrees)
            if step.formula is not None and degrees[step.name] > MAX_DEGREE:
                raise FormulaError(
                    f"found that it is of degree {degrees[step.name]} in what was rounded last, "
                    f"expected at most {MAX_DEGREE}: give an earlier step publish = true"
                )
            ranges[step] = step.range_of(ranges)
    return bound


def value_ranges(rules: BoundRules) -> dict[str, Range]:
    """Return the range of each value that records have, over all skill types."""
    by_name: dict[str, Range] = {}
    for bound in rules.types.values():
        for name, own in value_ranges_of(bound).items():
            by_name[name] = hull(own, by_name.get(name, own))
    return by_name


def value_ranges_of(bound: BoundType) -> dict[str, Range]:
    """Return the range of each value that records of a skill type have."""
    return {
        value.name if value.role == "measure" else str(value.role): (
            Fraction(value.domain.low, NANO),
            Fraction(value.domain.high, NANO),
        )
        for value in bound.values
        if value.role in ("measure", "emission") or (value.role == "quality" and bound.has_quality)
    }


def _degree(step: BoundStep, degrees: Mapping[str, int]) -> int:
    """Return the degree of what a step computes in the values that were rounded last."""
    own = 1 if step.formula is None else step.formula.tree.degree
    # what a step that is rounded gives is of degree 1
    read = [1 if read_step.is_whole else degrees[read_step.name] for read_step in step.inputs]
    return own * max(read, default=1)
