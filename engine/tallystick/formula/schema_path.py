"""Paths: where in a record a fact looks, and what a record schema has there.

A path is a chain of names. ``name[]`` takes every item of a list, ``name[field=value]`` those whose
field has that value; ``*`` takes every value of a map. What follows is read from each of them, and
those where it is missing or null are dropped::

    checks.segments[].errors
    submission.findings[category=tool_poisoning].tool
    submission.error_handling.*.retry_count

What a path leads to in a schema are the alternatives there, and whether they can be absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import attrs

from tallystick.diagnostics import nearest
from tallystick.errors import FormulaError, SchemaError

Schema = Mapping[str, Any]

ANSWER = ("submission", "checks")
"""The fields that only a record of a missed deadline lacks; such a record is not scored."""

SCALARS = frozenset({"string", "number", "integer", "boolean"})
"""The JSON types of values without parts."""

_BRANCHES = ("anyOf", "oneOf")
_STEP = re.compile(r"(?P<name>\w+)((?P<each>\[\])|\[(?P<field>\w+)=(?P<value>[^\]]+)\])?", re.ASCII)


@attrs.frozen
class PathStep:
    """A name, perhaps with the items that it takes of a list; ``*`` is every value of a map.

    Attributes:
        name: the name, or ``*``.
        field: of a filter.
        value: that the field of an item must have.
        each: whether it takes every item of a list.
    """

    name: str
    field: str | None = None
    value: str | None = None
    each: bool = False

    @property
    def many(self) -> bool:
        """The steps after this one are read from each of several items."""
        return self.name == "*" or self.each or self.field is not None

    def keeps(self, item: Mapping[str, Any]) -> bool:
        """Return whether the step takes an item of a list."""
        return self.field is None or item.get(self.field) == self.value

    def __str__(self) -> str:
        selection = "[]" if self.each else f"[{self.field}={self.value}]" if self.field else ""
        return f"{self.name}{selection}"


def steps(path: str) -> tuple[PathStep, ...]:
    """Return the steps of a path.

    Raises:
        FormulaError: the text is no path, or takes items of items.
    """
    chain = tuple(_step(part, path) for part in path.split("."))
    if sum(step.many for step in chain) > 1:
        raise FormulaError(f"found the path {path!r}, expected at most one filter, [] or *")
    if chain[-1].each:
        raise FormulaError(
            f"found the path {path!r}, expected what to read of each item: the list itself is "
            f"{path.removesuffix('[]')!r}"
        )
    return chain


@attrs.frozen
class PathTarget:
    """The target of a path in a schema.

    Attributes:
        alternatives: the schemas that a value there can have, null left out.
        optional: whether a valid record can lack the value, or have null there.
        repeats: how many values there can be, 1 of a path without many.
        many: whether the path has a filter, ``[]`` or ``*``.
    """

    alternatives: tuple[Schema, ...]
    optional: bool = False
    repeats: int = 1
    many: bool = False

    def of_type(self, *types: str) -> tuple[Schema, ...]:
        """Return the alternatives of one of the JSON types."""
        return tuple(a for a in self.alternatives if type_of(a) in types)


def target_of(path: str, schema: Schema) -> PathTarget:
    """Return the target of a path in a self-contained schema.

    The fields of ``ANSWER`` count as present.

    Raises:
        FormulaError: the schema has no such place.
    """
    target = PathTarget((schema,))
    for step in steps(path):
        target = _follow(target, step, schema, path)
    return target


def type_of(schema: Schema) -> str:
    """Return the JSON type of one alternative; a ``const`` or ``enum`` of texts is a string."""
    if "type" in schema:
        return str(schema["type"])
    values = [schema["const"]] if "const" in schema else list(schema.get("enum", ()))
    return "string" if values and all(isinstance(v, str) for v in values) else "unknown"


def alternatives_of(schema: Schema | bool, root: Schema) -> tuple[tuple[Schema, ...], bool]:
    """The schemas that a value can have, references followed, and whether null is one of them."""
    if isinstance(schema, bool):
        return (({},), True) if schema else ((), False)
    if "$ref" in schema:
        return alternatives_of(resolve(root, str(schema["$ref"])), root)
    if type_of(schema) == "null":
        return (), True
    branches = _branches(schema)
    if branches is None:
        return (schema,), False
    inner_alternatives = [alternatives_of(branch, root) for branch in branches]
    schemas = tuple(alternative for inner, _ in inner_alternatives for alternative in inner)
    return schemas, any(nullable for _, nullable in inner_alternatives)


def resolve(schema: Schema, reference: str) -> Any:  # noqa: ANN401  # a schema can be a boolean
    """Return the part of a self-contained schema that a reference such as ``#/$defs/unit`` names.

    Raises:
        SchemaError: there is no such part.
    """
    part: Any = schema
    for step in unquote(reference.removeprefix("#")).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        try:
            part = part[int(name)] if isinstance(part, list) else part[name]
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise SchemaError(
                f"found the reference {reference!r}, which leads nowhere in its schema"
            ) from error
    return part


def items_of(array: Schema, root: Schema) -> tuple[tuple[Schema, ...], bool]:
    """Return the schemas that an item of a list can have, and whether it can be null."""
    return alternatives_of(array.get("items", True), root)


def items_at(target: PathTarget, root: Schema) -> tuple[tuple[Schema, ...], bool]:
    """The schemas of the items of a list, or of a projection, and whether they can be null."""
    if target.many:
        return target.alternatives, False
    items_of_arrays = [items_of(array, root) for array in target.of_type("array")]
    items = tuple(item for inner, _ in items_of_arrays for item in inner)
    return items, any(nullable for _, nullable in items_of_arrays)


def object_fields(target: PathTarget, root: Schema) -> list[str]:
    """Return the names of the fields of items that are objects; none for items that are not."""
    items, _ = items_at(target, root)
    return sorted({name for item in items for name in item.get("properties", ())})


def limit_of(container: Schema, keyword: str, path: str) -> int:
    """Return the most items of a list, or entries of a map.

    Raises:
        FormulaError: the schema sets no limit.
    """
    most = int(container.get(keyword, 0))
    if most < 1:
        raise FormulaError(f"found no {keyword} at {path!r}, expected one: facts need a range")
    return most


def is_map(alternative: Schema) -> bool:
    """Return whether an object has any names, all with values of one schema."""
    values = alternative.get("additionalProperties")
    return type_of(alternative) == "object" and values not in (None, False)


def _step(part: str, path: str) -> PathStep:
    if part == "*":
        return PathStep("*")
    match = _STEP.fullmatch(part)
    if match is None:
        raise FormulaError(
            f"found {part!r} in the path {path!r}, expected name, name[field=value], name[] or *"
        )
    return PathStep(match["name"], match["field"], match["value"], bool(match["each"]))


def _branches(schema: Schema) -> list[Schema | bool] | None:
    for key in _BRANCHES:
        if key in schema:
            return list(schema[key])
    if isinstance(schema.get("type"), list):
        return [{**schema, "type": name} for name in schema["type"]]
    return None


def _follow(target: PathTarget, step: PathStep, root: Schema, path: str) -> PathTarget:
    if step.name == "*":
        return _values(target, root, path)
    objects = target.of_type("object")
    if len(objects) > 1:
        raise FormulaError(f"found several objects on the way of {path!r}, expected one")
    inner = objects[0].get("properties", {}).get(step.name) if objects else None
    if inner is None:
        if target.of_type("array"):
            hint = ", but a list: write [] after its name, for each of its items"
        else:
            hint = nearest(step.name, objects[0].get("properties", {}) if objects else ())
        raise FormulaError(
            f"found the path {path!r}, but the record schema has no {step.name!r} there{hint}"
        )
    schemas, nullable = alternatives_of(inner, root)
    sure = len(target.alternatives) == 1 and step.name in _required(objects[0], root)
    optional = target.optional or nullable or not sure
    reached = PathTarget(schemas, optional, target.repeats, target.many)
    return _taken(reached, step, root, path) if step.many else reached


def _required(alternative: Schema, root: Schema) -> set[str]:
    required = set(alternative.get("required", ()))
    return required | set(ANSWER) if alternative is root else required


def _values(target: PathTarget, root: Schema, path: str) -> PathTarget:
    """Return every value of a map."""
    if not all(is_map(a) and not a.get("properties") for a in target.alternatives):
        raise FormulaError(f"found the path {path!r}, expected a map before *")
    alternatives = [alternatives_of(a["additionalProperties"], root) for a in target.alternatives]
    schemas = tuple(schema for inner, _ in alternatives for schema in inner)
    repeats = max(limit_of(a, "maxProperties", path) for a in target.alternatives)
    return PathTarget(schemas, any(null for _, null in alternatives), repeats, many=True)


def _taken(target: PathTarget, step: PathStep, root: Schema, path: str) -> PathTarget:
    """Return the items of a list, all of them or those whose field, a text, has one value."""
    arrays, (items, nullable) = target.of_type("array"), items_at(target, root)
    sound = [type_of(item) == "object" for item in items]
    if step.field is not None:
        sound = [_field_types(item, step.field, root) == {"string"} for item in items]
    if len(arrays) < len(target.alternatives) or len(items) != 1 or nullable or sound != [True]:
        with_field = "" if step.field is None else f" with a text {step.field!r}"
        raise FormulaError(f"found the path {path!r}, expected a list of objects{with_field}")
    return PathTarget(items, False, max(limit_of(a, "maxItems", path) for a in arrays), many=True)


def _field_types(item: Schema, field: str, root: Schema) -> set[str]:
    inner = item.get("properties", {}).get(field)
    return set() if inner is None else {type_of(a) for a in alternatives_of(inner, root)[0]}
