"""Composites, tiers and emissions of given values, which belong to no record."""

from collections.abc import Mapping
from decimal import Decimal

from tallystick.numbers.nano import NANO, exact_nano, to_decimal
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.scores import derive

Number = Decimal | int | str


def composite_of(rules: BoundRules, name: str, axes: Mapping[str, Number]) -> Decimal:
    """The quality of published axes."""
    bound = rules.types[name]
    given = {axis: exact_nano(axes[axis.name]) for axis in bound.axes}
    return to_decimal(derive(bound, bound.quality, given))


def tier_of(rules: BoundRules, name: str, quality: Number) -> str:
    """The name of the tier that a quality reaches."""
    tiers = rules.types[name].tiers
    assert tiers is not None
    return tiers.levels[tiers.level(exact_nano(quality), rules.thresholds[name])]


def multiplier_of(rules: BoundRules, name: str, tier: str) -> Decimal:
    """The multiplier of a tier."""
    tiers = rules.types[name].tiers
    assert tiers is not None
    return to_decimal(tiers.multipliers[tiers.levels.index(tier)])


def emission_of(
    rules: BoundRules, name: str, *, quality: Number, tier: str, **factors: Number
) -> Decimal:
    """The emission of a quality and a tier; a factor that is left out counts as 1."""
    bound = rules.types[name]
    assert bound.emission is not None
    (multiplier,) = bound.of_role("tier_multiplier")
    every = bound.of_role("factor")
    given = {factor: exact_nano(factors.get(factor.name, 1)) for factor in every}
    given[bound.quality] = exact_nano(quality)
    given[multiplier] = int(multiplier_of(rules, name, tier) * NANO)
    return to_decimal(derive(bound, bound.emission, given))
