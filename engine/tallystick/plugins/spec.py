"""The hooks: everything that a plugin can offer.

A plugin is a module that has ``tallystick_api = 1`` and functions of these names, marked with
``hookimpl``. It is found through an entry point of the group ``tallystick.plugins``. Every hook is
optional, is called once, and must give the same answer each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pluggy

from tallystick.formula.formula import Formula, Requirement
from tallystick.plugins.entries import PROJECT
from tallystick.plugins.skill_type import SkillType
from tallystick.plugins.strategy import Strategy

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def tallystick_formulas() -> Sequence[Formula]:  # type: ignore[empty-body]  # a specification
    """Formulas that rule sets may name: axes, composites, factors, emissions, thresholds."""


@hookspec
def tallystick_skill_types() -> Sequence[SkillType]:  # type: ignore[empty-body]  # a specification
    """Skill types: each with its record schema, its requirements and its examples."""


@hookspec
def tallystick_requirements() -> Sequence[Requirement]:  # type: ignore[empty-body]  # a specification
    """Requirements on records that a rule set may ask for by name."""


@hookspec
def tallystick_rule_sets() -> Sequence[Path]:  # type: ignore[empty-body]  # a specification
    """Folders of rule sets, laid out as ``NAME/VERSION.toml``."""


@hookspec
def tallystick_strategies() -> Sequence[Strategy]:  # type: ignore[empty-body]  # a specification
    """Strategies of miners, by which simulations try rule sets."""
