"""What a rule set declares and nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.formula.tree import names
from tallystick.governance.lint.check import Check
from tallystick.numbers.nano import NANO, to_text
from tallystick.rules.findings import Finding
from tallystick.scoring.bound import BoundType
from tallystick.scoring.scorer import Scorer


def _axes(scorer: Scorer) -> Iterator[Finding]:
    types = scorer.rule_set.skill_types
    used = {axis for rules in types.values() for axis in rules.all_axes}
    for axis in scorer.rule_set.axes:
        if axis not in used:
            yield Finding(("axes", axis), f"no skill type has the axis {axis}", {"axis": axis})
    for name, bound in scorer.types.items():
        for place, axis in enumerate(types[name].axes):
            if axis not in types[name].weights and axis not in _read_in(bound):
                yield Finding(
                    ("skill_types", name, "axes", place),
                    f"{axis} of {name} is computed, but no weight, axis, composite or gate reads "
                    "it",
                    {"skill_type": name, "axis": axis},
                )


def _read_in(bound: BoundType) -> set[str]:
    """The axes of a type that something reads beside weights."""
    composite = bound.composite
    trees = [axis.compiled.tree for axis in bound.axes]
    trees += [composite.formula.tree] if composite.formula is not None else []
    read = {name for tree in trees for name in names(tree, "published")}
    return read | {gate.axis for gate in composite.gates}


def _thresholds(scorer: Scorer) -> Iterator[Finding]:
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


def _factors(scorer: Scorer) -> Iterator[Finding]:
    emission = scorer.rule_set.emission
    for name in () if emission is None else emission.factors:
        bounds = [b for b in scorer.types.values() if b.emission is not None]
        found = [f.domain for b in bounds for f in b.factors if f.name == name]
        if all(domain.low == domain.high == NANO for domain in found):
            message = f"the factor {name} is {to_text(NANO)} for every record of every type"
            yield Finding(("emission", "factors", name), message, {"factor": name})


CHECKS = (
    Check(
        "axis-unused",
        "warning",
        "an axis that is declared and never used",
        "The axis belongs to no skill type, or a type computes it and neither a weight, another "
        "axis, the composite nor a gate reads it.",
        "use the axis, or remove it",
        _axes,
    ),
    Check(
        "threshold-unused",
        "warning",
        "a threshold at which no tier begins",
        "No level begins at the threshold, and no threshold that is used reads it.",
        "let a level begin at it, or remove it",
        _thresholds,
    ),
    Check(
        "factor-without-effect",
        "note",
        "an emission factor that is always 1",
        "By its proved range the factor is 1 wherever it applies.",
        "change its parameters, or remove it",
        _factors,
    ),
)
"""The checks of what is not used."""
