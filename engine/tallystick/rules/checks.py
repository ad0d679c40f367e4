"""The cross checks of a rule set: what no schema of one file can say.

Every formula that is named exists, is of the kind that belongs there and is given its parameters;
what a formula reads is there to be read; weights are shares of one; names lead somewhere. Whether
a formula stays in its range for every valid record is proved later, when the rule set is bound.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.diagnostics import nearest
from tallystick.numbers.text import fraction
from tallystick.plugins.values import all_of
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick.rules.formula_references import (
    FormulaReference,
    check_circle,
    check_reference,
    formula_of,
    offer,
    references_of,
    refused,
)
from tallystick.rules.model import BUILT_IN_COMPOSITES, RuleSet, SkillTypeRules
from tallystick.rules.section import sections_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from tallystick.formula.formula import Formula
    from tallystick.plugins.registry import Registry
    from tallystick.rules.model import Emission, Factor, Level, Threshold, Tiers
    from tallystick.rules.schema import Declared
    from tallystick.rules.section import Section
    from tallystick.rules.toml import KeyPath

# weights are whole thousandths, which keeps an exact weighted mean affordable
_FINEST_WEIGHT = 1000
VALUES = ("composite", "quality", "tier", "tier_multiplier", "base_weight", "emission")
"""Names of the values of a record that the engine gives and no rule set may take."""
_FACTORS = ("emission", "factors")


TRACKED = "baseline"
"""Name of the tracked baseline among the published thresholds."""
EMISSION_TERMS = ("quality", "base_weight", "tier_multiplier")
"""Names that an emission formula can read beside its factors."""
FACTOR_TERMS = ("base_weight",)
"""Names that a factor formula can read."""


def check(rule_set: RuleSet, declared: Declared, registry: Registry) -> list[Finding]:
    """Return the mistakes of a rule set that follows the schema, or of the sound part of another.

    Args:
        rule_set: the values.
        declared: the names that the document declares.
        registry: the formulas, skill types and requirements of the installed plugins.
    """
    return list(_Checks(rule_set, declared, registry).findings())


@attrs.frozen(slots=False)
class _Checks:
    """The checks of a rule set beside those of its skill types."""

    rule_set: RuleSet
    declared: Declared
    registry: Registry

    @cached_property
    def references(self) -> Mapping[KeyPath, FormulaReference]:
        """The formulas that are named, by the table of their parameters."""
        return {reference.path: reference for reference in references_of(self.rule_set)}

    def formula(self, *path: str) -> Formula | None:
        """Return the formula that a table names, when it exists and is of the right kind."""
        reference = self.references.get(path)
        return None if reference is None else formula_of(reference, self.registry)

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong."""
        yield from _check_names(self.rule_set)
        for reference in self.references.values():
            yield from check_reference(reference, self.registry)
        yield from self._read_values()
        for name, rules in self.rule_set.skill_types.items():
            yield from _SkillTypeCheck(name, rules, self, ("skill_types", name)).findings()
        if self.rule_set.tiers is not None:
            yield from self._tiers(self.rule_set.tiers)
        if self.rule_set.emission is not None:
            yield from self._emission(self.rule_set.emission)
        for section, rules in sections_of(self.rule_set):
            yield from self._section(section, rules)

    def _read_values(self) -> Iterator[Finding]:
        """Yield what is wrong with axes and measures, which others read by their names."""
        reads = {}
        for (section, *names), reference in self.references.items():
            if section not in {"axes", "measures"}:
                continue
            (name,) = names
            formula = formula_of(reference, self.registry)
            reads[str(name)] = formula.reads if formula else ()
            for read in () if formula is None else formula.published:
                # an exact measure is no whole number of nano, which a formula reads as published
                measure = self.rule_set.measures.get(read)
                if measure is not None and measure.exact:
                    reading = f"{shown(reference.formula)}, which reads {read} as published"
                    expected = f'unrounded("{read}"): that measure is exact'
                    yield mistake(reference.key, reading, expected)
        axes = self.rule_set.axes
        yield from check_circle(reads, lambda name: ("axes" if name in axes else "measures",))

    def _section(self, section: Section[Any], rules: object) -> Iterator[Finding]:
        """Yield what a section finds, or else what is wrong with the formulas that it names."""
        found = partial(section.check, rules, self.rule_set, self.declared, self.registry)
        mistakes = section.asked("the check", lambda: all_of(Finding, found()))
        yield from mistakes
        for reference in () if mistakes else section.references(rules):
            yield from check_reference(reference, self.registry)

    def _tiers(self, tiers: Tiers) -> Iterator[Finding]:
        yield from _check_tracked(tiers.thresholds)
        reads = {}
        for name in tiers.thresholds:
            reference = self.references.get(("tiers", "thresholds", name))
            if reference is not None:
                reads[name] = _reads(formula_of(reference, self.registry))
                yield from _check_reads(reference, reads[name], tiers.thresholds)
        yield from check_circle(reads, lambda _: ("tiers", "thresholds"))
        yield from _check_levels(tiers)

    def _emission(self, emission: Emission) -> Iterator[Finding]:
        reference, formula = self.references["emission",], self.formula("emission")
        if formula is not None:
            names = (*EMISSION_TERMS, *emission.factors)
            yield from _check_reads(reference, formula.published, names)
            expected = f"a factor that {emission.formula} reads"
            for name in emission.factors:
                yield from _check_known((*_FACTORS, name), name, formula.published, expected)
            yield from self._tier_needed(formula)
        for name, factor in emission.factors.items():
            yield from self._factor(name, factor)

    def _tier_needed(self, formula: Formula) -> Iterator[Finding]:
        if "tier_multiplier" not in formula.published:
            return
        if "tiers" not in self.declared.sections:
            expected = f"the section [tiers], because {formula.name} reads tier_multiplier"
            yield mistake(("emission", "formula"), shown(formula.name), expected)
        for name, rules in self.rule_set.skill_types.items():
            if rules.base_weight is not None and rules.baseline is None:
                expected = (
                    "a baseline: a type with a base_weight has an emission, which needs its tier"
                )
                yield mistake(("skill_types", name, "baseline"), "", expected)

    def _factor(self, name: str, factor: Factor) -> Iterator[Finding]:
        path = (*_FACTORS, name)
        yield from _check_reads(self.references[path], _reads(self.formula(*path)), FACTOR_TERMS)
        if name in EMISSION_TERMS:
            yield mistake(path, shown(name), "a name that is not a term of every emission")
        for index, skill_type in enumerate(factor.skill_types or ()):
            where = (*path, "skill_types", index)
            rules = self.rule_set.skill_types.get(skill_type)
            known = sorted(self.declared.skill_types)
            yield from _check_known(where, skill_type, known, "a skill type of this rule set")
            if rules is not None and rules.base_weight is None:
                expected = "a skill type with a base_weight: the others have no emission"
                yield mistake(where, shown(skill_type), expected)


