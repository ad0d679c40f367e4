"""How large factors and emissions can get."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod

import attrs

from tallystick.formula.polynomial import is_constant
from tallystick.governance.lint.check import Check
from tallystick.governance.lint.reach import MOST, composite_range, highest_quality
from tallystick.numbers.nano import NANO, publish, to_text
from tallystick.rules.findings import Finding
from tallystick.scoring.bound import BoundType
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.value import Value

BOUND = NANO
"""The stated bound: a factor or an emission above 1 is told, in nano."""


@attrs.frozen
class _Most:
    """The largest emission of a type.

    Attributes:
        emission: the largest of all combinations that were tried, in nano.
        combination: of the published values that gives it.
        at_most: the proved bound, in nano.
    """

    emission: int
    combination: Mapping[str, int]
    at_most: int


def _factors(scorer: Scorer) -> Iterator[Finding]:
    above = defaultdict[str, dict[str, int]](dict)
    for bound in scorer.types.values():
        for factor in bound.factors:
            if factor.domain.high > BOUND:
                above[factor.name][bound.name] = factor.domain.high
    for name, types in above.items():
        most = to_text(max(types.values()))
        figures = {"highest": most, "by_type": {each: to_text(n) for each, n in types.items()}}
        yield Finding(
            ("emission", "factors", name), f"the factor {name} can be {most}, above 1", figures
        )


def _emission(scorer: Scorer) -> Iterator[Finding]:
    bounds = scorer.types.values()
    found = {b.name: _most(b, b.emission) for b in bounds if b.emission is not None}
    if not found or max(most.at_most for most in found.values()) <= BOUND:
        return
    name = max(found, key=lambda each: (found[each].emission, found[each].at_most))
    most = found[name]
    combination = {each: to_text(n) for each, n in most.combination.items()}
    values = ", ".join(f"{each} {text}" for each, text in combination.items())
    yield Finding(
        ("emission", "formula"),
        f"an emission of {name} can be {to_text(most.emission)}, above {to_text(BOUND)}: {values}",
        {
            "skill_type": name,
            "emission": to_text(most.emission),
            "at_most": to_text(most.at_most),
            "bound": to_text(BOUND),
            "combination": combination,
            "by_type": {each: to_text(m.emission) for each, m in found.items()},
        },
    )


def _most(bound: BoundType, emission: Value) -> _Most:
    read = {str(source): _options(bound, str(source)) for source in emission.compiled.sources}
    if prod(map(len, read.values())) > MOST:
        read = {name: {min(options), max(options)} for name, options in read.items()}
    tried = (dict(zip(read, values, strict=True)) for values in product(*read.values()))
    pairs = ((emission.compiled.nano((), given), given) for given in tried)
    largest, combination = max(pairs, key=lambda pair: pair[0])
    at_most = max(largest, publish(emission.compiled.program.high))
    return _Most(largest, combination, at_most)


def _options(bound: BoundType, name: str) -> set[int]:
    """The values of a term that are tried: all of them where they are few, else the ends."""
    if name == "quality":
        return {composite_range(bound, {})[0], highest_quality(bound)}
    if name == "base_weight":
        return {bound.base_weight or 0}
    if name == "tier_multiplier":
        return set(bound.tiers.multipliers) if bound.tiers is not None else {NANO}
    factor = next((each for each in bound.factors if each.name == name), None)
    return {NANO} if factor is None else _values(factor)


def _values(factor: Value) -> set[int]:
    arms = factor.compiled.program.arms
    ends = {factor.domain.low, factor.domain.high}
    if any(not is_constant(part) for p in arms for part in (p.numerator, p.denominator)):
        return ends
    return ends | {publish(end) for arm in arms for end in arm.bounds()}


CHECKS = (
    Check(
        "factor-above-one",
        "note",
        "a factor that raises the emission",
        "A factor above 1 pays more than the quality is worth. That may be meant, but it is what "
        "drives an emission above 1. The figure is the proved upper bound of each type.",
        "lower the parameters of the factor, or accept it with a reason",
        _factors,
    ),
    Check(
        "emission-above-one",
        "warning",
        "an emission that can exceed 1",
        "The emission is computed at every combination of the extreme values of its terms: the "
        "ends of the quality and of each factor, and every tier multiplier. The largest is shown "
        "with its combination, beside the bound that is proved for every record; where the two "
        "are equal, the bound is exact. Whether one record can have all of the terms at once is "
        "not asked.",
        "lower base weights, multipliers or factors, or bound the formula",
        _emission,
    ),
)
"""The checks of factors and the emission (E54 of docs/errata.md)."""
