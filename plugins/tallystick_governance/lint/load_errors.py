"""Rule sets that do not load, and the proofs that fail when they are bound.

What loads is proved: these codes are of what loading finds, with its words.
"""

from __future__ import annotations

import attrs

from tallystick.diagnostics import DOES_NOT_LOAD, Diagnostic
from tallystick.errors import FormulaError, RuleSetError
from tallystick.plugins.registry import Registry
from tallystick.rules.reading import LoadedRuleSet
from tallystick.scoring.lint import Check
from tallystick.scoring.scorer import bind

_RANGE, _ZERO, _ORDER = "out-of-range", "division-by-zero", "tiers-out-of-order"
_STARTS = {"found that it can be from ": _RANGE, "found a division by ": _ZERO}
"""The beginnings of messages about what binding cannot prove."""
_THRESHOLD = "tiers.thresholds."


def unloaded(problems: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """Return the findings of a file that cannot be read as a rule set."""
    return tuple(_finding(DOES_NOT_LOAD, problem, {}) for problem in problems)


def unbound(
    loaded: LoadedRuleSet, registry: Registry, first: RuleSetError
) -> tuple[Diagnostic, ...]:
    """Return the findings of a rule set whose formulas cannot be proved, type by type.

    Args:
        loaded: the rule set.
        registry: the plugins.
        first: why it cannot be bound, of each formula for the first type that it fails.
    """
    by_problem = _by_problem(first)
    for name, rules in loaded.rule_set.skill_types.items():
        alone = attrs.evolve(loaded.rule_set, skill_types={name: rules})
        try:
            bind(attrs.evolve(loaded, rule_set=alone), registry)
        except RuleSetError as error:
            by_problem |= _by_problem(error)
    return tuple(by_problem.values())


def _by_problem(error: RuleSetError) -> dict[Diagnostic, Diagnostic]:
    return {problem: _unproved(problem, error.reasons.get(problem)) for problem in error.problems}


def _unproved(problem: Diagnostic, error: FormulaError | None) -> Diagnostic:
    if error is not None:
        proof = str(error)
        codes = (code for start, code in _STARTS.items() if proof.startswith(start))
        return _finding(
            next(codes, DOES_NOT_LOAD),
            problem,
            {"formula": problem.evidence["value"], "proof": proof},
        )
    code = _ORDER if problem.path.startswith(_THRESHOLD) else DOES_NOT_LOAD
    return _finding(code, problem, {})


def _finding(code: str, problem: Diagnostic, figures: dict[str, str]) -> Diagnostic:
    return attrs.evolve(problem, code=code, evidence=figures, remedy=_REMEDIES[code])


_DOES_NOT_LOAD = Check(
    DOES_NOT_LOAD,
    "error",
    "a file that is no rule set, or not a sound one",
    documentation=(
        "The file is validated as by `rules check`; what is wrong with it is reported with the "
        "words of loading. No other check can be made then."
    ),
    remedy="do what is expected there",
)
_OUT_OF_RANGE = Check(
    _RANGE,
    "error",
    "a formula that can leave its declared range",
    documentation=(
        "When a rule set is bound, the bounds of every axis, composite, factor, threshold and "
        "emission are proved for every record that the schema and the requirements allow. Here "
        "the proof fails: a value may be outside the range. It is asked of each skill type by "
        "itself, and the first formula of a type that fails is reported."
    ),
    remedy="use clip() in the formula, or change its parameters",
)
_DIVISION_BY_ZERO = Check(
    _ZERO,
    "error",
    "a formula that can divide by zero",
    documentation=(
        "As for out-of-range: a divisor is not proved to be other than 0 where it is reached."
    ),
    remedy="put the zero in an earlier case of the formula, or require it of the record",
)

_REMEDIES = {
    **{each.code: each.remedy for each in (_DOES_NOT_LOAD, _OUT_OF_RANGE, _DIVISION_BY_ZERO)},
    _ORDER: "order the levels by their thresholds and their multipliers",
}
