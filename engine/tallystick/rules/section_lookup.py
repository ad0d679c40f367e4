"""The sections of rule sets that plugins bring, looked up by name; each is imported when it is.

An installed one that cannot be used is refused by name, with the reason, and the rest work.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from tallystick.errors import PluginError
from tallystick.plugins.entries import (
    ALLOWED,
    SECTIONS,
    Extensions,
    failure,
    is_own,
    of_kind,
)
from tallystick.rules.model import RuleSet
from tallystick.rules.schema import DocumentSchema
from tallystick.rules.section import Section, schema_of, wrong_section

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from tallystick.rules.formula_references import FormulaReference

_Rules = TypeVar("_Rules")
_Answer = TypeVar("_Answer")

CORE = tuple(each.name for each in attrs.fields(RuleSet) if each.name != "sections")
"""The sections that the format has without any plugin."""
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def installed_sections() -> Extensions[Section[Any]]:
    """Return the sections of the installed distributions, each imported when it is named."""
    return _installed(tuple(sys.path), os.environ.get(ALLOWED))


@lru_cache(maxsize=1)
def _installed(_search_path: tuple[str, ...], _allowed: str | None) -> Extensions[Section[Any]]:
    return Extensions.installed(SECTIONS, load_section)


def sections_in(names: Iterable[str]) -> tuple[dict[str, Section[Any]], dict[str, str]]:
    """Return the sections of some names that can be used, and why the others cannot, by name.

    Names of the format itself, and those that no distribution offers, are among neither.
    """
    return installed_sections().loaded({*names} - {*CORE})


def sections_of(rule_set: RuleSet) -> tuple[tuple[Section[Any], Any], ...]:
    """Return the sections that a rule set has, each with its values, in the order of their names.

    Raises:
        RefusedPluginError: one of them cannot be used any more.
    """
    sections = installed_sections()
    return tuple((sections.value(name), own) for name, own in sorted(rule_set.sections.items()))


def document_schema(rule_set: RuleSet) -> DocumentSchema:
    """Return the schema of documents that have the sections of a rule set.

    Raises:
        RefusedPluginError: one of them cannot be used any more.
    """
    return schema_of(tuple(section for section, _ in sections_of(rule_set)))


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


def _check(entry: EntryPoint, section: Section[Any]) -> None:
    if entry.name in CORE:
        raise wrong_section(
            "found the name of a section of the format, expected another: rename it"
        )
    if section.name != entry.name:
        raise wrong_section(
            f"found a section of the name {section.name!r}, expected {entry.name!r}, its entry "
            "point"
        )
    if not _NAME.fullmatch(section.name):
        raise wrong_section(
            f"found the name {section.name!r}, expected lower-case letters, digits and underscores"
        )
    if not attrs.has(section.kind.rules):
        raise wrong_section(f"found {section.kind.rules!r}, expected a class of attrs")
    # the schemas of its own are checked by a test, which spares each run a validator
    if not is_own(entry):
        section.check_schema()


load_section = of_kind(Section, _check)
"""Import the section of an entry point; raises `RefusedPluginError` where it cannot be used."""
