"""Checks of factors, emissions, base weights, and the cap on the weight of a miner.

E36, E51 and E54 of docs/errata.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import ceil, prod

import attrs

from tallystick.formula.polynomial import is_constant
from tallystick.formula.text import decimal_text
from tallystick.numbers.nano import NANO, publish, to_text
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.bound import BoundType
from tallystick.scoring.lint import check, less, more
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.value import Value
from tallystick_allocation.population import EMISSION
from tallystick_allocation.rules import placed_steps, round_score
from tallystick_allocation.steps.share import CapStep
from tallystick_governance.lint.type_probe import MOST
from tallystick_governance.ranges import composite_range

BOUND = NANO
"""Largest factor or emission that is no finding, in nano."""
_TERM = "base_weight"
_FEW_MINERS = 16
"""Number of miners that every subnet has."""
_SEVERAL = 3
"""Least number of types of which one can dominate: of two, one always weighs half or more."""


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


@check("factor-above-one", "note", more("highest"))
def _factor_above_one(scorer: Scorer) -> Iterator[Finding]:
    """A factor that raises the emission.

    A factor above 1 pays more than the quality is worth. That may be meant, but it is what drives
    an emission above 1. The figure is the proved upper bound of each type.

    Remedy: lower the parameters of the factor, or accept it with a reason.
    """
    above = defaultdict[str, dict[str, int]](dict)
    for bound in scorer.types.values():
        for factor in bound.factors:
            if factor.domain.high > BOUND:
                above[factor.name][bound.name] = factor.domain.high
    for name, types in above.items():
        most = to_text(max(types.values()))
        figures = {
            "highest": most,
            "by_type": {type_name: to_text(n) for type_name, n in types.items()},
        }
        yield Finding(
            ("emission", "factors", name), f"the factor {name} can be {most}, above 1", figures
        )


@check("never-paid", "error")
def _never_paid(scorer: Scorer) -> Iterator[Finding]:
    """Records that are paid nothing, whatever they are.

    The proved bound of an emission is 0, such as with a base weight of 0; or a factor is 0 in one
    of its arms by its parameters alone, such as for one role. Work that comes there is asked for
    and never paid.

    Remedy: give the parameter a value above 0, or do not ask for the work.
    """
    rules = scorer.rule_set.emission
    factors = {} if rules is None else rules.factors
    told = set[str]()
    for bound in scorer.types.values():
        if bound.emission is not None and not bound.emission.domain.high:
            yield Finding(
                ("emission",) if bound.base_weight else ("skill_types", bound.name, "base_weight"),
                f"the emission of {bound.name} is 0 for every record",
                {"skill_type": bound.name},
            )
        for factor, formula in bound.formulas:
            if factor.role != "factor":
                continue
            arms = factor.compiled.program.arms
            constants = [set(arm.bounds()) for arm in arms if is_constant(arm.numerator)]
            if factor.name in told or {Fraction(0)} not in constants:
                continue
            told.add(factor.name)
            zeros = [name for name, n in factors[factor.name].parameters.items() if not n]
            yield Finding(
                ("emission", "factors", factor.name),
                f"the factor {factor.name} is 0 for some records by its parameters alone: "
                f"{', '.join(zeros) or formula.name}",
                {"factor": factor.name},
            )


@check("emission-above-one", "warning", more("emission"), more("at_most"))
def _emission_above_one(scorer: Scorer) -> Iterator[Finding]:
    """An emission that can exceed 1.

    The emission is computed at every combination of the extreme values of its terms: the ends of
    the quality and of each factor, and every tier multiplier. The largest is shown with its
    combination, beside the bound that is proved for every record; where the two are equal, the
    bound is exact. Whether one record can have all of the terms at once is not asked.

    Remedy: lower base weights, multipliers or factors, or bound the formula.
    """
    bounds = scorer.types.values()
    largest = {b.name: _most(b, b.emission) for b in bounds if b.emission is not None}
    if not largest or max(most.at_most for most in largest.values()) <= BOUND:
        return
    name = max(
        largest, key=lambda type_name: (largest[type_name].emission, largest[type_name].at_most)
    )
    most = largest[name]
    combination = {type_name: to_text(n) for type_name, n in most.combination.items()}
    values = ", ".join(f"{type_name} {text}" for type_name, text in combination.items())
    yield Finding(
        ("emission", "formula"),
        f"an emission of {name} can be {to_text(most.emission)}, above {to_text(BOUND)}: {values}",
        {
            "skill_type": name,
            "emission": to_text(most.emission),
            "at_most": to_text(most.at_most),
            "bound": to_text(BOUND),
            "combination": combination,
            "by_type": {type_name: to_text(m.emission) for type_name, m in largest.items()},
        },
    )


def _most(bound: BoundType, emission: Value) -> _Most:
    names = {str(node.data[0]) for node in emission.compiled.reads}
    read = {v: _options(bound, v) for v in emission.inputs if v.name in names}
    if prod(map(len, read.values())) > MOST:
        read = {value: {min(options), max(options)} for value, options in read.items()}
    tried = (dict(zip(read, values, strict=True)) for values in product(*read.values()))
    pairs = (
        (emission.compiled.nano({}, {v.name: n for v, n in inputs.items()}), inputs)
        for inputs in tried
    )
    largest, combination = max(pairs, key=lambda pair: pair[0])
    at_most = max(largest, publish(emission.compiled.program.high))
    return _Most(largest, {value.name: n for value, n in combination.items()}, at_most)


def _options(bound: BoundType, value: Value) -> set[int]:
    """Return the values of a term that are tried: all of them where they are few, else the ends."""
    if value is bound.quality:
        return {composite_range(bound, {})[0], bound.quality.domain.high}
    arms = value.compiled.program.arms
    ends = {value.domain.low, value.domain.high}
    if any(not is_constant(part) for p in arms for part in (p.numerator, p.denominator)):
        return ends
    return ends | {publish(end) for arm in arms for end in arm.bounds()}


@check("base-weight-counted-twice", "warning", more("counted"))
def _base_weight_counted_twice(scorer: Scorer) -> Iterator[Finding]:
    """The base weight counts in the emission and again in the round.

    A round score with `base_weight` among `times` weighs each emission by its base weight. Where
    the emission formula reads the base weight itself, it counts squared.

    Remedy: take `base_weight` out of `times`, or the base weight out of the emission.
    """
    weighed = _weighed(scorer)
    if weighed is None or not weighed.twice or not _is_read(scorer):
        return
    weights = [b.base_weight for b in scorer.types.values() if b.base_weight]
    if not weights:
        return
    ratio = Fraction(max(weights), min(weights))
    yield Finding(
        (*weighed.origin, "times"),
        "the base weight is in the emission and weighs it once more in the round: the heaviest "
        f"type counts {decimal_text(ratio**2)} times the lightest, not {decimal_text(ratio)} times",
        {
            "lightest": to_text(min(weights)),
            "heaviest": to_text(max(weights)),
            "ratio": decimal_text(ratio),
            "counted": decimal_text(ratio**2),
        },
    )


@check("base-weight-never-counted", "error")
def _base_weight_never_counted(scorer: Scorer) -> Iterator[Finding]:
    """The round divides by base weights that no emission holds.

    A round score with `base_weight` in `over` alone divides by the sum of the base weights, which
    is right where the emission holds one. Where its formula does not read it, a heavy type is paid
    less.

    Remedy: put `base_weight` into `times` too, or let the emission read the base weight.
    """
    weighed = _weighed(scorer)
    if weighed is not None and not weighed.twice and not _is_read(scorer):
        yield Finding(
            (*weighed.origin, "over"),
            "the round divides by the base weights, but no emission holds one: heavier types are "
            "paid less",
            {},
        )


@check("base-weight-dominates", "warning", more("base_weight"), less("others"))
def _base_weight_dominates(scorer: Scorer) -> Iterator[Finding]:
    """One skill type weighs more than all others together.

    Base weights say what a record of a type is worth beside one of another. Of three types or more,
    one that outweighs all others together makes them hardly worth the work.

    Remedy: lower the base weight, or accept it with a reason.
    """
    weights = {name: b.base_weight for name, b in scorer.types.items() if b.base_weight is not None}
    if len(weights) < _SEVERAL:
        return
    name = max(weights, key=weights.__getitem__)
    others = sum(weights.values()) - weights[name]
    if weights[name] > others:
        yield Finding(
            ("skill_types", name, "base_weight"),
            f"{name} weighs {to_text(weights[name])}, more than all other types together, which "
            f"weigh {to_text(others)}",
            {"skill_type": name, "base_weight": to_text(weights[name]), "others": to_text(others)},
        )


@attrs.frozen
class _Weighed:
    """A round score whose divisor holds base weights.

    Attributes:
        origin: the keys of its step.
        twice: whether its sum is weighed by them too.
    """

    origin: KeyPath
    twice: bool


def _weighed(scorer: Scorer) -> _Weighed | None:
    score = round_score(scorer.rule_set)
    if score is None or score.value != EMISSION or _TERM not in score.over:
        return None
    (origin,) = (path for path, step in placed_steps(scorer.rule_set) if step is score)
    return _Weighed(origin, _TERM in score.times)


def _is_read(scorer: Scorer) -> bool:
    emission = scorer.rule_set.emission
    formulas = scorer.registry.formulas
    return emission is not None and _TERM in formulas[emission.formula].published


@check("cap-infeasible", "warning", more("miners"))
def _cap_infeasible(scorer: Scorer) -> Iterator[Finding]:
    """A cap that too few miners cannot keep.

    Weights sum to 1. With n miners and n · share below 1 somebody must exceed the share, so below
    that number the cap is not the stated share but an equal share for each.

    Remedy: raise the share above one over the smallest number of miners, or accept it with a
    reason.
    """
    for path, rules in _caps(scorer):
        share = Fraction(rules.share)
        # without lowest_share so few miners have no weights: cap-cannot-hold says so
        if share == 1 or rules.lowest_share is None:
            continue
        enough = ceil(1 / share)
        text, most = to_text(publish(share)), to_text(publish(share * (enough - 1)))
        yield Finding(
            path,
            f"a cap of {text} cannot hold under {enough} miners: {enough - 1} of them get at most "
            f"{most} of all weights",
            {"share": text, "miners": enough, "weights_of_fewer": most},
            "note" if enough <= _FEW_MINERS else None,
        )


@check("cap-never-binds", "note")
def _cap_never_binds(scorer: Scorer) -> Iterator[Finding]:
    """A cap that no weight exceeds.

    A share of 1 is all there is.

    Remedy: lower the share, or remove the cap.
    """
    for path, rules in _caps(scorer):
        if rules.share == 1:
            yield Finding(path, "a cap of 1 never takes anything from anyone", {})


def _caps(scorer: Scorer) -> Iterator[tuple[KeyPath, CapStep]]:
    """Yield the path of each share of a cap, and its step."""
    for path, step in placed_steps(scorer.rule_set):
        if isinstance(step, CapStep):
            yield (*path, "share"), step
