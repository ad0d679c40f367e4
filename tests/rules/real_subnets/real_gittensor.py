"""What the score of a pull request of Gittensor needs of a plugin."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from tallystick.plugins.author import (
    UNIT,
    Formula,
    Node,
    Parameters,
    SkillType,
    cases,
    exp,
    hookimpl,
    label,
    maximum,
    measure,
    minimum,
    number,
    places,
)

tallystick_api = 1

_HOURS_OF_A_DAY = 24
_SOME = (Decimal("0.001"), 1_000_000)


@measure(
    "gittensor/base@1",
    within=(0, 10_000),
    quality=(0, 1000),
    scale=(1, 1000),
    bonus=(0, 1000),
    full=(1, 1_000_000),
)
def base(p: Parameters) -> Node:
    """The tokens of the source, which saturate, and a bonus by the score of all files."""
    tokens, score = number("checks.source_token_score"), number("checks.total_score")
    bonus = label("bonus", places(p.bonus * minimum(1, score / p.full), 2))
    return places(p.quality * (1 - exp(-tokens / p.scale)) + bonus, 2)


@measure("gittensor/age@1", within=UNIT, grace=_SOME, midpoint=_SOME, steepness=UNIT, floor=UNIT)
def age(p: Parameters) -> Node:
    """1 within the hours of grace, then a sigmoid of the days, at least the floor."""
    hours = number("checks.hours_since_merge")
    days = hours / _HOURS_OF_A_DAY
    # e^40 leaves nothing above any floor of two places
    decay = 1 / (1 + exp(minimum(40, p.steepness * (days - p.midpoint))))
    return cases((hours < p.grace, 1), otherwise=places(maximum(p.floor, decay), 2))


@hookimpl
def tallystick_formulas() -> Sequence[Formula]:
    """Both."""
    return base, age


@hookimpl
def tallystick_skill_types() -> Sequence[SkillType]:
    """The one type."""
    return [SkillType("gittensor/pull", Path(__file__).parent / "gittensor.schema.json")]
