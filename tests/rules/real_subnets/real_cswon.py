"""What the weights of C-SWON need of a plugin: the score of a task, and its warm-up."""

from collections.abc import Sequence
from pathlib import Path

from tallystick.plugins.author import (
    UNIT,
    Formula,
    Node,
    Parameters,
    SkillType,
    cases,
    hookimpl,
    measure,
    minimum,
    number,
    published,
)

tallystick_api = 1


@measure("cswon/score@1", within=UNIT)
def score(_p: Parameters) -> Node:
    """The score of a task, as given."""
    return number("checks.score")


@measure("cswon/immune@1", within=UNIT, tasks=(1, 1000))
def immune(p: Parameters) -> Node:
    """The mean, less while a miner is immune and has few tasks."""
    seen, mean = published("seen"), published("raw")
    is_new = (published("miner.immune") > 0) & (seen < p.tasks)
    return cases((is_new, mean * minimum(1, seen / p.tasks)), otherwise=mean)


@hookimpl
def tallystick_formulas() -> Sequence[Formula]:
    """Both."""
    return score, immune


@hookimpl
def tallystick_skill_types() -> Sequence[SkillType]:
    """The one type."""
    return [SkillType("cswon/task", Path(__file__).parent / "cswon.schema.json")]
