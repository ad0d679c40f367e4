"""Rule sets of a plugin of the tests' own: essays, whose formulas can be sound or not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

import tallystick
from tallystick.plugins.author import (
    UNIT,
    Formula,
    Node,
    Parameters,
    Property,
    SkillType,
    axis,
    cases,
    clip,
    composite,
    count,
    distinct,
    integer,
    number,
    opaque,
    overlap,
    published,
)
from tallystick.plugins.property import Direction
from tallystick.plugins.registry import installed
from tallystick.scoring.scorer import Scorer

SCHEMA = Path(__file__).parents[2] / "plugins" / "essays" / "essay.schema.json"
TOPICS, WANTED = "submission.topics", "task.topics"

words, style, turn = integer("submission.words"), number("checks.style"), integer("round")
shared, wanted = overlap(TOPICS, WANTED), distinct(WANTED)


@opaque("first topic", low=0, high=9)
def first_topic(record: Mapping[str, Any]) -> int:
    """The length of the first topic."""
    topics = record["submission"].get("topics", ())
    return min(9, len(topics[0])) if topics else 0


@axis("sample/coverage@1")
def coverage(_p: Parameters) -> Node:
    """The share of the topics."""
    return cases((wanted == 0, 1), otherwise=shared / wanted)


@axis("sample/style@1")
def styled(_p: Parameters) -> Node:
    """The style."""
    return style


@axis("sample/tally@1")
def tally(_p: Parameters) -> Node:
    """Topics, however often they are said."""
    return clip(count(TOPICS) / 5)


@axis("sample/turns@1")
def turns(_p: Parameters) -> Node:
    """Late rounds are paid more."""
    return cases((turn > 1000, 1), otherwise=style)


@axis("sample/strict@1")
def strict(_p: Parameters) -> Node:
    """The style, but not too much of it."""
    return cases((style > number("checks.style") * 2 - 1, style), otherwise=style)


@axis("sample/modest@1", most=UNIT)
def modest(p: Parameters) -> Node:
    """The style up to a most, then nothing."""
    return cases((style > p.most, 0), otherwise=style)


@axis("sample/hidden@1")
def hidden(_p: Parameters) -> Node:
    """By a fact that only code knows."""
    return first_topic / 9


@composite("sample/difference@1")
def difference(_p: Parameters) -> Node:
    """Less of the second is better."""
    return published("style") * (1 - published("coverage"))


FORMULAS: dict[str, Formula] = {
    formula.name: formula
    for formula in (coverage, styled, tally, turns, strict, modest, hidden, difference)
}

FILE = """
[rule_set]
name = "sample"
version = "1.0.0"
format = 1

[axes.style]
formula = "{style}@1"
{parameters}

[axes.coverage]
formula = "{coverage}@1"

[skill_types.essay]
{composite}
"""
MEAN = 'composite = "{}"\nweights = {{ style = 0.25, coverage = 0.75 }}\n'


def sample(  # noqa: PLR0913  # the parts of a rule set
    folder: Path,
    *,
    style: str = "style",
    parameters: str = "",
    coverage: str = "coverage",
    composite: str = MEAN.format("arithmetic"),
    directions: tuple[Direction, ...] = (),
    properties: tuple[Property, ...] = (),
    further: tuple[Formula, ...] = (),
    schema: Path = SCHEMA,
) -> Scorer:
    """A rule set with these formulas, and these promises of the author."""
    kind = SkillType("essay", schema, directions=directions, properties=properties)
    formulas = FORMULAS | {formula.name: formula for formula in further}
    plugins = attrs.evolve(installed(), skill_types={"essay": kind}, formulas=formulas)
    path = folder / "sample.toml"
    style, coverage = (name if "/" in name else f"sample/{name}" for name in (style, coverage))
    text = FILE.format(style=style, parameters=parameters, coverage=coverage, composite=composite)
    path.write_text(text, encoding="utf-8")
    return tallystick.load(str(path), registry=plugins)


def essay(number: int, words: int = 1, style: float = 0.5, **further: object) -> dict[str, Any]:
    """A record of such an essay."""
    return {
        "skill_type": "essay",
        "task_id": f"t{number}",
        "round": number,
        "epoch": 1,
        "validator": "5V",
        "miner": {"uid": 7, "hotkey": "5M"},
        "role": "primary",
        "task": {"least_words": 0, "most_words": 9, "topics": []},
        "submission": {"words": words, "topics": []},
        "checks": {"style": style},
        **further,
    }
