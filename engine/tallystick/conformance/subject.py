"""The subject of a check: one plugin, with everything that its checks look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

import attrs

from tallystick.errors import SchemaError
from tallystick.formula.formula import Requirement
from tallystick.formula.schema_path import Schema
from tallystick.formula.tree import Node, leaves
from tallystick.plugins.registry import Plugin, Registry
from tallystick.records.schema import load_schema
from tallystick.scoring.scorer import Scorer


@attrs.frozen(eq=False, slots=False)
class Subject:
    """One plugin under test.

    Attributes:
        plugin: what it offers.
        registry: the plugin and all others that are installed.
        folder: where its module is.
        scorers: by reference, the rule sets that load and that it ships, or that score one of its
            skill types or use one of its formulas.
        touched: what its import left changed in the process.
    """

    plugin: Plugin
    registry: Registry
    folder: Path
    scorers: Mapping[str, Scorer] = attrs.field(factory=dict)
    touched: tuple[str, ...] = ()

    @cached_property
    def schemas(self) -> Mapping[str, Schema]:
        """The record schemas of every known skill type that can be used, by type."""
        found = {}
        for name, skill_type in self.registry.skill_types.items():
            try:
                found[name] = load_schema(skill_type.schema)
            except SchemaError:
                continue
        return found

    def trees(self) -> Iterator[tuple[str, Node]]:
        """Every tree of the plugin over facts, with the name of what it belongs to."""
        for formula in self.plugin.formulas:
            yield formula.name, formula.tree
            if formula.applies is not None:
                yield formula.name, formula.applies
        for requirement in self.requirements():
            yield requirement.name, requirement.condition

    def requirements(self) -> Iterator[Requirement]:
        """Every requirement of the plugin: those of its skill types, and those that it offers."""
        every = [r for skill_type in self.plugin.skill_types for r in skill_type.requirements]
        yield from {id(r): r for r in (*every, *self.plugin.requirements)}.values()

    @property
    def has_opaque_facts(self) -> bool:
        """Whether a formula or a requirement of the plugin reads a fact that is code."""
        facts = (fact for _, tree in self.trees() for fact in leaves(tree, "fact"))
        return any(fact.function is not None for fact in facts)
