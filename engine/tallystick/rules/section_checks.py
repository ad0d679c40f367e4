"""The cross checks of each section: tiers, emission, reputation, epochs, groups, windows."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

from tallystick.diagnostics import nearest
from tallystick.numbers.text import fraction
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
    from tallystick.rules.sections import (
        Band,
        Epochs,
        Groups,
        Reputation,
        Step,
        ThresholdTracking,
    )
    from tallystick.rules.toml import KeyPath

TRACKED = "baseline"
"""What the tracked baseline is called among the published thresholds."""
EMISSION_TERMS = ("quality", "base_weight", "tier_multiplier")
"""What an emission formula can read beside its factors."""
FACTOR_TERMS = ("base_weight",)
"""What a factor formula can read."""
_LAST_STEP: Step = "persist"


def check_sections(rule_set: RuleSet, declared: Declared, registry: Registry) -> Iterator[Finding]:
    """What is wrong with the sections beside the axes and the skill types."""
    if rule_set.tiers is not None:
        yield from _check_tiers(rule_set.tiers, registry)
    if rule_set.emission is not None:
        yield from _check_emission(rule_set.emission, rule_set, declared, registry)
    if rule_set.reputation is not None:
        yield from _check_reputation(rule_set.reputation)
    if rule_set.epochs is not None:
        yield from _check_epochs(rule_set.epochs, rule_set, declared)
    if rule_set.groups is not None:
        yield from _check_groups(rule_set.groups)
    yield from _check_needs(rule_set, declared)
    yield from _check_windows(rule_set, declared)
    for section, rules in sections_of(rule_set, registry):
        yield from _check_section(section, rules, rule_set, declared, registry)


def _check_section(
    section: Section[Any], rules: object, rule_set: RuleSet, declared: Declared, registry: Registry
) -> Iterator[Finding]:
    """Yield what a section finds, or else what is wrong with the formulas that it names."""

    def findings() -> list[Finding]:
        return list(section.check(rules, rule_set, declared, registry))

    found = asked(section, "the check", findings)
    yield from found
    for reference in () if found else formulas_of(section, rules):
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
        found = " → ".join(cycle)
        expected = "thresholds that do not read themselves in a circle"
        yield mistake(("tiers", "thresholds", cycle[0]), found, expected)
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
    for place, level in enumerate(tiers.levels):
        if names[level.name] > 1:
            yield mistake(
                (*path, place, "name"), shown(level.name), "a name that no other tier has"
            )
        yield from _check_start((*path, place, "from"), place, level, tiers)
        if level.threshold is not None and starts[level.threshold] > 1:
            expected = "a threshold that no other tier begins at"
            yield mistake((*path, place, "from"), shown(level.threshold), expected)


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
        known = (*EMISSION_TERMS, *emission.factors)
        yield from _check_reads(reference.key, reference.formula, formula.published, known)
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
    for place, skill_type in enumerate(factor.skill_types or ()):
        where = (*path, "skill_types", place)
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


def _check_reputation(reputation: Reputation) -> Iterator[Finding]:
    if reputation.floor > reputation.ceiling:
        expected = f"at most the ceiling, {shown(reputation.ceiling)}"
        yield mistake(("reputation", "floor"), shown(reputation.floor), expected)
    elif not reputation.floor <= reputation.initial <= reputation.ceiling:
        expected = f"a number from {shown(reputation.floor)} to {shown(reputation.ceiling)}"
        yield mistake(("reputation", "initial"), shown(reputation.initial), expected)
    damping = reputation.damping
    if damping.mode == "drift" and damping.keep is not None:
        expected = 'no keep in the mode "drift": the whole reputation stays'
        yield mistake(("reputation", "damping", "keep"), shown(damping.keep), expected)
    yield from _check_bands(reputation)


def _check_bands(reputation: Reputation) -> Iterator[Finding]:
    bands = {name: e.consensus for name, e in reputation.events.items() if e.consensus is not None}
    for name, band in bands.items():
        low, high = _bounds(band)
        if low >= high:
            expected = "a band that begins below its end"
            yield mistake(_band_path(name), f"{shown(low)} to {shown(high)}", expected)
    for (first, one), (second, other) in combinations(bands.items(), 2):
        if max(_bounds(one)[0], _bounds(other)[0]) < min(_bounds(one)[1], _bounds(other)[1]):
            expected = f"a band apart from that of {first}: one consensus is one event"
            yield mistake(_band_path(second), "an overlap", expected)


def _band_path(event: str) -> KeyPath:
    return ("reputation", "events", event, "consensus")


def _bounds(band: Band) -> tuple[Fraction, Fraction]:
    """The half-open range of a band; without an end it holds every consensus, which is below 2."""
    low = Fraction(0) if band.at_least is None else Fraction(band.at_least)
    return low, Fraction(2) if band.below is None else Fraction(band.below)


def _check_epochs(epochs: Epochs, rule_set: RuleSet, declared: Declared) -> Iterator[Finding]:
    baseline = epochs.baseline
    if baseline is not None and baseline.mode == "published" and baseline.roles:
        expected = 'no roles in the mode "published": the baseline never moves'
        yield mistake(("epochs", "baseline", "roles"), shown(baseline.roles), expected)
    if _LAST_STEP not in epochs.steps[-1:]:
        expected = f"steps that end with {_LAST_STEP}: what comes after it would not be kept"
        yield mistake(("epochs", "steps"), one_of(epochs.steps), expected)
    for name, tracking in epochs.thresholds.items():
        path = ("epochs", "thresholds", name)
        yield from _check_tracking(path, tracking)
        yield from _check_tracked_name(path, name, rule_set, declared)


def _check_tracking(path: KeyPath, tracking: ThresholdTracking) -> Iterator[Finding]:
    total = Fraction(tracking.new) + Fraction(tracking.old)
    if total != 1:
        expected = "new and old that sum to exactly 1"
        yield mistake(path, f"a sum of {fraction(total)}", expected)
    if tracking.minimum > tracking.best:
        expected = f"at most best, {tracking.best}"
        yield mistake((*path, "minimum"), shown(tracking.minimum), expected)


def _check_tracked_name(
    path: KeyPath, name: str, rule_set: RuleSet, declared: Declared
) -> Iterator[Finding]:
    if rule_set.tiers is None:
        if "tiers" not in declared.sections:
            yield mistake(path, shown(name), "the section [tiers], which has its floor")
        return
    computed = [n for n, t in rule_set.tiers.thresholds.items() if t.formula is not None]
    if name not in computed:
        hint = nearest(name, computed) or f": {one_of(computed)}"
        yield mistake(path, shown(name), f"a threshold of [tiers.thresholds] with a formula{hint}")


def _check_groups(groups: Groups) -> Iterator[Finding]:
    recovery = groups.recovery
    if recovery.enabled and recovery.auditor_slot > groups.auditors:
        expected = f"a slot from 1 to {groups.auditors}, the number of auditors"
        yield mistake(
            ("groups", "recovery", "auditor_slot"), shown(recovery.auditor_slot), expected
        )


def _check_needs(rule_set: RuleSet, declared: Declared) -> Iterator[Finding]:
    """Sections that work on what another section makes."""
    if rule_set.groups is not None and "reputation" not in declared.sections:
        yield mistake(("groups",), "", "the section [reputation], which [groups] works with")


def _check_windows(rule_set: RuleSet, declared: Declared) -> Iterator[Finding]:
    for skill_type, roles in rule_set.windows.items():
        if skill_type not in declared.skill_types:
            hint = nearest(skill_type, declared.skill_types)
            expected = f"a skill type of this rule set{hint}"
            yield mistake(("windows", skill_type), shown(skill_type), expected)
        for role, window in roles.items():
            if window.t_min_s >= window.deadline_s:
                expected = f"more than t_min_s, {shown(window.t_min_s)}"
                path = ("windows", skill_type, role, "deadline_s")
                yield mistake(path, shown(window.deadline_s), expected)
