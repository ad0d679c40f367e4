"""Where a path leads in a record schema: the alternatives there, and whether they can be absent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.path import Step, steps

Schema = Mapping[str, Any]

_BRANCHES = ("anyOf", "oneOf")


@attrs.frozen
class Place:
    """What a path leads to.

    Attributes:
        alternatives: the schemas that a value there can have, null left out.
        optional: whether a valid record can lack the value, or have null there.
        repeats: how many values there can be, 1 without filter or ``*``.
        many: whether the path has a filter or ``*``.
    """

    alternatives: tuple[Schema, ...]
    optional: bool = False
    repeats: int = 1
    many: bool = False

    def of_type(self, *types: str) -> tuple[Schema, ...]:
        """The alternatives of one of the JSON types."""
        return tuple(a for a in self.alternatives if type_of(a) in types)


def place_of(path: str, schema: Schema) -> Place:
    """What a path leads to in a self-contained schema.

    ``submission`` and ``checks``, which only a record without a submission lacks, count as present:
    such a record is not scored.

    Raises:
        FormulaError: the schema has no such place.
    """
    place = Place((schema,))
    for step in steps(path):
        place = _follow(place, step, schema, path)
    return place


def type_of(schema: Schema) -> str:
    """The JSON type of one alternative; a ``const`` or ``enum`` of texts is a string."""
    if "type" in schema:
        return str(schema["type"])
    values = [schema["const"]] if "const" in schema else list(schema.get("enum", ()))
    return "string" if values and all(isinstance(v, str) for v in values) else "unknown"


def alternatives_of(schema: Schema, root: Schema) -> tuple[tuple[Schema, ...], bool]:
    """The schemas that a value can have, references followed, and whether null is one of them."""
    if "$ref" in schema:
        return alternatives_of(_referred(str(schema["$ref"]), root), root)
    found: list[Schema] = []
    nullable = False
    for alternative in _branches(schema):
        if alternative is schema:
            nullable |= type_of(schema) == "null"
            found += [] if type_of(schema) == "null" else [schema]
        else:
            inner, null = alternatives_of(alternative, root)
            found += inner
            nullable |= null
    return tuple(found), nullable


def _branches(schema: Schema) -> list[Schema]:
    for key in _BRANCHES:
        if key in schema:
            return list(schema[key])
    if isinstance(schema.get("type"), list):
        return [{**schema, "type": name} for name in schema["type"]]
    return [schema]


def _referred(reference: str, root: Schema) -> Schema:
    target: Any = root
    for part in reference.removeprefix("#/").split("/"):
        if not isinstance(target, Mapping) or part not in target:
            raise FormulaError(f"found the reference {reference!r}, which the schema lacks")
        target = target[part]
    if not isinstance(target, Mapping):
        raise FormulaError(f"found the reference {reference!r}, expected one to a schema")
    return target


def _follow(place: Place, step: Step, root: Schema, path: str) -> Place:
    found: list[Schema] = []
    optional = place.optional
    for alternative in place.alternatives:
        inner = _child(alternative, step)
        if inner is None:
            optional = True
            continue
        schemas, nullable = alternatives_of(inner, root)
        found += schemas
        optional |= nullable or (step.name != "*" and step.name not in _required(alternative))
    if not found:
        raise FormulaError(
            f"found the path {path!r}, but the record schema has no {step.name!r} there"
        )
    reached = Place(tuple(found), optional, place.repeats, place.many)
    if step.name == "*":
        repeats = max(int(a.get("maxProperties", 0)) for a in place.alternatives)
        return attrs.evolve(reached, repeats=_bounded(repeats, path, "maxProperties"), many=True)
    return _filtered(reached, step, root, path) if step.field else reached


def _child(alternative: Schema, step: Step) -> Schema | None:
    if type_of(alternative) != "object":
        return None
    if step.name == "*":
        inner = alternative.get("additionalProperties")
        return inner if isinstance(inner, Mapping) else None
    found: Schema | None = alternative.get("properties", {}).get(step.name)
    return found


def _required(alternative: Schema) -> set[str]:
    branches = [alternative, alternative.get("then", {}), alternative.get("else", {})]
    return {name for branch in branches for name in branch.get("required", ())}


def _filtered(place: Place, step: Step, root: Schema, path: str) -> Place:
    arrays = place.of_type("array")
    items = [s for a in arrays for s in alternatives_of(a.get("items", {}), root)[0]]
    if not arrays or any(step.field not in item.get("properties", {}) for item in items):
        raise FormulaError(
            f"found the path {path!r}, expected a list of objects with {step.field!r}"
        )
    most = max(int(a.get("maxItems", 0)) for a in arrays)
    return Place(tuple(items), False, _bounded(most, path, "maxItems"), many=True)


def _bounded(most: int, path: str, keyword: str) -> int:
    if most < 1:
        raise FormulaError(f"found no {keyword} at {path!r}, expected one: facts need a range")
    return most
