"""A third party's plugin: essays, with a type, an axis and a rule set."""

from collections.abc import Sequence
from pathlib import Path

from tallystick.plugins.author import (
    Formula,
    Node,
    Parameters,
    SkillType,
    axis,
    cases,
    hookimpl,
    integer,
)

tallystick_api = 1

_HERE = Path(__file__).parent

words, most = integer("submission.words"), integer("task.most_words")


@axis("essays/length@1", symbol="λ")
def length(_p: Parameters) -> Node:
    """How close the number of words is to what was asked for at most."""
    return cases((most < words, most / words), otherwise=1)


@hookimpl
def tallystick_formulas() -> Sequence[Formula]:
    return [length]


@hookimpl
def tallystick_skill_types() -> Sequence[SkillType]:
    return [SkillType(name="essay", schema=_HERE / "essay.schema.json")]


@hookimpl
def tallystick_rule_sets() -> Sequence[Path]:
    return [_HERE / "rules"]
