"""The sections of rule sets that plugins bring, looked up by name; each is imported when it is.

An installed one that cannot be used is refused by name, with the reason, and the rest work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from tallystick.errors import PluginError
from tallystick.plugins.entries import (
    ALLOWED,
    GROUP,
    PROJECT,
    Extensions,
    RefusedPluginError,
    distribution_of,
    failure,
    installed_entries,
)
from tallystick.rules.model import RuleSet
from tallystick.rules.schema import DocumentSchema, check_part, schema_of, wrong_section
from tallystick.rules.section import Section

if TYPE_CHECKING:
    from tallystick.plugins.registry import Plugins, Registry
    from tallystick.rules.formula_references import FormulaReference

_Rules = TypeVar("_Rules")
_Answer = TypeVar("_Answer")

CORE = tuple(each.name for each in attrs.fields(RuleSet) if each.name != "sections")
"""The sections that the format has without any plugin."""
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def section_of(name: str, sections: Extensions[object]) -> Section[Any] | None:
    """Return the section of a name; None where no distribution offers one.

    Raises:
        RefusedPluginError: the section of the name cannot be used.
    """
    if name in CORE:
        return None
    try:
        value = sections.value(name)
    except KeyError:
        if sections.is_installed(name):
            raise RefusedPluginError("not-allowed", f"{ALLOWED} does not name it") from None
        return None
    return _sound(name, value, sections)


def sections_in(
    names: Iterable[str], sections: Extensions[object]
) -> tuple[dict[str, Section[Any]], dict[str, str]]:
    """Return the sections of some names that can be used, and why the others cannot, by name.

    Names of the format itself, and those that no distribution offers, are among neither.
    """
    usable, refused = dict[str, Section[Any]](), dict[str, str]()
    for name in names:
        try:
            section = section_of(name, sections)
        except RefusedPluginError as error:
            refused[name] = str(error)
            continue
        if section is not None:
            usable[name] = section
    return usable, refused


def refused_sections(sections: Extensions[object]) -> Mapping[str, str]:
    """Return why sections that distributions offer are not used, by name; each is imported."""
    _, taken = sections.loaded()
    _, refused = sections_in(sections.names(), sections)
    core = "found the name of a section of the format, expected another: rename it"
    return taken | refused | {name: core for name in sections.names() if name in CORE}


def sections_of(rule_set: RuleSet, plugins: Plugins) -> tuple[tuple[Section[Any], Any], ...]:
    """Return the sections that a rule set has, each with its values, in the order of their names.

    Raises:
        RefusedPluginError: one of them cannot be used any more.
    """
    pairs = ((section_of(name, plugins.sections), v) for name, v in rule_set.sections.items())
    named = ((section, value) for section, value in pairs if section is not None)
    return tuple(sorted(named, key=lambda pair: pair[0].name))


def owners(name: str, sections: Extensions[object]) -> tuple[str, ...]:
    """Return the plugins of the stranger whose distribution offers a section, in name order.

    A section of the engine's own distribution belongs to the engine.
    """
    distribution = distribution_of(sections.entry(name))
    if distribution == PROJECT:
        return ()
    every = installed_entries(GROUP)
    return tuple(sorted({e.name for e in every if distribution_of(e) == distribution}))


def owner_refusal(name: str, sections: Extensions[object], registry: Registry) -> str:
    """Return why no plugin of the distribution that offers a section is used; empty where one is.

    Args:
        name: of the section.
        sections: where it is found.
        registry: of the plugins that own it.
    """
    names, distribution = owners(name, sections), distribution_of(sections.entry(name))
    used = (registry.plugins[owner_name] for owner_name in names if owner_name in registry.plugins)
    if not names or any(plugin.distribution == distribution for plugin in used):
        return ""
    reasons = (
        f"{owner_name}: {why}" for owner_name in names if (why := registry.refused.get(owner_name))
    )
    return "; ".join(reasons) or "its name is that of another distribution"


def document_schema(rule_set: RuleSet, plugins: Plugins) -> DocumentSchema:
    """Return the schema of documents that have the sections of a rule set.

    Raises:
        RefusedPluginError: one of them cannot be used any more.
    """
    return schema_of(tuple(section.part for section, _ in sections_of(rule_set, plugins)))


def formulas_of(section: Section[_Rules], rules: _Rules) -> tuple[FormulaReference, ...]:
    """Return the formulas that the values of a section name.

    Raises:
        PluginError: the section's own code failed.
    """
    return asked(section, "the answer for formulas", lambda: tuple(section.formulas(rules)))


def asked(section: Section[Any], what: str, answer: Callable[[], _Answer]) -> _Answer:
    """Return the answer of a section's own code.

    Raises:
        PluginError: the code failed.
    """
    try:
        return answer()
    except Exception as error:
        if isinstance(error, PluginError):
            raise
        raise PluginError(
            f"{what} of the section [{section.name}] failed: {failure(error)}"
        ) from error


def _sound(name: str, found: object, sections: Extensions[object]) -> Section[Any]:
    if not isinstance(found, Section):
        raise RefusedPluginError("wrong-kind", f"found {found!r}, expected a Section")
    if found.name != name:
        raise wrong_section(
            f"found a section of the name {found.name!r}, expected {name!r}, its entry point"
        )
    if not _NAME.fullmatch(name):
        raise wrong_section(
            f"found the name {name!r}, expected lower-case letters, digits and underscores"
        )
    if not attrs.has(found.kind.rules):
        raise wrong_section(f"found {found.kind.rules!r}, expected a class of attrs")
    distribution = distribution_of(sections.entry(name))
    if distribution == PROJECT:
        return found  # its part is checked by a test, which spares each run a validator
    check_part(found.part)
    if not owners(name, sections):
        raise RefusedPluginError(
            "no-plugin",
            f"found no plugin in the distribution {distribution!r}, expected one in the "
            f"group {GROUP}: a receipt and a lock name the code of plugins",
        )
    return found
