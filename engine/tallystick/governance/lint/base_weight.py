"""How often the base weight counts in the score of a round."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tallystick.formula.text import decimal_text
from tallystick.governance.lint.check import Check
from tallystick.numbers.nano import to_text
from tallystick.rules.findings import Finding
from tallystick.scoring.scorer import Scorer

_PATH = ("aggregation", "round", "base_weight")
_TERM = "base_weight"
_SEVERAL = 3
"""Of two types one always weighs at least as much as all others."""


def _twice(scorer: Scorer) -> Iterator[Finding]:
    if _mode(scorer) != "twice" or not _is_read(scorer):
        return
    weights = [b.base_weight for b in scorer.types.values() if b.base_weight]
    if not weights:
        return
    ratio = Fraction(max(weights), min(weights))
    yield Finding(
        _PATH,
        "the base weight is in the emission and weighs it once more in the round: the heaviest "
        f"type counts {decimal_text(ratio**2)} times the lightest, not {decimal_text(ratio)} times",
        {
            "lightest": to_text(min(weights)),
            "heaviest": to_text(max(weights)),
            "ratio": decimal_text(ratio),
            "counted": decimal_text(ratio**2),
        },
    )


def _never(scorer: Scorer) -> Iterator[Finding]:
    if _mode(scorer) == "once" and not _is_read(scorer):
        yield Finding(
            _PATH,
            "the round divides by the base weights, but no emission holds one: heavier types are "
            "paid less",
            {},
        )


def _dominates(scorer: Scorer) -> Iterator[Finding]:
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


def _mode(scorer: Scorer) -> str | None:
    aggregation = scorer.rule_set.aggregation
    rounds = None if aggregation is None else aggregation.round
    return None if rounds is None else rounds.base_weight


def _is_read(scorer: Scorer) -> bool:
    emission = scorer.rule_set.emission
    formulas = scorer.registry.formulas
    return emission is not None and _TERM in formulas[emission.formula].published


CHECKS = (
    Check(
        "base-weight-counted-twice",
        "warning",
        "the base weight counts in the emission and again in the round",
        "With `twice` the round weighs each emission by its base weight. Where the emission "
        "formula reads the base weight itself, it counts squared.",
        "write `once`, or take the base weight out of the emission",
        _twice,
    ),
    Check(
        "base-weight-never-counted",
        "error",
        "the round divides by base weights that no emission holds",
        "With `once` the round divides by the sum of the base weights, which is right where the "
        "emission holds one. Where its formula does not read it, a heavy type is paid less.",
        "write `twice`, or let the emission read the base weight",
        _never,
    ),
    Check(
        "base-weight-dominates",
        "warning",
        "one skill type weighs more than all others together",
        "Base weights say what a record of a type is worth beside one of another. Of three types "
        "or more, one that outweighs all others together makes them hardly worth the work.",
        "lower the base weight, or accept it with a reason",
        _dominates,
    ),
)
"""The checks of base weights (E36 of docs/errata.md)."""
