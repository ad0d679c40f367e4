"""The entry point: what this plugin offers."""

from collections.abc import Sequence
from pathlib import Path

from tallystick.plugins.author import Formula, Requirement, SkillType, formulas_in, hookimpl
from tallystick.resources import folder
from tallystick_reward import axes
from tallystick_reward.generation import GENERATOR
from tallystick_reward.properties import DIRECTIONS

tallystick_api = 1

_HERE = Path(__file__).parent


_SKILL_TYPES = [
    SkillType(
        name="reward",
        schema=_HERE / "schemas" / "reward.schema.json",
        summary="One number a miner and task, as reward() of the subnet template gives it",
        examples=_HERE / "examples.jsonl",
        generator=GENERATOR,
        directions=DIRECTIONS,
    )
]


@hookimpl
def tallystick_formulas() -> Sequence[Formula]:
    """The reward on a scale, and what is left of limits."""
    return formulas_in(axes)


@hookimpl
def tallystick_skill_types() -> Sequence[SkillType]:
    """The one type."""
    return _SKILL_TYPES


@hookimpl
def tallystick_requirements() -> Sequence[Requirement]:
    """The range that a rule set may ask for."""
    return [axes.at_most_one]


@hookimpl
def tallystick_rule_sets() -> Sequence[Path]:
    """The folder of the rule sets that ship with the engine: those of its name, and of two more."""
    rules = folder("rules")
    return [rules, rules / "king", rules / "ladder"]
