"""Rule sets as values of documents, with the sections of installed plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from tallystick.rules.model import RuleSet, SectionKind
from tallystick.rules.section import sections_in
from tallystick.rules.structure import structure


def rule_set_of(data: Mapping[str, Any]) -> RuleSet:
    sections, _ = sections_in(data)
    return structure(data, sections.values())


def with_section(rule_set: RuleSet, kind: SectionKind[Any], value: object) -> RuleSet:
    """The rule set with other values of a section; None leaves the section out."""
    others = {name: own for name, own in rule_set.sections.items() if name != kind.name}
    own = {} if value is None else {kind.name: value}
    return attrs.evolve(rule_set, sections=dict(sorted({**others, **own}.items())))
