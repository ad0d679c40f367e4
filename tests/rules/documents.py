"""Rule sets as values of documents, with the sections of installed plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallystick.plugins.registry import installed_plugins
from tallystick.rules.model import RuleSet
from tallystick.rules.section_lookup import sections_in
from tallystick.rules.structure import structure


def rule_set_of(data: Mapping[str, Any]) -> RuleSet:
    return structure(data, sections_in(data, installed_plugins()).values())