def _check_names(rule_set: RuleSet) -> Iterator[Finding]:
    """Yield the values of a record go by their names, in formulas, proofs and differences alike."""
    factors = () if rule_set.emission is None else tuple(rule_set.emission.factors)
    expected = f"a name that no other value of a record has: {', '.join(VALUES)} are taken"
    paths: list[KeyPath] = [
        *(("axes", name) for name in rule_set.axes),
        *(("measures", name) for name in rule_set.measures),
        *((*_FACTORS, name) for name in factors),
    ]
    for path in paths:
        if path[-1] in VALUES:
            yield mistake(path, shown(path[-1]), expected)
        elif path[0] in {"axes", "measures"} and path[-1] in factors:
            yield mistake(path, shown(path[-1]), "a name that no factor of the emission has")
        elif path[0] == "measures" and path[-1] in rule_set.axes:
            yield mistake(path, shown(path[-1]), "a name that no axis has")


@attrs.frozen
class _SkillTypeCheck:
    """The checks of one skill type."""

    name: str
    rules: SkillTypeRules
    checks: _Checks
    path: KeyPath

    def findings(self) -> Iterator[Finding]:
        yield from self._exists()
        yield from self._plugin()
        yield from self._names()
        if self.rules.composite is None:
            yield from self._no_quality()
        elif self.rules.composite in BUILT_IN_COMPOSITES:
            yield from self._weights()
        else:
            yield from self._composite_formula(self.rules.composite)
        yield from self._values_read()
        yield from self._requirements()

    def _exists(self) -> Iterator[Finding]:
        registry = self.checks.registry
        if self.name not in registry.skill_types:
            what = "a skill type of a plugin that the rule set names"
            expected = offer(what, self.name, registry.skill_types, registry)
            yield mistake(self.path, shown(self.name), expected)

    def _names(self) -> Iterator[Finding]:
        """Yield the axes and measures that the rule set does not have, and gates of other axes."""
        rules, declared = self.rules, self.checks.declared
        listed: dict[str, KeyPath] = {axis: ("axes", n) for n, axis in enumerate(rules.axes)}
        weighed: dict[str, KeyPath] = {axis: ("weights", axis) for axis in rules.weights}
        for axis, keys in {**listed, **weighed}.items():
            known = sorted(declared.axes)
            yield from _check_known((*self.path, *keys), axis, known, "an axis of [axes]")
        for index, measure in enumerate(rules.measures):
            path, known = (*self.path, "measures", index), sorted(declared.measures)
            yield from _check_known(path, measure, known, "a measure of [measures]")
        for index, gate in enumerate(rules.gates):
            path = (*self.path, "gates", index, "axis")
            yield from _check_known(path, gate.axis, rules.all_axes, "an axis of the type")

    def _no_quality(self) -> Iterator[Finding]:
        """Refuse keys that need a quality in a type without a composite."""
        rules = self.rules
        made_of_it = {
            "weights": rules.weights,
            "parameters": rules.parameters,
            "gates": rules.gates,
            "base_weight": rules.base_weight,
            "baseline": rules.baseline,
        }
        for key, value in made_of_it.items():
            if value is not None and value not in ({}, ()):
                text = shown(value) if isinstance(value, Decimal) else "a value"
                expected = f"no {key}, or a composite: without one a record has no quality"
                yield mistake((*self.path, key), text, expected)

    def _weights(self) -> Iterator[Finding]:
        path = (*self.path, "weights")
        shares = {axis: Fraction(weight) for axis, weight in self.rules.weights.items()}
        for axis, share in shares.items():
            if _FINEST_WEIGHT % share.denominator:
                yield mistake((*path, axis), fraction(share), "at most three decimal places")
        total = sum(shares.values(), Fraction(0))
        if total != 1:
            text = f"a sum of {fraction(total)}" if shares else ""
            yield mistake(path, text, "weights of the axes that sum to exactly 1")
        for parameter, value in self.rules.parameters.items():
            keys = (*self.path, "parameters", parameter)
            expected = f"no parameters: the composite {self.rules.composite} has none"
            yield mistake(keys, shown(value), expected)

    def _composite_formula(self, name: str) -> Iterator[Finding]:
        if self.rules.weights:
            expected = f"no weights: {name} weighs by its parameters; list the axes in `axes`"
            yield mistake((*self.path, "weights"), "a table", expected)
        formula = self.checks.formula("skill_types", self.name, "parameters")
        if formula is not None:
            yield from self._read_by(name, formula.published, (*self.path, "composite"))

    def _values_read(self) -> Iterator[Finding]:
        for axis in self.rules.all_axes:
            formula = self.checks.formula("axes", axis)
            if formula is not None:
                yield from self._read_by(f"its axis {axis}", formula.reads, self.path)
        for name in self.rules.measures:
            formula = self.checks.formula("measures", name)
            if formula is not None:
                yield from self._read_by_measure(name, formula)

    def _read_by(self, reader: str, names: tuple[str, ...], path: KeyPath) -> Iterator[Finding]:
        for name in names:
            if name not in self.rules.all_axes:
                expected = f"the axis {name} in weights or axes, because {reader} reads it"
                yield mistake(path, f"the axes {one_of(self.rules.all_axes)}", expected)

    def _read_by_measure(self, reader: str, formula: Formula) -> Iterator[Finding]:
        """Yield a measure reads axes and measures of its type, those that every record has."""
        names = {*self.rules.all_axes, *self.rules.measures}
        for name in formula.reads:
            read = self.checks.formula("measures", name)
            if name not in names:
                section = "measures" if name in self.checks.declared.measures else "axes"
                expected = f"{name} in {section}, because its measure {reader} reads it"
                yield mistake(self.path, f"the values {one_of(sorted(names))}", expected)
            elif read is not None and read.applies is not None:
                reading = f"{shown(formula.name)}, which reads {name}"
                expected = "a formula that reads values of every record: this one can be null"
                yield mistake(("measures", reader, "formula"), reading, expected)

    def _plugin(self) -> Iterator[Finding]:
        named = self.rules.plugin
        if named is None:
            return
        plugin = self.checks.registry.plugins.get(named)
        if plugin is None:
            expected = f"the name of an installed plugin{refused(self.checks.registry)}"
            yield mistake((*self.path, "plugin"), shown(named), expected)
        elif self.name not in (types := [kind.name for kind in plugin.skill_types]):
            expected = f"the plugin of {self.name}; {named} has the skill types {one_of(types)}"
            yield mistake((*self.path, "plugin"), shown(named), expected)

    def _requirements(self) -> Iterator[Finding]:
        registry = self.checks.registry
        for index, name in enumerate(self.rules.requires):
            if name not in registry.requirements:
                what = "a requirement of an installed plugin"
                expected = offer(what, name, registry.requirements, registry)
                yield mistake((*self.path, "requires", index), shown(name), expected)


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
    else:
        expected = "a threshold of [tiers.thresholds]"
        yield from _check_known(path, level.threshold, tiers.thresholds, expected)


def _check_known(
    path: KeyPath, name: str, known: Collection[str], expected: str
) -> Iterator[Finding]:
    """Yield the mistake of a name that is none of the known ones, with the nearest, or with all."""
    if name not in known:
        hint = nearest(name, known) or f": {one_of(known)}"
        yield mistake(path, shown(name), f"{expected}{hint}")


def _check_reads(
    reference: FormulaReference, names: Collection[str], known: Collection[str]
) -> Iterator[Finding]:
    for name in names:
        if name not in known:
            expected = f"a formula that reads only {one_of(known)}, or a declaration of {name}"
            reading = f"{shown(reference.formula)}, which reads {name}"
            yield mistake(reference.key, reading, expected)


def _reads(formula: Formula | None) -> tuple[str, ...]:
    return formula.published if formula else ()
