"""The digest of a rule set: what it says and what its formulas mean, not how it is written.

It covers the canonical form (RFC 8785) of the values of the file, with decimals as the shortest
text and defaults left out, and the digests of every formula and requirement that takes part.
Comments, spacing, the order of keys, and 0.5 against 0.50 do not change it; any value does, and so
does any formula. What the schema marks as documentation is left out: no result depends on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallystick import canonical
from tallystick.plugins.registry import namespace
from tallystick.rules.formula_references import references_of
from tallystick.rules.model import RuleSet
from tallystick.rules.section import document_schema, sections_of
from tallystick.rules.structure import table_of

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry


def digest(rule_set: RuleSet, registry: Registry) -> str:
    """``sha256:`` and 64 hexadecimal digits of the canonical form."""
    return canonical.digest(canonical_form(rule_set, registry))


def canonical_form(rule_set: RuleSet, registry: Registry) -> dict[str, Any]:
    """Return the JSON value that a digest covers; the registry has every name of the rule set."""
    types = {name: registry.skill_types[name] for name in rule_set.skill_types}
    named = [registry.requirements[name] for name in used_requirements(rule_set)]
    named_formulas = used_formulas(rule_set)
    schema = document_schema(rule_set)
    return {
        "document": schema.without_documentation(table_of(rule_set)),
        "formulas": {name: registry.formulas[name].digest for name in named_formulas},
        "requirements": {requirement.name: requirement.digest for requirement in named},
        "skill_types": {
            name: {requirement.name: requirement.digest for requirement in skill_type.requirements}
            for name, skill_type in types.items()
        },
    }


def used_formulas(rule_set: RuleSet) -> tuple[str, ...]:
    """Return the names of every formula that the rule set names, each once, in name order."""
    names = {reference.formula for reference in references_of(rule_set)}
    for section, rules in sections_of(rule_set):
        names |= {reference.formula for reference in section.references(rules)}
    return tuple(sorted(names))


def used_plugins(rule_set: RuleSet) -> tuple[str, ...]:
    """Return the names of the plugins that the rule set names, each once, in name order.

    It names the plugin of a formula, a requirement or a skill type by the namespace, and that of a
    skill type by ``plugin`` too. No other is imported to read it or to score by it.
    """
    offers = (
        *used_formulas(rule_set),
        *used_requirements(rule_set),
        *rule_set.skill_types,
    )
    types = rule_set.skill_types.values()
    names = {*map(namespace, offers), *(rules.plugin or "" for rules in types)}
    return tuple(sorted(names - {""}))


def used_requirements(rule_set: RuleSet) -> tuple[str, ...]:
    """Return the names of the requirements that the rule set asks for, each once, in name order."""
    names = {name for rules in rule_set.skill_types.values() for name in rules.requires}
    return tuple(sorted(names))
