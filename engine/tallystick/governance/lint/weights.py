"""Weights that weigh nothing."""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.governance.lint.check import Check
from tallystick.governance.lint.reach import values_of
from tallystick.numbers.nano import to_text
from tallystick.rules.findings import Finding
from tallystick.scoring.scorer import Scorer


def _zero(scorer: Scorer) -> Iterator[Finding]:
    for name, rules in scorer.rule_set.skill_types.items():
        for axis, weight in rules.weights.items():
            if not weight:
                yield Finding(
                    ("skill_types", name, "weights", axis),
                    f"{axis} weighs 0 in {name}: it takes no part in the composite",
                    {"skill_type": name, "axis": axis},
                )


def _constant(scorer: Scorer) -> Iterator[Finding]:
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


def _twice(scorer: Scorer) -> Iterator[Finding]:
    for name, bound in scorer.types.items():
        weights = scorer.rule_set.skill_types[name].weights
        first: dict[str, str] = {}
        for axis in bound.axes:
            if not weights.get(axis.name):
                continue
            other = first.setdefault(axis.compiled.tree.digest, axis.name)
            if other != axis.name:
                together = weights[other] + weights[axis.name]
                yield Finding(
                    ("skill_types", name, "weights", axis.name),
                    f"{axis.name} and {other} of {name} are the same for every record, and weigh "
                    f"{together} together",
                    {"skill_type": name, "axis": axis.name, "other": other},
                )


CHECKS = (
    Check(
        "weight-zero",
        "warning",
        "an axis that is listed with a weight of 0",
        "A weight of 0 takes no part, also in a geometric mean where the axis is 0.",
        "list the axis in `axes` if something reads it, else leave it out",
        _zero,
    ),
    Check(
        "axis-constant",
        "error",
        "a weighed axis that is the same for every record",
        "All combinations of its facts, or its proved range, allow one value only. So it tells "
        "nobody from anybody, and its weight scales the others.",
        "weigh what differs, or change the parameters of the axis",
        _constant,
    ),
    Check(
        "axis-counted-twice",
        "warning",
        "two weighed axes of a type are computed alike",
        "Two axes have the same formula and the same parameters, so that they are equal for every "
        "record: one thing counts with both weights, under two names.",
        "give one of the axes the formula that its name says, or weigh it once",
        _twice,
    ),
)
"""The checks of weights."""
