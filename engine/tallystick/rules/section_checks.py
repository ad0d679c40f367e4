"""The cross checks of each section: tiers, emission, and those that plugins bring."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tallystick.diagnostics import nearest
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick.rules.formula_references import (
    FormulaReference,
    check_reference,
    find_cycle,
    formula_of,
)
from tallystick.rules.section_lookup import asked, formulas_of, sections_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from tallystick.formula.formula import Formula
    from tallystick.plugins.registry import Registry
    from tallystick.rules.model import Emission, Factor, Level, RuleSet, Threshold, Tiers
    from tallystick.rules.schema import Declared
    from tallystick.rules.section import Section
    from tallystick.rules.toml import KeyPath

TRACKED = "baseline"
"""Name of the tracked baseline among the published thresholds."""
EMISSION_TERMS = ("quality", "base_weight", "tier_multiplier")
"""Names that an emission formula can read beside its factors."""
FACTOR_TERMS = ("base_weight",)
"""Names that a factor formula can read."""


def check_sections(rule_set: RuleSet, declared: Declared, registry: Registry) -> Iterator[Finding]:
    """Yield the mistakes in the sections beside the axes and the skill types."""
    if rule_set.tiers is not None:
        yield from _check_tiers(rule_set.tiers, registry)
    if rule_set.emission is not None:
        yield from _check_emission(rule_set.emission, rule_set, declared, registry)
    for section, rules in sections_of(rule_set, registry):
        yield from _check_section(section, rules, rule_set, declared, registry)


def _check_section(
    section: Section[Any], rules: object, rule_set: RuleSet, declared: Declared, registry: Registry
) -> Iterator[Finding]:
    """Yield what a section finds, or else what is wrong with the formulas that it names."""

    def findings() -> list[Finding]:
        answer = list(section.check(rules, rule_set, declared, registry))
        for finding in answer:
            if not isinstance(finding, Finding):
                raise TypeError(f"found {finding!r}, expected a Finding")
        return answer

    mistakes = asked(section, "the check", findings)
    yield from mistakes
    for reference in () if mistakes else formulas_of(section, rules):
        yield from check_reference(reference, registry)


def _check_tiers(tiers: Tiers, registry: Registry) -> Iterator[Finding]:
    yield from _check_tracked(tiers.thresholds)
    reads = {}
    for name, threshold in tiers.thresholds.items():
        path = ("tiers", "thresholds", name)
        if threshold.formula is None:
            continue
        reference = FormulaReference(
            path, (*path, "formula"), threshold.formula, "threshold", threshold.parameters
        )
        yield from check_reference(reference, registry)
        reads[name] = _reads(formula_of(reference, registry))
        yield from _check_reads(reference.key, reference.formula, reads[name], tiers.thresholds)
    cycle = find_cycle(reads)
    if cycle:
        chain = " → ".join(cycle)
        expected = "thresholds that do not read themselves in a circle"
        yield mistake(("tiers", "thresholds", cycle[0]), chain, expected)
    yield from _check_levels(tiers)


def _check_tracked(thresholds: Mapping[str, Threshold]) -> Iterator[Finding]:
    for name, threshold in thresholds.items():
        path = ("tiers", "thresholds", name)
        if threshold.formula is None and name != TRACKED:
            expected = f"the name of a threshold formula; only {TRACKED} has none"
            yield mistake((*path, "formula"), "", expected)
        elif threshold.formula is not None and name == TRACKED:
            expected = "no formula: this threshold is the tracked baseline of the type"
            yield mistake((*path, "formula"), shown(threshold.formula), expected)
        if threshold.formula is None:
            for key, value in threshold.parameters.items():
                yield mistake((*path, key), shown(value), "no parameters without a formula")


def _check_levels(tiers: Tiers) -> Iterator[Finding]:
    path = ("tiers", "levels")
    names = Counter(level.name for level in tiers.levels)
    starts = Counter(level.threshold for level in tiers.levels)
    for index, level in enumerate(tiers.levels):
        if names[level.name] > 1:
            yield mistake(
                (*path, index, "name"), shown(level.name), "a name that no other tier has"
            )
        yield from _check_start((*path, index, "from"), index, level, tiers)
        if level.threshold is not None and starts[level.threshold] > 1:
            expected = "a threshold that no other tier begins at"
            yield mistake((*path, index, "from"), shown(level.threshold), expected)


def _check_start(path: KeyPath, place: int, level: Level, tiers: Tiers) -> Iterator[Finding]:
    if level.threshold is None:
        if place:
            expected = "the threshold where the tier begins; only the first, the lowest, has none"
            yield mistake(path, "", expected)
    elif not place:
        expected = "no threshold: the first tier is the lowest and begins at 0"
        yield mistake(path, shown(level.threshold), expected)
    elif level.threshold not in tiers.thresholds:
        hint = nearest(level.threshold, tiers.thresholds) or f": {one_of(tiers.thresholds)}"
        yield mistake(path, shown(level.threshold), f"a threshold of [tiers.thresholds]{hint}")


def _check_emission(
    emission: Emission, rule_set: RuleSet, declared: Declared, registry: Registry
) -> Iterator[Finding]:
    reference = FormulaReference(
        ("emission",), ("emission", "formula"), emission.formula, "emission", emission.parameters
    )
    yield from check_reference(reference, registry)
    formula = formula_of(reference, registry)
    if formula is not None:
        names = (*EMISSION_TERMS, *emission.factors)
        yield from _check_reads(reference.key, reference.formula, formula.published, names)
        yield from _check_unread_factors(emission, formula)
        yield from _check_tier_needed(rule_set, declared, formula)
    for name, factor in emission.factors.items():
        yield from _check_factor(name, factor, rule_set, declared, registry)


def _check_unread_factors(emission: Emission, formula: Formula) -> Iterator[Finding]:
    for name in emission.factors:
        if name not in formula.published:
            hint = nearest(name, formula.published)
            expected = f"a factor that {emission.formula} reads{hint}"
            yield mistake(("emission", "factors", name), shown(name), expected)


def _check_tier_needed(
    rule_set: RuleSet, declared: Declared, formula: Formula
) -> Iterator[Finding]:
    if "tier_multiplier" not in formula.published:
        return
    if "tiers" not in declared.sections:
        expected = f"the section [tiers], because {formula.name} reads tier_multiplier"
        yield mistake(("emission", "formula"), shown(formula.name), expected)
    for name, rules in rule_set.skill_types.items():
        if rules.base_weight is not None and rules.baseline is None:
            expected = "a baseline: a type with a base_weight has an emission, which needs its tier"
            yield mistake(("skill_types", name, "baseline"), "", expected)


def _check_factor(
    name: str, factor: Factor, rule_set: RuleSet, declared: Declared, registry: Registry
) -> Iterator[Finding]:
    path = ("emission", "factors", name)
    reference = FormulaReference(
        path, (*path, "formula"), factor.formula, "factor", factor.parameters
    )
    yield from check_reference(reference, registry)
    yield from _check_reads(
        reference.key, reference.formula, _reads(formula_of(reference, registry)), FACTOR_TERMS
    )
    if name in EMISSION_TERMS:
        yield mistake(path, shown(name), "a name that is not a term of every emission")
    for index, skill_type in enumerate(factor.skill_types or ()):
        where = (*path, "skill_types", index)
        rules = rule_set.skill_types.get(skill_type)
        if skill_type not in declared.skill_types:
            hint = nearest(skill_type, declared.skill_types)
            yield mistake(where, shown(skill_type), f"a skill type of this rule set{hint}")
        elif rules is not None and rules.base_weight is None:
            expected = "a skill type with a base_weight: the others have no emission"
            yield mistake(where, shown(skill_type), expected)


def _check_reads(
    path: KeyPath, reader: str, names: Collection[str], known: Collection[str]
) -> Iterator[Finding]:
    for name in names:
        if name not in known:
            expected = f"a formula that reads only {one_of(known)}, or a declaration of {name}"
            yield mistake(path, f"{shown(reader)}, which reads {name}", expected)


def _reads(formula: Formula | None) -> tuple[str, ...]:
    return formula.published if formula else ()
