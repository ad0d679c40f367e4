"""Ranges of values under a whole rule set: narrower than what is proved of the section alone.

An emission is at most its proved bound, a reputation at most its ceiling, and a base weight is that
of a skill type. A proof of an allocation knows nothing of factors, so that its ranges are wider.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from math import prod
from typing import Protocol, runtime_checkable

import attrs

from tallystick.numbers.nano import NANO, from_decimal
from tallystick.scoring.bound_rules import BoundRules
from tallystick_allocation.binding import BoundAllocation
from tallystick_allocation.proofs import value_ranges_of
from tallystick_allocation.steps.collect import Collect
from tallystick_allocation.steps.step import Range, hull

_BASE_WEIGHT = "base_weight"


@runtime_checkable
class _Bounded(Protocol):
    """The values of a section whose name is that of a factor, and which bounds the factor."""

    floor: Decimal
    ceiling: Decimal


@attrs.frozen(eq=False)
class TypeRanges:
    """Ranges of what records of one skill type have.

    Attributes:
        name: the skill type.
        values: by the ``value`` of a collect step.
        factors: by the name of a factor of weighted means.
    """

    name: str
    values: Mapping[str, Range]
    factors: Mapping[str, Range]

    def factor(self, name: str) -> Range:
        """Return the range of a factor; of one that nothing is known of, from a nano to 1."""
        return self.factors.get(name, (Fraction(1, NANO), Fraction(1)))

    def weighted(self, step: Collect) -> Range | None:
        """Return the range of ``value · times / over``; None where the divisor can be 0."""
        times, over = Counter(step.times), Counter(step.over)
        # factors of both cancel
        divisor = _product(self.factor(name)[0] for name in (over - times).elements())
        if not divisor:
            return None
        low, high = self.values[step.value]
        largest = _product(self.factor(name)[1] for name in (times - over).elements()) / divisor
        return min(low * largest, Fraction()), max(high * largest, Fraction())


def _product(factors: Iterable[Fraction]) -> Fraction:
    return Fraction(prod(factors, start=Fraction(1)))


def ranges_of_types(rules: BoundRules) -> tuple[TypeRanges, ...]:
    """Return the ranges of what records have, of each skill type in name order."""
    sections = rules.rule_set.sections
    bounded = {
        name: (Fraction(values.floor), Fraction(values.ceiling))
        for name, values in sections.items()
        if isinstance(values, _Bounded)
    }
    result = []
    for name, bound in sorted(rules.types.items()):
        weight = rules.rule_set.skill_types[name].base_weight
        factors = dict(bounded)
        if weight is not None:
            factors[_BASE_WEIGHT] = (Fraction(from_decimal(weight), NANO),) * 2
        result.append(TypeRanges(name, value_ranges_of(bound), factors))
    return tuple(result)


def ranges_of_steps(bound: BoundAllocation, rules: BoundRules) -> dict[str, Range]:
    """Return the range of each step, by name, as far as the rule set bounds it."""
    types = ranges_of_types(rules)
    own = {
        step: _weighted(step.rules, types)
        for step in bound.steps
        if isinstance(step.rules, Collect)
    }
    known = {step: values for step, values in own.items() if values is not None}
    return bound.ranges_with(known)


def _weighted(step: Collect, types: tuple[TypeRanges, ...]) -> Range | None:
    """Return the range of a weighted mean of records; None of any other step."""
    if step.statistic != "weighted_mean" or step.within is not None:
        return None
    # a mean of ratios lies between the least and the largest of them
    own = [of_type.weighted(step) for of_type in types if step.value in of_type.values]
    ends = [each for each in own if each is not None]
    return step.with_absent(hull(*ends)) if ends and len(ends) == len(own) else None
