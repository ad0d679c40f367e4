"""The rule set that has every key of the schemas, and the keys that a document uses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import attrs
from scoring import parcels

import tallystick
from tallystick.plugins.author import (
    UNIT,
    Formula,
    Node,
    Parameters,
    SkillType,
    axis,
    cases,
    composite,
    emission,
    factor,
    measure,
    published,
    unrounded,
)
from tallystick.plugins.registry import Registry, installed
from tallystick.resources import schema_path
from tallystick.rules.toml import parse
from tallystick.scoring.scorer import Scorer

RULES = Path(__file__).with_name("every_key.toml")
WITHIN = (
    'mode = "bucket", size = 5, missing = "zero"',
    'mode = "within", lines = 5, missing = "own_value"',
)
"""The other way to compare lines of findings, whose key excludes that of the first."""
Json = Any


@axis("parcels/third@1")
def third(_p: Parameters) -> Node:
    """A third of what was sent, of 50 at most."""
    return parcels.sent / 150


@axis("parcels/more@1", part=(0, 1))
def more(p: Parameters) -> Node:
    """A part of the third, before that is published."""
    return unrounded("third") * p.part


@composite("parcels/blend@1", part=(0, 1))
def blend(p: Parameters) -> Node:
    """The care, and the rest by what was sent."""
    return published("care") * p.part + published("third") * (1 - p.part)


@emission("parcels/emission@1", within=(0, 10), scale=(0, 1))
def paid(p: Parameters) -> Node:
    """The quality by weight, tier and bonus."""
    weight = published("base_weight") * published("tier_multiplier")
    return p.scale * published("quality") * weight * published("early") * published("consensus")


@factor("parcels/early@1", within=(0, 2), bonus=(1, 2), applies=parcels.sent > 0)
def early(p: Parameters) -> Node:
    """A bonus where nothing was lost."""
    return cases((parcels.lost == 0, p.bonus), otherwise=1)


@measure("parcels/above@1", within=UNIT)
def above(_p: Parameters) -> Node:
    """The part of a raised value above the middle."""
    apart = published("raised") - published("middle")
    return cases((apart > 0, apart), otherwise=0)


FORMULAS: tuple[Formula, ...] = (third, more, blend, paid, early, above)


def registry_in(folder: Path) -> Registry:
    """Return the installed plugins with that of parcels, whose schema is in a folder."""
    path = folder / "parcel.schema.json"
    path.write_text(json.dumps(parcels.schema_of()))
    plugins = installed()
    parcel = SkillType("parcel", path)
    formulas = {formula.name: formula for formula in (*parcels.FORMULAS, *FORMULAS)}
    return attrs.evolve(
        plugins,
        skill_types={**plugins.skill_types, "parcel": parcel},
        formulas={**plugins.formulas, **formulas},
    )


def load(folder: Path, *changes: tuple[str, str]) -> Scorer:
    """Return the rule set, with some text replaced."""
    text = RULES.read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / f"every-key-{len(list(folder.iterdir()))}.toml"
    path.write_text(text, encoding="utf-8")
    return tallystick.load(path, registry=registry_in(folder))


@cache
def schema() -> Json:
    """Return the schema of all sections."""
    return json.loads(schema_path("rule-set-1").read_bytes())


def keys_of(part: Json, where: str = "") -> Iterator[str]:
    """Yield every key of a schema with its definition, and each type of a key that has several."""
    for name, inner in part.get("properties", {}).items():
        yield f"{where}.{name}"
        if isinstance(inner.get("type"), list):
            yield from (f"{where}.{name}: {kind}" for kind in inner["type"])
        yield from keys_of(inner, f"{where}.{name}")
    for inner in (part.get("additionalProperties"), part.get("items")):
        if isinstance(inner, dict):
            yield from keys_of(inner, f"{where}.*")
    for word in ("oneOf", "anyOf"):
        for number, arm in enumerate(part.get(word, ())):
            yield f"{where} {word} {number}"
            yield from keys_of(arm, f"{where} {word} {number}")


def every_key() -> frozenset[str]:
    """Return the keys of the schema and of all its definitions."""
    whole = schema()
    definitions = (key for name, part in whole["$defs"].items() for key in keys_of(part, name))
    return frozenset((*keys_of(whole), *definitions))


def used_keys(value: Json, part: Json | None = None, where: str = "") -> Iterator[str]:
    """Yield the keys of `every_key` that a document has."""
    part = schema() if part is None else part
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        yield from used_keys(value, schema()["$defs"][name], name)
    for rule in part.get("allOf", ()):
        if "if" not in rule or _holds(rule["if"], value):
            yield from used_keys(value, rule.get("then", rule), where)
    properties = part.get("properties", {})
    if isinstance(value, Mapping):
        for name, inner in value.items():
            other = part.get("additionalProperties")
            if name in properties:
                yield f"{where}.{name}"
                kind = {dict: "object", str: "string", int: "integer"}.get(type(inner), "number")
                yield f"{where}.{name}: {kind}"
                yield from used_keys(inner, properties[name], f"{where}.{name}")
            elif isinstance(other, dict):
                yield from used_keys(inner, other, f"{where}.*")
    elif isinstance(value, list) and isinstance(part.get("items"), dict):
        for inner in value:
            yield from used_keys(inner, part["items"], f"{where}.*")


def _holds(condition: Json, value: Json) -> bool:
    """Return whether the constants of a condition are those of a table."""
    properties = condition.get("properties", {})
    return isinstance(value, Mapping) and all(
        value.get(name) == rule.get("const") for name, rule in properties.items()
    )


def documents() -> tuple[Json, ...]:
    """Return the rule set as documents, one for each of two keys that exclude each other."""
    text = RULES.read_text(encoding="utf-8")
    return tuple(parse(each, str(RULES)).data for each in (text, text.replace(*WITHIN)))
