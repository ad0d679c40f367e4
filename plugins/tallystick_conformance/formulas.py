"""The formulas of a plugin: at the edges of their parameters, and as text.

A rule set proves a formula with the values that it gives. Whoever writes the next one may give any
value in the declared ranges, so each corner of them must be safe too. What an emission, a factor
over the base weight, or a measure over others comes to depends on the rule set, and is left to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice, product

from tallystick.diagnostics import Diagnostic
from tallystick.errors import FormulaError
from tallystick.formula.formula import Formula, Requirement
from tallystick.formula.text import lines, render
from tallystick.formula.tree import Node
from tallystick.plugins.skill_type import SkillType
from tallystick.rules.digest import used_formulas
from tallystick_conformance.claim import UNIT_VALUES, Claim, prove
from tallystick_conformance.counterexample import judged
from tallystick_conformance.loading import Subject
from tallystick_conformance.records import domains_of, facts_of
from tallystick_conformance.report import finding
from tallystick_conformance.rule_sets import readable

CORNERS = 16
"""Maximum number of corners of the ranges that are tried, beside the middle."""
_READS_UNITS = ("axis", "composite", "threshold")

Values = Mapping[str, Fraction]


def check_parameters(subject: Subject) -> Iterator[Diagnostic]:
    """Yield every formula of the plugin that no rule set uses, at the corners of its parameters."""
    used = _used(subject)
    for formula in subject.plugin.formulas:
        if formula.name not in used:
            yield from islice(_of_formula(formula, subject), 1)


def _used(subject: Subject) -> set[str]:
    scorers = subject.scorers.values()
    names = {name for s in scorers for name in used_formulas(s.rule_set)}
    for loaded in readable(subject):
        names |= set(used_formulas(loaded.rule_set))
    return names


def _of_formula(formula: Formula, subject: Subject) -> Iterator[Diagnostic]:
    # a value that is read unrounded is what a rule set says, as is a column of an allocation
    if formula.unrounded or (formula.published and formula.kind not in _READS_UNITS):
        return
    for skill_type in _types(formula, subject):
        for values in corners_of(formula):
            claim = _claim(formula, values, skill_type, subject)
            try:
                prove(claim)
            except FormulaError as error:
                scope = f" for {skill_type.name}" if skill_type else ""
                yield judged(f"{formula.name}{scope}", claim, str(error))


def _types(formula: Formula, subject: Subject) -> Iterator[SkillType | None]:
    """Yield the skill types that have all the facts of a formula; None once if it has no facts."""
    facts = facts_of(formula)
    if not facts:
        yield None
        return
    for name, schema in subject.schemas.items():
        if domains_of(facts, schema) is not None:
            yield subject.registry.skill_types[name]


def _claim(
    formula: Formula, values: Values, skill_type: SkillType | None, subject: Subject
) -> Claim:
    published = dict.fromkeys(formula.published, UNIT_VALUES)
    requirements = () if skill_type is None else _requirements(skill_type, subject)
    return Claim(formula, values, skill_type, requirements, given=published)


def _requirements(skill_type: SkillType, subject: Subject) -> tuple[Requirement, ...]:
    """Return the requirements of the type, and the plugin's: a rule set can ask for them."""
    schema = subject.schemas[skill_type.name]
    offered = (
        requirement
        for requirement in subject.plugin.requirements
        if domains_of(facts_of(requirement), schema) is not None
    )
    return (*skill_type.requirements, *offered)


def corners_of(formula: Formula) -> Iterator[Values]:
    """Values of the parameters: corners of their ranges, then the middle; sums as declared."""
    names, ranges = list(formula.parameters), list(formula.parameters.values())
    for corner in islice(product(*ranges), CORNERS):
        values = dict(zip(names, corner, strict=True))
        if _is_allowed(formula, values):
            yield values
    middle = {name: (low + high) / 2 for name, (low, high) in formula.parameters.items()}
    middle |= dict.fromkeys(formula.sums_to_one, Fraction(1, max(1, len(formula.sums_to_one))))
    if names and _is_allowed(formula, middle):
        yield middle


def _is_allowed(formula: Formula, values: Values) -> bool:
    ranges = formula.parameters.items()
    if not all(low <= values[name] <= high for name, (low, high) in ranges):
        return False
    return not formula.sums_to_one or sum(values[name] for name in formula.sums_to_one) == 1


def check_text(subject: Subject) -> Iterator[Diagnostic]:
    """Formulas and requirements render, as lines of printable text."""
    for formula in subject.plugin.formulas:
        yield from _unreadable(formula.name, formula.tree, _sign(formula))
    for name, tree in subject.trees():
        yield from _unreadable(name, tree)


def _sign(formula: Formula) -> str:
    return formula.symbol or formula.name


def _unreadable(name: str, tree: Node, sign: str | None = None) -> Iterator[Diagnostic]:
    try:
        text_lines = [render(tree)] if sign is None else lines(sign, tree)
    except Exception as error:  # noqa: BLE001  # whatever labels and options lead to
        message = f"found {type(error).__name__}: {error}, expected text"
        yield finding("text-unreadable", name, message)
        return
    odd = next((line for line in text_lines if not line.isprintable()), None)
    if odd is not None:
        message = f"found characters that cannot be shown in {odd!r}, expected plain text"
        yield finding("text-unreadable", name, message)
