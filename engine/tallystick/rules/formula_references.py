"""The formulas that a rule set names: their kinds, their parameters, and circles among them."""

from __future__ import annotations

from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

import attrs

from tallystick.diagnostics import nearest
from tallystick.numbers.text import fraction
from tallystick.plugins.entries import damaged_distributions
from tallystick.plugins.registry import namespace
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick.rules.model import BUILT_IN_COMPOSITES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from decimal import Decimal

    from tallystick.formula.formula import Formula, FormulaKind
    from tallystick.plugins.registry import Registry
    from tallystick.rules.model import RuleSet
    from tallystick.rules.toml import KeyPath


@attrs.frozen
class FormulaReference:
    """A formula that a rule set names, and where.

    Attributes:
        path: the table that the parameters are in.
        key: the path of the formula's name.
        formula: the name.
        kind: the kind of formula that belongs here.
        parameters: the values that the table gives.
    """

    path: KeyPath
    key: KeyPath
    formula: str
    kind: FormulaKind
    parameters: Mapping[str, Decimal]

    @classmethod
    def at(
        cls, path: KeyPath, formula: str, kind: FormulaKind, parameters: Mapping[str, Decimal]
    ) -> FormulaReference:
        """Return the reference of a table that names its formula by the key ``formula``."""
        return cls(path, (*path, "formula"), formula, kind, parameters)


def references_of(rule_set: RuleSet) -> Iterator[FormulaReference]:
    """Yield the formulas that a rule set names outside the sections of plugins, and where."""
    for name, axis in rule_set.axes.items():
        yield FormulaReference.at(("axes", name), axis.formula, "axis", axis.parameters)
    for name, measure in rule_set.measures.items():
        path: KeyPath = ("measures", name)
        yield FormulaReference.at(path, measure.formula, "measure", measure.parameters)
    for name, rules in rule_set.skill_types.items():
        path = ("skill_types", name)
        if rules.composite is not None and rules.composite not in BUILT_IN_COMPOSITES:
            own, key = (*path, "parameters"), (*path, "composite")
            yield FormulaReference(own, key, rules.composite, "composite", rules.parameters)
    tiers, emission = rule_set.tiers, rule_set.emission
    for name, threshold in () if tiers is None else tiers.thresholds.items():
        if threshold.formula is not None:
            path = ("tiers", "thresholds", name)
            yield FormulaReference.at(path, threshold.formula, "threshold", threshold.parameters)
    if emission is not None:
        yield FormulaReference.at(("emission",), emission.formula, "emission", emission.parameters)
        for name, factor in emission.factors.items():
            path = ("emission", "factors", name)
            yield FormulaReference.at(path, factor.formula, "factor", factor.parameters)


def check_reference(reference: FormulaReference, registry: Registry) -> Iterator[Finding]:
    """Yield the mistakes in a reference to a formula."""
    formula = formula_of(reference, registry)
    if formula is not None:
        yield from _check_parameters(reference, formula)
        return
    other = registry.formulas.get(reference.formula)
    names = sorted(name for name, f in registry.formulas.items() if f.kind == reference.kind)
    if other is None:
        what = f"the {reference.kind} formula of an installed plugin"
        expected = offer(what, reference.formula, names, registry)
    else:
        expected = f"a formula of the kind {reference.kind}, not {other.kind}: {one_of(names)}"
    yield mistake(reference.key, shown(reference.formula), expected)


def formula_of(reference: FormulaReference, registry: Registry) -> Formula | None:
    """Return the formula, when it exists and is of the right kind."""
    formula = registry.formulas.get(reference.formula)
    return formula if formula is not None and formula.kind == reference.kind else None


def refused(registry: Registry) -> str:
    """Return the refused plugins with their reasons, as the end of a message; often nothing."""
    reasons = (f"; the plugin {name} is refused: {why}" for name, why in registry.refused.items())
    return "".join(sorted(reasons))


def offer(what: str, name: str, names: Iterable[str], registry: Registry) -> str:
    """Return the expectation of one of the names that plugins offer, where ``name`` is none."""
    known = sorted(names)
    hint, plugin, no_plugin = nearest(name, known) or f": {one_of(known)}", namespace(name), ""
    if plugin and plugin not in registry.plugins and plugin not in registry.refused:
        damaged = "".join(f"; {name}: {why}" for name, why in damaged_distributions().items())
        no_plugin = f"; no plugin {plugin} is installed{damaged}"
    return f"{what}{hint}{no_plugin}{refused(registry)}"


def find_cycle(reads: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """A chain of names, each reading the next, that ends where it began; empty when there is none.

    Args:
        reads: the names that each name reads; names that are no keys read nothing.
    """
    try:
        TopologicalSorter(reads).prepare()
    except CycleError as error:
        return tuple(reversed(error.args[1]))
    return ()


def check_circle(
    reads: Mapping[str, Iterable[str]], path_of: Callable[[str], KeyPath]
) -> Iterator[Finding]:
    """Yield the mistake of names that read themselves in a circle, at the first of them.

    Args:
        reads: as of `find_cycle`.
        path_of: the table in which a name stands.
    """
    circle = find_cycle(reads)
    if circle:
        path = path_of(circle[0])
        expected = f"{path[-1]} that do not read themselves in a circle"
        yield mistake((*path, circle[0]), " → ".join(circle), expected)


def _check_parameters(reference: FormulaReference, formula: Formula) -> Iterator[Finding]:
    for name, bounds in formula.parameters.items():
        if name not in reference.parameters:
            yield mistake(
                (*reference.path, name), "", f"{_range(bounds)}, a parameter that is missing"
            )
    for name, value in reference.parameters.items():
        if name not in formula.parameters:
            hint = nearest(name, formula.parameters) or f": {one_of(formula.parameters)}"
            yield mistake(
                (*reference.path, name), shown(value), f"a parameter of {reference.formula}{hint}"
            )
        else:
            low, high = formula.parameters[name]
            if not low <= Fraction(value) <= high:
                yield mistake((*reference.path, name), shown(value), _range((low, high)))
    yield from _check_sum(reference, formula)


def _check_sum(reference: FormulaReference, formula: Formula) -> Iterator[Finding]:
    if not formula.sums_to_one or not set(formula.sums_to_one) <= set(reference.parameters):
        return
    total = sum((Fraction(reference.parameters[name]) for name in formula.sums_to_one), Fraction(0))
    if total != 1:
        names = one_of(formula.sums_to_one)
        yield mistake(
            reference.path, f"a sum of {fraction(total)}", f"a sum of exactly 1 of {names}"
        )


def _range(bounds: tuple[Fraction, Fraction]) -> str:
    return f"a number from {shown(bounds[0])} to {shown(bounds[1])}"
