"""A plugin in memory whose records have measures: parcels that are carried, by track."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs

import tallystick
from tallystick.plugins.author import (
    UNIT,
    Formula,
    Node,
    Parameters,
    SkillType,
    axis,
    cases,
    clip,
    given,
    integer,
    measure,
    number,
    published,
    unrounded,
)
from tallystick.plugins.property import Direction
from tallystick.plugins.registry import installed
from tallystick.resources import schema_path
from tallystick.scoring.scorer import Scorer

sent, lost = integer("submission.sent"), integer("submission.lost")
weight = number("submission.weight")


@axis("parcels/care@1")
def care(_p: Parameters) -> Node:
    """The care."""
    return number("checks.care")


@measure("parcels/precision@1", within=UNIT)
def precision(_p: Parameters) -> Node:
    """The share that arrived."""
    return cases((sent + lost == 0, 1), otherwise=clip(sent / (sent + lost)))


@measure("parcels/recall@1", within=(0, 500), factor=(0, 10))
def recall(p: Parameters) -> Node:
    """A multiple of the share that arrived, before that is published."""
    return p.factor * unrounded("precision")


@measure("parcels/rounded@1", within=(0, 500), factor=(0, 10))
def rounded(p: Parameters) -> Node:
    """The same of the share as it is published."""
    return p.factor * published("precision")


@measure("parcels/units@1", within=(-100, 2_000_000), rate=(0, 2))
def units(p: Parameters) -> Node:
    """The weight, by care, less what was lost."""
    return weight * p.rate * published("care") - lost


@measure("parcels/delay@1", within=(0, 1000), applies=given("submission.delay"))
def delay(_p: Parameters) -> Node:
    """The delay, where there was one."""
    return number("submission.delay", missing=0)


FORMULAS = (care, precision, recall, rounded, units, delay)

HEAD = """
[rule_set]
name = "parcels"
version = "1.0.0"
format = 1
"""
AXES = """
[axes.care]
formula = "parcels/care@1"
"""
MEASURES = """
[measures.precision]
formula = "parcels/precision@1"
exact = true

[measures.recall]
formula = "parcels/recall@1"
factor = 2

[measures.units]
formula = "parcels/units@1"
rate = 0.5

[measures.delay]
formula = "parcels/delay@1"
"""
TYPE = """
[skill_types.parcel]
measures = ["units", "precision", "recall", "delay"]
axes = ["care"]
"""
GROUPS = """
[allocation]
group = "track"
groups = { slow = 0.25, fast = 0.75 }
steps = [
  { name = "sums", do = "collect", value = "units", as = "sum", empty = 0 },
  { name = "parts", do = "share", of = "sums", zero = "zero" },
  { name = "weight", do = "pools", of = "parts", publish = true },
]
"""
PAIR = """
[skill_types.parcel]
composite = "arithmetic"
weights = { care = 1 }
measures = ["precision", "recall"]
"""
TEXT = HEAD + AXES + MEASURES + TYPE
EPOCHS = """
[epochs]
blocks = 100
nominal_minutes = 20
steps = ["persist"]
"""


def _closed(required: str, **fields: object) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required.split(),
        "properties": fields,
    }


def schema_of(*, tracks: object = None) -> dict[str, Any]:
    """The schema of parcels; they have a track of these, ``slow`` or ``fast`` by default."""
    common = json.loads(schema_path("record-1").read_bytes())
    definition = "record-1.schema.json#/$defs"
    fields = {
        name: {"$ref": part["$ref"].replace("#/$defs", definition)}
        for name, part in common["properties"].items()
        if "$ref" in part
    }
    few = {"type": "integer", "minimum": 0, "maximum": 50}
    submission = {
        "sent": few,
        "lost": few,
        "weight": {"type": "number", "minimum": 0, "maximum": 1_000_000},
        "delay": {"type": "number", "minimum": 0, "maximum": 1000},
    }
    parts = {
        "track": tracks or {"enum": ["slow", "fast"]},
        "submission": _closed("sent lost weight", **submission),
        "checks": _closed("care", care={"type": "number", "minimum": 0, "maximum": 1}),
    }
    required = " ".join([*common["required"], "track"])
    return {
        **_closed(required, skill_type={"const": "parcel"}, **fields, **parts),
        "$id": "parcel.schema.json",
        "if": {
            "required": ["events"],
            "properties": {"events": {"contains": {"const": "missed_deadline"}}},
        },
        "else": {"required": ["submission", "checks"]},
    }


def load(
    folder: Path,
    text: str = TEXT,
    *,
    schema: Mapping[str, Any] | None = None,
    further: tuple[Formula, ...] = (),
    directions: tuple[Direction, ...] = (),
) -> Scorer:
    """A rule set of parcels.

    Args:
        folder: where the files go.
        text: of the rule set.
        schema: of the records; by default `schema_of`.
        further: more formulas.
        directions: what the author promises of facts.
    """
    path, rules = folder / "parcel.schema.json", folder / "parcels.toml"
    path.write_text(json.dumps(schema or schema_of()))
    rules.write_text(text, encoding="utf-8")
    formulas = {formula.name: formula for formula in (*FORMULAS, *further)}
    types = {"parcel": SkillType("parcel", path, directions=directions)}
    plugins = attrs.evolve(installed(), skill_types=types, formulas=formulas)
    return tallystick.load(rules, registry=plugins)


def parcel(line: int = 1, **values: Any) -> dict[str, Any]:  # noqa: ANN401  # of any field
    """A record; what is given is a part of the submission, ``care``, ``track`` or ``hotkey``."""
    submission = {"sent": 2, "lost": 1, "weight": 3.5}
    submission |= {name: v for name, v in values.items() if name in {*submission, "delay"}}
    return {
        "skill_type": "parcel",
        "task_id": f"t-{line}",
        "round": values.get("round", 0),
        "epoch": values.get("epoch", 0),
        "validator": "val-1",
        "miner": {"uid": line % 256, "hotkey": values.get("hotkey", f"hk-{line}")},
        "role": "primary",
        "track": values.get("track", "fast"),
        "submission": submission,
        "checks": {"care": values.get("care", 0.5)},
    }


def missed(line: int = 1, **values: Any) -> dict[str, Any]:  # noqa: ANN401  # of any field
    """A record of a deadline that was missed."""
    whole = parcel(line, **values) | {"events": ["missed_deadline"]}
    return {name: value for name, value in whole.items() if name not in {"submission", "checks"}}


def expected(record: Mapping[str, Any]) -> dict[str, str | None]:
    """The measures of a record by `TEXT`, in fractions: what a result must say."""
    made, care_of = record["submission"], Fraction(str(record["checks"]["care"]))
    both = made["sent"] + made["lost"]
    share = Fraction(made["sent"], both) if both else Fraction(1)
    earned = Fraction(str(made["weight"])) / 2 * care_of - made["lost"]
    return {
        "delay": _nine(Fraction(str(made["delay"]))) if "delay" in made else None,
        "precision": f"{share.numerator}/{share.denominator}",
        "recall": _nine(2 * share),
        "units": _nine(earned),
    }


def _nine(value: Fraction) -> str:
    """A value with nine places; of a fraction `round` is half-even."""
    nano = round(value * 10**9)
    return f"{'-' if nano < 0 else ''}{abs(nano) // 10**9}.{abs(nano) % 10**9:09d}"
