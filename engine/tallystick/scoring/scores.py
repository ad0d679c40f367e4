"""Scores: what a record, or rows of facts, come to; a value for each of the skill type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property

import attrs

from tallystick.errors import NumberError
from tallystick.formula.evaluate import Facts
from tallystick.numbers.nano import NANO, publish, to_text
from tallystick.scoring.bound import BoundType
from tallystick.scoring.computation import needed
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick.scoring.value import Value


@attrs.frozen(eq=False, slots=False)
class Scores:
    """The scores of one record.

    Attributes:
        bound: its skill type.
        facts: those of the record.
        thresholds: by which tiers begin.
        values: every value of the type, in nano, a tier its position; None where it does not apply.
        ratios: the exact measures, None where one does not apply.
    """

    bound: BoundType
    facts: Facts
    thresholds: Thresholds
    values: Mapping[Value, int | None]
    ratios: Mapping[Value, Fraction | None]

    @cached_property
    def axes(self) -> Mapping[str, int]:
        """The published axes, by name."""
        return {axis.name: self.values[axis] or 0 for axis in self.bound.axes}

    @cached_property
    def measures(self) -> Mapping[str, int | Fraction | None]:
        """The measures by name, in nano or, if exact, as ratios; None where one does not apply."""
        return {m.name: self.ratios.get(m, self.values[m]) for m in self.bound.measures}

    @property
    def quality(self) -> int:
        """The composite after its gates; 0 of a type without one."""
        return self.values[self.bound.quality] or 0

    @property
    def level(self) -> int | None:
        """The position of the tier, from 0 for the lowest."""
        return None if self.bound.tier is None else self.values[self.bound.tier]

    @cached_property
    def factors(self) -> Mapping[str, int | None]:
        """The emission factors, by name; None where a factor does not apply."""
        return {factor.name: self.values[factor] for factor in self.bound.of_role("factor")}

    @property
    def emission(self) -> int | None:
        """The emission, if the type has one."""
        return None if self.bound.emission is None else self.values[self.bound.emission]


def walk(
    values: Iterable[Value],
    facts: Facts,
    given: Mapping[Value, int | None] | None = None,
    *,
    exactly: bool = False,
) -> dict[Value, int | None]:
    """Return the values of one record.

    Args:
        values: which, each after those that it reads.
        facts: of the record.
        given: values that are not computed, such as thresholds (`BoundType.tracked`).
        exactly: whether by exact fractions in place of the generated functions of integers.
    """
    result = {} if given is None else dict(given)
    for value in values:
        if value not in result:
            compute = value.reference if exactly else value.nano
            result[value] = compute(facts, result)
    return result


def score_facts(bound: BoundType, facts: Facts, thresholds: Thresholds) -> Scores:
    """Return the scores of one valid record from its facts."""
    values = walk(bound.values, facts, bound.cuts(thresholds))
    ratios = {measure: measure.ratio(facts, values) for measure in bound.exact}
    return Scores(bound, facts, thresholds, values, ratios)


def derive(bound: BoundType, target: Value, given: Mapping[Value, int]) -> int:
    """Return a value of a type from given ones, by exact fractions.

    It must apply, and neither it nor what it needs beside the given may read facts or thresholds.
    """
    values = needed(bound.values, [target], {value.name for value in given})
    return walk(values, {}, given, exactly=True)[target] or 0


def thresholds_of(
    bound: BoundType, given: Mapping[str, int], before: Iterable[BoundType] = ()
) -> Thresholds:
    """Every threshold of a type from some in nano; the baseline is the seed if it is left out.

    Args:
        bound: the type.
        given: by name.
        before: the type under the rules of epochs before, from which a threshold may be carried: it
            may be in the range of any of them.

    Raises:
        NumberError: there are no tiers, or a threshold is unknown or outside its range.
    """
    if bound.tiers is None:
        raise NumberError(f"found no tiers for {bound.name}")
    ranges = _ranges(bound)
    for earlier in before:
        for name, (low, high) in _ranges(earlier).items():
            if name in ranges:
                ranges[name] = min(low, ranges[name][0]), max(high, ranges[name][1])
    for name, nano in given.items():
        low, high = ranges.get(name, (nano, nano))
        if not low <= nano <= high:
            raise NumberError(
                f"found the threshold {name} to be {to_text(nano)}, expected {to_text(low)} to "
                f"{to_text(high)}"
            )
    seeds = {name: bound.seeds[name] for name in bound.tiers.tracked}
    return bound.tiers.thresholds(seeds | dict(given))


def _ranges(bound: BoundType) -> dict[str, tuple[int, int]]:
    """Return the range of each threshold of a type, in nano."""
    if bound.tiers is None:
        return {}
    result = dict.fromkeys(bound.tiers.tracked, (0, NANO))
    return result | {
        name: (publish(formula.low), publish(formula.high))
        for name, value in bound.tiers.formulas.items()
        if (formula := value.formula) is not None
    }
