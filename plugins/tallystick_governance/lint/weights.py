"""Checks of weights without effect, and of values that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.numbers.nano import NANO, to_text
from tallystick.rules.findings import Finding
from tallystick.scoring.bound import BoundType
from tallystick.scoring.lint import check
from tallystick.scoring.scorer import Scorer
from tallystick_governance.lint.type_probe import values_of


@check("weight-zero", "warning")
def _weight_zero(scorer: Scorer) -> Iterator[Finding]:
    """An axis that is listed with a weight of 0.

    A weight of 0 takes no part, also in a geometric mean where the axis is 0.

    Remedy: list the axis in `axes` if something reads it, else leave it out.
    """
    for name, rules in scorer.rule_set.skill_types.items():
        for axis, weight in rules.weights.items():
            if not weight:
                yield Finding(
                    ("skill_types", name, "weights", axis),
                    f"{axis} weighs 0 in {name}: it takes no part in the composite",
                    {"skill_type": name, "axis": axis},
                )


@check("axis-constant", "error")
def _axis_constant(scorer: Scorer) -> Iterator[Finding]:
    """A weighed axis that is the same for every record.

    All combinations of its facts, or its proved range, allow one value only. So it tells nobody
    from anybody, and its weight scales the others.

    Remedy: weigh what differs, or change the parameters of the axis.
    """
    for name, bound in scorer.types.items():
        weights = scorer.rule_set.skill_types[name].weights
        for axis in bound.axes:
            values = values_of(bound, axis)
            if values.low == values.high and weights.get(axis.name):
                value = to_text(values.low)
                yield Finding(
                    ("skill_types", name, "weights", axis.name),
                    f"{axis.name} is {value} for every record of {name}, and weighs "
                    f"{weights[axis.name]}",
                    {"skill_type": name, "axis": axis.name, "value": value},
                )


@check("axis-counted-twice", "warning")
def _axis_counted_twice(scorer: Scorer) -> Iterator[Finding]:
    """Two weighed axes of a type are computed alike.

    Two axes have the same formula and the same parameters, so that they are equal for every record:
    one thing counts with both weights, under two names.

    Remedy: give one of the axes the formula that its name says, or weigh it once.
    """
    for name, bound in scorer.types.items():
        weights = scorer.rule_set.skill_types[name].weights
        first: dict[str, str] = {}
        for axis in bound.axes:
            if not weights.get(axis.name):
                continue
            other = first.setdefault(axis.tree.digest, axis.name)
            if other != axis.name:
                together = weights[other] + weights[axis.name]
                yield Finding(
                    ("skill_types", name, "weights", axis.name),
                    f"{axis.name} and {other} of {name} are the same for every record, and weigh "
                    f"{together} together",
                    {"skill_type": name, "axis": axis.name, "other": other},
                )


@check("axis-unused", "warning")
def _axis_unused(scorer: Scorer) -> Iterator[Finding]:
    """An axis or a measure that is declared and never used.

    It belongs to no skill type; or it is an axis that a type computes, and neither a weight,
    another axis, a measure, the composite nor a gate reads it.

    Remedy: use it, or remove it.
    """
    types = scorer.rule_set.skill_types
    used = {axis for rules in types.values() for axis in rules.all_axes}
    for axis in scorer.rule_set.axes:
        if axis not in used:
            yield Finding(("axes", axis), f"no skill type has the axis {axis}", {"axis": axis})
    measured = {name for rules in types.values() for name in rules.measures}
    for name in scorer.rule_set.measures:
        if name not in measured:
            message = f"no skill type has the measure {name}"
            yield Finding(("measures", name), message, {"measure": name})
    for name, bound in scorer.types.items():
        for index, axis in enumerate(types[name].axes):
            if axis not in types[name].weights and axis not in _read_in(bound):
                yield Finding(
                    ("skill_types", name, "axes", index),
                    f"{axis} of {name} is computed, but no weight, axis, measure, composite or "
                    "gate reads it",
                    {"skill_type": name, "axis": axis},
                )


def _read_in(bound: BoundType) -> set[str]:
    """Return the axes of a type that something reads beside weights."""
    is_mean = bound.mean is not None
    reading = [value for value in bound.values if not (is_mean and value is bound.composite)]
    read_axes = {read.name for value in reading for read in value.inputs if read.role == "axis"}
    return read_axes.union(*(formula.unrounded for _, formula in bound.formulas))


@check("threshold-unused", "warning")
def _threshold_unused(scorer: Scorer) -> Iterator[Finding]:
    """A threshold at which no tier begins.

    No level begins at the threshold, and no threshold that is used reads it.

    Remedy: let a level begin at it, or remove it.
    """
    tiers = scorer.rule_set.tiers
    if tiers is None:
        return
    formulas = scorer.registry.formulas
    used = {level.threshold for level in tiers.levels if level.threshold is not None}
    for _ in tiers.thresholds:  # what a used one reads is used
        named = [f for n, t in tiers.thresholds.items() if n in used and (f := t.formula)]
        used |= {name for formula in named for name in formulas[formula].published}
    for name in tiers.thresholds:
        if name not in used:
            message = f"no tier begins at the threshold {name}, and no threshold reads it"
            yield Finding(("tiers", "thresholds", name), message, {"threshold": name})


@check("factor-without-effect", "note")
def _factor_without_effect(scorer: Scorer) -> Iterator[Finding]:
    """An emission factor that is always 1.

    By its proved range the factor is 1 wherever it applies.

    Remedy: change its parameters, or remove it.
    """
    emission = scorer.rule_set.emission
    for name in () if emission is None else emission.factors:
        bounds = [b for b in scorer.types.values() if b.emission is not None]
        domains = [f.domain for b in bounds for f in b.factors if f.name == name]
        if all(domain.low == domain.high == NANO for domain in domains):
            message = f"the factor {name} is {to_text(NANO)} for every record of every type"
            yield Finding(("emission", "factors", name), message, {"factor": name})
