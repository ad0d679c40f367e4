"""The entry point: what this plugin offers."""

from collections.abc import Sequence
from pathlib import Path

from tallystick.plugins.author import Formula, Requirement, SkillType, formulas_in, hookimpl
from tallystick.resources import folder
from tallystick_workflow import axes
from tallystick_workflow.generation import GENERATOR
from tallystick_workflow.properties import DIRECTIONS, PROPERTIES

tallystick_api = 1

_HERE = Path(__file__).parent


_SKILL_TYPES = [
    SkillType(
        name="workflow",
        schema=_HERE / "schemas" / "workflow.schema.json",
        summary="A workflow run against a budget and a time limit",
        requirements=(axes.completed_within_total,),
        examples=_HERE / "examples.jsonl",
        generator=GENERATOR,
        directions=DIRECTIONS,
        properties=PROPERTIES,
        # it has no emission: its rows have the columns of the other types of the subnet
        factors=("early_bonus", "role_multiplier", "consensus", "bootstrap_bonus"),
    )
]


@hookimpl
def tallystick_formulas() -> Sequence[Formula]:
    """The dimensions of S, in every version."""
    return formulas_in(axes)


@hookimpl
def tallystick_skill_types() -> Sequence[SkillType]:
    """The workflow type."""
    return _SKILL_TYPES


@hookimpl
def tallystick_requirements() -> Sequence[Requirement]:
    """Requirements that a rule set may ask for (E46)."""
    return [axes.budget_positive, axes.latency_limit_positive]


@hookimpl
def tallystick_rule_sets() -> Sequence[Path]:
    """The folder of the rule sets that ship with the engine; those of its name are its own."""
    return [folder("rules")]
