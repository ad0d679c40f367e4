"""Values at the boundaries of a JSON Schema: the smallest, the largest, the empty, the repeated.

A value is built from the part of a schema and a boundary, and a value that is there already is
changed in one place at a time. Both follow the keywords that record schemas have; a part with
others is left to the random values. Nothing here promises a valid record: whoever needs one asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import chain, cycle, islice
from typing import Any

import attrs

from tallystick.errors import SchemaError
from tallystick.formula.schema_path import Schema, alternatives_of, type_of
from tallystick.plugins.generator import Draw
from tallystick_conformance.testing.random_values import DEPTH, value_maker

FULL = 24
"""Size of a full list in tests of values; larger ones only take longer."""

_SIZES = (0, 1, 2, FULL)
_INNER = 2
_USUAL_MOST = 1000
_BEYOND = ("allOf", "contains", "multipleOf", "not", "pattern", "prefixItems", "patternProperties")
_CONTAINERS = ("array", "object", "string")
_UNBOUNDED = 2**53
# what a double holds badly: ties of the ninth decimal, thirds, and a sum that is no decimal
_HALF_NANO = 5e-10
_AWKWARD = (3 * (1 / 10), 1 / 3, 1 - 2**-53, 2.5e-9, 57 / 200, 1e-300)


@attrs.frozen
class Boundary:
    """A boundary of a schema that a value is built at.

    Attributes:
        turn: which of its numbers, options and branches each part takes, counted around.
        size: how many items or letters there are, or which share of the most that are allowed.
        inner: how many there are within items.
        same: whether items are the same; else they take turns.
        present: whether optional fields are there.
        letters: what texts are made of.
        draw: if given, every part takes a boundary of its own from it.
    """

    turn: int = 0
    size: int | Fraction = 1
    inner: int = _INNER
    same: bool = False
    present: bool = True
    letters: str = "x"
    draw: Draw | None = None

    def here(self) -> Boundary:
        """Return the boundary of one part."""
        if self.draw is None:
            return self
        turn, size = self.draw.whole(0, _USUAL_MOST), self.draw.one(_SIZES[:-1])
        same, present = self.draw.chance(1, of=2), self.draw.chance(1, of=2)
        return attrs.evolve(self, turn=turn, size=size, same=same, present=present)

    def of_item(self, position: int) -> Boundary:
        """Return the boundary of an item of a list."""
        turn = self.turn if self.same else self.turn + position
        return attrs.evolve(self, turn=turn, size=self.inner)


def built(schema: Any, root: Schema, boundary: Boundary, room: int = DEPTH) -> Any:  # noqa: ANN401  # a JSON value
    """Return a value of a part of a self-contained schema, at a boundary.

    Raises:
        SchemaError: no value meets the part.
    """
    alternatives, nullable = alternatives_of(schema, root)
    here = boundary.here()
    if nullable and (not here.present or not alternatives):
        return None
    if not alternatives:
        raise SchemaError("found a schema that no value meets, expected one that some do")
    return _built(alternatives[here.turn % len(alternatives)], root, here, room)


def _built(part: Schema, root: Schema, boundary: Boundary, room: int) -> Any:  # noqa: ANN401  # a JSON value
    options = options_of(part)
    if options:
        return options[boundary.turn % len(options)]
    kind = type_of(part)
    if any(word in part for word in _BEYOND) or kind not in _CONTAINERS:
        return value_maker(root, part)(Draw.of("corner", boundary.turn), 0, room)
    if kind == "string":
        return _text(part, boundary)
    return (
        _list(part, root, boundary, room)
        if kind == "array"
        else _object(part, root, boundary, room)
    )


def options_of(part: Schema) -> list[Any]:
    """Return the values of a part that has few, or those of its range that are worth a look."""
    if "const" in part:
        return [part["const"]]
    if "enum" in part:
        return list(part["enum"])
    if any(word in part for word in _BEYOND):
        return []
    kind = type_of(part)
    if kind == "boolean":
        return [False, True]
    return numbers_of(part) if kind in ("integer", "number") else []


def numbers_of(part: Schema) -> list[int] | list[float]:
    """The least, the largest, zero, the middle, and those between that are awkward, each once."""
    low = part.get("minimum", part.get("exclusiveMinimum", -_UNBOUNDED))
    high = part.get("maximum", part.get("exclusiveMaximum", _UNBOUNDED))
    middle = low + (high - low) / 2
    if type_of(part) == "integer":
        candidates = [low, high, 0, int(middle), low + 1, high - 1, 1, 2]
        whole = dict.fromkeys(int(number) for number in candidates)
        return [number for number in whole if _is_within(number, part)]
    near = (low + _HALF_NANO, middle + _HALF_NANO, high - _HALF_NANO)
    wide = (low + (high - low) * part_of for part_of in _AWKWARD)
    every = dict.fromkeys((low, high, 0, middle, 1, *near, *_AWKWARD, *wide))
    return [number for number in every if _is_within(number, part)]


def _is_within(number: float, part: Schema) -> bool:
    return (
        part.get("minimum", number) <= number <= part.get("maximum", number)
        and ("exclusiveMinimum" not in part or number > part["exclusiveMinimum"])
        and ("exclusiveMaximum" not in part or number < part["exclusiveMaximum"])
    )


def _count(size: int | Fraction, part: Schema, least_word: str, most_word: str) -> int:
    least = int(part.get(least_word, 0))
    most = int(part.get(most_word, least + _USUAL_MOST))
    wanted = size if isinstance(size, int) else int(size * most)
    return min(most, max(least, wanted))


def _text(part: Schema, boundary: Boundary) -> str:
    length = _count(boundary.size, part, "minLength", "maxLength")
    start = "" if boundary.same else str(boundary.turn)
    return "".join(islice(chain(start, cycle(boundary.letters)), length))


def _list(part: Schema, root: Schema, boundary: Boundary, room: int) -> list[Any]:
    count = _count(boundary.size, part, "minItems", "maxItems") if room > 0 else 0
    items = part.get("items", True)
    return [built(items, root, boundary.of_item(index), room - 1) for index in range(count)]


def _object(part: Schema, root: Schema, boundary: Boundary, room: int) -> dict[str, Any]:
    required = part.get("required", ())
    made = {
        name: built(inner, root, boundary, room - 1)
        for name, inner in part.get("properties", {}).items()
        if name in required or (boundary.here().present and room > 0)
    }
    if "properties" in part or not isinstance(part.get("additionalProperties"), Mapping):
        return made
    names = {"type": "string", "minLength": 1, **part.get("propertyNames", {})}
    for index in range(_count(boundary.size, part, "minProperties", "maxProperties")):
        of_item = attrs.evolve(boundary.of_item(index), turn=boundary.turn + index, same=False)
        key = built(names, root, attrs.evolve(of_item, draw=None, size=8), room - 1)
        made[key] = built(part["additionalProperties"], root, boundary.of_item(index), room - 1)
    return made


def boundaries_of(part: Schema) -> list[Boundary]:
    """Return the boundaries at which one part alone has different values."""
    options = options_of(part)
    if options:
        return [Boundary(turn) for turn in range(len(options))]
    if type_of(part) in ("array", "string") or "properties" not in part:
        return [Boundary(turn, size, same=same) for size in _SIZES for turn, same in _KINDS]
    return [Boundary(turn, present=present) for turn in (0, 1) for present in (True, False)]


_KINDS = ((0, False), (1, True))


def changed(value: Any, schema: Any, root: Schema, path: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401  # JSON
    """A value changed in one place at a time, to every boundary of that place, with its path."""
    alternatives, nullable = alternatives_of(schema, root)
    if nullable and path:
        yield path, None
    for part in alternatives:
        if path:
            for boundary in boundaries_of(part):
                yield path, _built(part, root, boundary, DEPTH)
        yield from _within(value, part, root, path)


def grown(
    value: Any,  # noqa: ANN401  # a JSON value
    schema: Any,  # noqa: ANN401  # or a boolean
    root: Schema,
    boundary: Boundary,
    path: str = "",
) -> Iterator[tuple[str, Any]]:
    """Yield a value with one list, map or text at a time made at a boundary, with its path."""
    for part in alternatives_of(schema, root)[0]:
        if path and _can_grow(part):
            yield path, _built(part, root, boundary, DEPTH)
        yield from _within(value, part, root, path, boundary)


def _can_grow(part: Schema) -> bool:
    return (
        type_of(part) in _CONTAINERS and not options_of(part) and "properties" not in part
    ) and not any(word in part for word in _BEYOND)


def _within(
    value: Any,  # noqa: ANN401  # a JSON value
    part: Schema,
    root: Schema,
    path: str,
    boundary: Boundary | None = None,
) -> Iterator[tuple[str, Any]]:
    """Yield the changes of what is in a value."""
    if isinstance(value, dict) and type_of(part) == "object":
        for name, inner in _fields(value, part).items():
            at = f"{path}.{name}" if path else name
            if name in value:
                for where, new in _inner(value[name], inner, root, at, boundary):
                    yield where, {**value, name: new}
                if boundary is None and name in part.get("properties", {}):
                    yield at, {key: field for key, field in value.items() if key != name}
            elif boundary is None:
                yield at, {**value, name: built(inner, root, Boundary())}
    if isinstance(value, list) and value and type_of(part) == "array":
        for where, new in _inner(value[0], part.get("items", True), root, f"{path}[0]", boundary):
            yield where, [new, *value[1:]]
        if boundary is None:
            yield path, [*value, *value]


def _fields(value: Mapping[str, Any], part: Schema) -> dict[str, Any]:
    """Return the fields of an object with their schemas; of a map its first key."""
    if "properties" in part:
        return dict(part["properties"])
    inner = part.get("additionalProperties")
    return dict.fromkeys(islice(value, 1), inner) if isinstance(inner, Mapping) else {}


def _inner(
    value: Any,  # noqa: ANN401  # a JSON value
    schema: Any,  # noqa: ANN401  # or a boolean
    root: Schema,
    path: str,
    boundary: Boundary | None,
) -> Iterator[tuple[str, Any]]:
    if boundary is None:
        return changed(value, schema, root, path)
    return grown(value, schema, root, boundary, path)
