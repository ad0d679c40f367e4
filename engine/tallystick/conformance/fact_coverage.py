"""Facts: every formula and requirement of a plugin can read its facts from some record."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tallystick.conformance.codes import finding
from tallystick.conformance.subject import Subject
from tallystick.diagnostics import Diagnostic
from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain, domain_of
from tallystick.formula.formula import Formula, Requirement
from tallystick.formula.schema_path import Schema
from tallystick.formula.text import fact_text
from tallystick.formula.tree import Node, leaves
from tallystick.scoring.binding import narrow

_WITHOUT_BOUNDS = re.compile(r"found no (minimum|maximum|maxItems|maxProperties) at")


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Each formula has a skill type with all of its facts; each type has those it requires."""
    if any(own.name not in subject.schemas for own in subject.plugin.skill_types):
        return  # what is missing may be in the schema that cannot be used
    for formula in subject.plugin.formulas:
        yield from _check(subject, formula.name, facts_of(formula), list(subject.schemas))
    for skill_type in subject.plugin.skill_types:
        for requirement in skill_type.requirements:
            yield from _check(subject, requirement.name, facts_of(requirement), [skill_type.name])
    for requirement in subject.plugin.requirements:
        yield from _check(subject, requirement.name, facts_of(requirement), list(subject.schemas))


def _check(
    subject: Subject, name: str, facts: Sequence[Node], types: Sequence[str]
) -> Iterator[Diagnostic]:
    lacking = {each: list(_lacking(facts, subject.schemas[each])) for each in types}
    if not facts or not all(lacking.values()):
        return
    ours = [skill_type.name for skill_type in subject.plugin.skill_types]
    nearest = min(lacking, key=lambda each: (len(lacking[each]), each not in ours), default=None)
    for fact, reason in lacking.get(nearest or "", ()):
        if not is_without_bounds(reason):
            message = f"{reason} (in {nearest}, the skill type that comes nearest)"
            yield finding("fact-unreachable", name, message, {"fact": fact_text(fact)})


def is_without_bounds(reason: str) -> bool:
    """Whether a fact is refused because its schema has no bounds, which ``closure`` reports."""
    return _WITHOUT_BOUNDS.match(reason) is not None


def has_all(facts: Sequence[Node], subject: Subject) -> bool:
    """Whether a skill type has all of the facts."""
    return any(domains_of(facts, schema) is not None for schema in subject.schemas.values())


def _lacking(facts: Sequence[Node], schema: Schema) -> Iterator[tuple[Node, str]]:
    for fact in facts:
        try:
            narrow(fact, domain_of(fact, schema))
        except FormulaError as error:
            yield fact, str(error)


def facts_of(what: Formula | Requirement) -> list[Node]:
    """The facts that a formula or a requirement reads, each once."""
    trees = [what.condition] if isinstance(what, Requirement) else [what.tree, what.applies]
    found = [fact for tree in trees if tree is not None for fact in leaves(tree, "fact")]
    return list({fact.digest: fact for fact in found}.values())


def domains_of(facts: Sequence[Node], schema: Schema) -> dict[str, Domain] | None:
    """The range of each fact by its digest; None if the schema lacks one."""
    try:
        return {fact.digest: narrow(fact, domain_of(fact, schema)) for fact in facts}
    except FormulaError:
        return None
