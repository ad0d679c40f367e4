"""Proofs: every formula that a rule set of the plugin uses stays in range and never divides by 0.

The proof is that of binding. Where it fails, an example is searched for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

import attrs

from tallystick.conformance.codes import finding
from tallystick.conformance.counterexample import judged
from tallystick.conformance.fact_coverage import domains_of, has_all, is_without_bounds
from tallystick.conformance.rule_sets import invalid, readable
from tallystick.conformance.subject import Subject
from tallystick.conformance.uses import axes_before, claim_at
from tallystick.diagnostics import Diagnostic
from tallystick.errors import FormulaError, RuleSetError
from tallystick.plugins.registry import Registry
from tallystick.rules.model import BUILT_IN_COMPOSITES, SkillTypeRules
from tallystick.rules.reading import LoadedRuleSet
from tallystick.scoring.binding import bind_rule_set


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Each formula of each rule set that the plugin ships is proved, for every type."""
    reported: set[tuple[str, str]] = set()
    for loaded in readable(subject):
        for each in _of_rule_set(loaded, subject):
            formula = each.where.partition(" ")[0]
            if (formula, each.code) not in reported:
                reported.add((formula, each.code))
                yield each


def _of_rule_set(loaded: LoadedRuleSet, subject: Subject) -> Iterator[Diagnostic]:
    for name in loaded.rule_set.skill_types:
        if name not in subject.schemas:
            continue
        for error in _refusals(loaded, name, subject.registry):
            yield from _findings(loaded, name, error, subject)


def _refusals(loaded: LoadedRuleSet, name: str, registry: Registry) -> Iterator[RuleSetError]:
    """Why one type does not bind: each of its axes that does not, or else the first of the rest."""
    whole = _refusal(loaded, {name: loaded.rule_set.skill_types[name]}, registry)
    if whole is None:
        return
    rules = loaded.rule_set.skill_types[name]
    bare = attrs.evolve(loaded, rule_set=attrs.evolve(loaded.rule_set, tiers=None, emission=None))
    alone = [
        _refusal(bare, {name: _of_axis(a, rules, bare, registry)}, registry) for a in rules.all_axes
    ]
    found = {str(error): error for error in alone if error is not None}
    yield from found.values() or [whole]


def _refusal(
    loaded: LoadedRuleSet, types: Mapping[str, SkillTypeRules], registry: Registry
) -> RuleSetError | None:
    narrowed = attrs.evolve(loaded, rule_set=attrs.evolve(loaded.rule_set, skill_types=types))
    try:
        bind_rule_set(narrowed, registry)
    except RuleSetError as error:
        return error
    return None


def _of_axis(
    axis: str, rules: SkillTypeRules, loaded: LoadedRuleSet, registry: Registry
) -> SkillTypeRules:
    """The rules of a type with one axis, and those that it reads, alone."""
    return attrs.evolve(
        rules,
        composite=BUILT_IN_COMPOSITES[-1],
        weights={axis: Decimal(1)},
        axes=axes_before(axis, loaded.rule_set, registry),
        parameters={},
        gates=(),
        base_weight=None,
        baseline=None,
    )


def _findings(
    loaded: LoadedRuleSet, name: str, error: RuleSetError, subject: Subject
) -> Iterator[Diagnostic]:
    """What one refusal of a type comes to; what other checks report is left to them."""
    reason = str(error.__cause__ or error)
    for problem in error.problems:
        claim = claim_at(problem.path, loaded, name, subject.registry)
        if claim is None or not isinstance(error.__cause__, FormulaError):
            if not is_without_bounds(reason):
                yield invalid(problem)
        elif domains_of(claim.facts, subject.schemas[name]) is not None:
            yield judged(f"{claim.formula.name} for {name} in {problem.where}", claim, reason)
        elif has_all(claim.facts, subject) and not is_without_bounds(reason):
            yield finding(
                "fact-unreachable", f"{claim.formula.name} for {name} in {problem.where}", reason
            )
