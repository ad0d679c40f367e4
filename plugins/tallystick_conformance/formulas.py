"""The formulas of a plugin: at the edges of their parameters, and as text.

A rule set proves a formula with the values that it gives. Whoever writes the next one may give any
value in the declared ranges, so each corner of them must be safe too. What an emission, a factor
over the base weight, or a measure over others comes to depends on the rule set, and is left to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice, product

from tallystick.diagnostics import Diagnostic
from tallystick.formula.domain import Domain
from tallystick.formula.formula import Formula, Requirement
from tallystick.formula.text import lines, render
from tallystick.formula.tree import Node, bind, names
from tallystick.plugins.skill_type import SkillType
from tallystick.records.schema import load_schema
from tallystick.rules.digest import used_formulas
from tallystick.scoring.binding import UNIT, UnprovedError, proved
from tallystick.scoring.compiled import unproved
from tallystick.scoring.value import Value
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
            requirements = () if skill_type is None else _requirements(skill_type, subject)
            try:
                _prove(formula, values, skill_type, requirements)
            except UnprovedError as error:
                scope = f" for {skill_type.name}" if skill_type else ""
                yield judged(f"{formula.name}{scope}", error, skill_type, requirements)


def _types(formula: Formula, subject: Subject) -> Iterator[SkillType | None]:
    """Yield the skill types that have all the facts of a formula; None once if it has no facts."""
    facts = facts_of(formula)
    if not facts:
        yield None
        return
    for name, schema in subject.schemas.items():
        if domains_of(facts, schema) is not None:
            yield subject.registry.skill_types[name]


def _prove(
    formula: Formula,
    parameters: Values,
    skill_type: SkillType | None,
    requirements: Sequence[Requirement],
) -> None:
    """Prove a formula with given parameters; whatever it reads is from 0 to 1.

    Raises:
        UnprovedError: it cannot be proved.
    """
    tree = bind(formula.tree, parameters)
    inputs = tuple(Value.within(name, "axis", UNIT) for name in names(tree, "published"))
    published = {each.name: each.domain for each in inputs}
    facts = [*facts_of(formula), *(fact for each in requirements for fact in facts_of(each))]
    domains: Mapping[str, Domain] = {}
    if skill_type is not None:
        domains = domains_of(facts, load_schema(skill_type.schema)) or {}
    compiled = unproved(tree, domains, published, [each.condition for each in requirements])
    applies = None if formula.applies is None else unproved(formula.applies, domains, {})
    value = Value(formula.name, formula.kind, inputs, tree, compiled, formula, applies)
    proved(value, parameters)


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
