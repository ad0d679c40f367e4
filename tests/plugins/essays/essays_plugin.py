"""A third party's plugin: essays, with a type, axes, a composite, a threshold and rules."""

from collections.abc import Sequence
from pathlib import Path

from tallystick.plugins.author import (
    UNIT,
    Formula,
    Node,
    Parameters,
    Requirement,
    SkillType,
    axis,
    cases,
    composite,
    distinct,
    emission,
    hookimpl,
    integer,
    label,
    number,
    overlap,
    published,
    require,
    threshold,
)

tallystick_api = 1

_HERE = Path(__file__).parent

words = integer("submission.words")
least, most = integer("task.least_words"), integer("task.most_words")
wanted = distinct("task.topics")

words_in_order = require(
    least < most, "essays/words-in-order", path="task.most_words", expected="more than the least"
)
some_topic = require(
    wanted > 0, "essays/some-topic", path="task.topics", expected="one topic or more"
)


@axis("essays/length@1", symbol="λ")
def length(_p: Parameters) -> Node:
    """How close the number of words is to what was asked for."""
    return cases((words < least, words / least), (most < words, most / words), otherwise=1)


@axis("essays/coverage@1")
def coverage(_p: Parameters) -> Node:
    """The share of the topics that the essay speaks of."""
    return label("covered", overlap("submission.topics", "task.topics")) / wanted


@axis("essays/style@1", gate=UNIT)
def style(p: Parameters) -> Node:
    """The style, of an essay whose length is not far off."""
    return cases((published("length") < p.gate, 0), otherwise=number("checks.style"))


@composite("essays/blend@1", share=UNIT)
def blend(p: Parameters) -> Node:
    """A part for the length, the rest for what is said and how."""
    said = published("coverage") * published("style")
    return p.share * published("length") + (1 - p.share) * said


@threshold("essays/midway@1", within=UNIT, way=UNIT)
def midway(p: Parameters) -> Node:
    """A part of the way from the baseline to 1."""
    baseline = published("baseline")
    return baseline + p.way * (1 - baseline)


@emission("essays/pay@1", within=(0, 100))
def pay(_p: Parameters) -> Node:
    """Quality, weight and tier."""
    return published("quality") * published("base_weight") * published("tier_multiplier")


@hookimpl
def tallystick_formulas() -> Sequence[Formula]:
    return length, coverage, style, blend, midway, pay


@hookimpl
def tallystick_skill_types() -> Sequence[SkillType]:
    schema = _HERE / "essay.schema.json"
    return [SkillType(name="essay", schema=schema, requirements=(words_in_order,))]


@hookimpl
def tallystick_requirements() -> Sequence[Requirement]:
    return [some_topic]


@hookimpl
def tallystick_rule_sets() -> Sequence[Path]:
    return [_HERE / "rules"]
