"""The plugin of C-SWON's rules, with made-up tasks: who does well has a high score."""

from collections.abc import Mapping, Sequence
from typing import Any

import real_cswon

from tallystick.plugins.author import (
    Draw,
    Formula,
    Generator,
    SkillType,
    hookimpl,
    more_is_better,
    number,
)

tallystick_api = 1


def checks(
    draw: Draw, _task: Mapping[str, Any], _submission: Mapping[str, Any]
) -> Mapping[str, Any]:
    """A score near the skill of the miner."""
    return {"score": draw.near(draw.skill / 100, 0.05)}


@hookimpl
def tallystick_formulas() -> Sequence[Formula]:
    """Those of the plugin."""
    return real_cswon.tallystick_formulas()


@hookimpl
def tallystick_skill_types() -> Sequence[SkillType]:
    """Its type, with a generator and the direction of its one number."""
    (bare,) = real_cswon.tallystick_skill_types()
    generator = Generator(lambda _: {}, lambda _draw, _task: {}, checks)
    directions = (more_is_better(number("checks.score")),)
    return [SkillType(bare.name, bare.schema, generator=generator, directions=directions)]
