"""A small plugin in memory: memos, with whatever formulas and facts a test gives it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conformance.broken import SCHEMA, closed

from tallystick.formula.formula import Formula
from tallystick.formula.tree import Node
from tallystick.plugins.author import SkillType, axis, clip, composite, number, published, require
from tallystick.plugins.registry import Plugin, Registry
from tallystick.scoring.scorer import Scorer, load
from tallystick_conformance.loading import Subject
from tallystick_conformance.testing.samples import of_type

least, most = number("task.least"), number("task.most")
in_order = require(least < most, "in-order", path="task.most", expected="more than the least")


@axis("memo/style@1")
def style(_p: object) -> Node:
    """The style, less what is long."""
    return clip((number("checks.style") - least / most) / 3 + number("checks.note", missing=0))


@axis("memo/square@1")
def square(_p: object) -> Node:
    """The square of the style."""
    return published("style") * published("style")


@composite("memo/blend@1")
def blend(_p: object) -> Node:
    """A third and two thirds."""
    return (published("style") + 2 * published("square")) / 3


RULES = """
[rule_set]
name = "memos"
version = "1.0.0"
format = 1
[axes.style]
formula = "memo/style@1"
[axes.square]
formula = "memo/square@1"
{axes}
[skill_types.memo]
composite = "memo/blend@1"
axes = ["style", "square"{names}]
"""


def schema_of() -> dict[str, Any]:
    """The schema of memos: that of parcels with other parts."""
    unit = {"type": "number", "minimum": 0, "maximum": 1}
    limit = {"type": "number", "minimum": 0, "maximum": 10}
    answer = {
        "text": {"type": "string", "maxLength": 4000},
        "words": {"type": "array", "maxItems": 600, "items": {"type": "string", "maxLength": 9}},
        "score": {"type": "integer", "minimum": 0, "maximum": 100},
        "kind": {"enum": ["short", "long", "none"]},
    }
    parts = {
        "skill_type": {"const": "memo"},
        "task": closed(["least", "most"], least=limit, most=limit),
        "submission": closed([*answer], **answer),
        "checks": closed(["style"], style=unit, note={"anyOf": [unit, {"type": "null"}]}),
    }
    return {**SCHEMA, "$id": "memo.schema.json", "properties": SCHEMA["properties"] | parts}


def skill_type(folder: Path) -> SkillType:
    """The skill type, with its schema in a folder."""
    path = folder / "memo.schema.json"
    path.write_text(json.dumps(schema_of()))
    return SkillType(name="memo", schema=path, requirements=(in_order,))


def of_fact(fact: Node) -> Formula:
    """An axis that reads one fact."""
    return axis("memo/odd@1")(lambda _p: clip(fact))


def subject_of(kind: SkillType, *facts: Node, scored: bool = False) -> Subject:
    """The plugin, with an axis for a fact; with a scorer of its rule set if that is asked."""
    formulas, folder = (style, square, blend, *map(of_fact, facts)), kind.schema.parent
    plugin = Plugin("memos", "memos", "1.0", formulas, (kind,), (), ())
    registry = Registry(
        {"memos": plugin}, {}, {f.name: f for f in formulas}, {kind.name: kind}, {}, ()
    )
    scorers: Mapping[str, Scorer] = {}
    if scored:
        axes = '[axes.odd]\nformula = "memo/odd@1"' if facts else ""
        rules = folder / "memos.toml"
        rules.write_text(RULES.format(axes=axes, names=', "odd"' if facts else ""))
        scorers = {"memos@1.0.0": load(str(rules), registry=registry)}
    return Subject(plugin, registry, folder, scorers)


def thin(monkeypatch: pytest.MonkeyPatch, *modules: ModuleType, step: int = 8) -> None:
    """Let modules of the kit take every eighth sample alone, or fewer or more."""
    for module in modules:
        monkeypatch.setattr(module, "of_type", lambda *asked: of_type(*asked)[::step])


Function = Callable[[Mapping[str, Any]], int]
