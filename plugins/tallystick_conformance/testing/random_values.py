"""Random values of a JSON Schema: each part of it compiled once to a function that makes values.

What a function makes follows the keywords of the shapes that record schemas have: types, bounds,
lengths, choices, references, fields, lists and maps. Keywords beside these, such as ``pattern`` or
``not``, are not looked at; whoever needs a promise asks the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import cycle, islice
from math import ceil, floor
from typing import Any

import attrs

from tallystick.errors import SchemaError
from tallystick.formula.schema_path import resolve
from tallystick.plugins.generator import CERTAIN, Draw
from tallystick.records.schema import Schema

Make = Callable[[Draw, int, int], Any]
"""Makes a value from choices, how many of 100 are at an edge, and how deep values may nest."""

DEPTH = 6
"""Maximum depth of values nested by choice; where a schema demands more there is more."""

_DEEPEST = 40
_USUAL_ITEMS = 4
_USUAL_LETTERS = 24
_MANY_ITEMS = 10
_LEFT_OUT = 40
_USUAL_LENGTH = 1000
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-_./ "
_ODD_LETTERS = 'AÄé\u0301ßı\u212a☃\U0001f600\u2028\t\n"\\\x00\x7f|,:*'
_LARGEST = 2**53
_USUAL_SPAN = 1000
_SCALE = 1000
_SPREAD = 15
_OTHERS: Mapping[str, Schema] = {
    name: {"type": name} for name in ("null", "boolean", "integer", "string")
}


def value_maker(root: Schema, part: Any, *, skilled: bool = False) -> Make:  # noqa: ANN401  # or a boolean
    """Return a maker of values of a part of a self-contained schema.

    Args:
        root: the whole schema, where references lead.
        part: the part, which may be the whole.
        skilled: whether numbers lie near the top of their range as a skilled miner does.
    """
    return _Compiler(root, skilled).compile(part)


@attrs.define
class _Compiler:
    """Compiles the parts of one schema, each definition once."""

    root: Schema
    skilled: bool
    _done: dict[str, Make] = attrs.field(factory=dict, init=False)

    def compile(self, schema: Any) -> Make:  # noqa: ANN401  # or a boolean
        if not isinstance(schema, Mapping):
            schema = {"anyOf": list(_OTHERS.values())} if schema else {"enum": []}
        for word in ("anyOf", "oneOf", "allOf"):
            if word in schema:
                return self._branches(schema, word)
        if "$ref" in schema:
            return self._reference(schema["$ref"])
        if "const" in schema:
            return _one_of([schema["const"]])
        if "enum" in schema:
            return _one_of(schema["enum"])
        kind = schema.get("type", _kind_of(schema))
        if isinstance(kind, list):
            return self._choice([{**schema, "type": type_name} for type_name in kind])
        return self._typed(schema, kind)

    def _reference(self, reference: str) -> Make:
        if reference not in self._done:
            # a definition may refer to itself: it is looked up when a value is made
            def later(draw: Draw, edges: int, room: int) -> object:
                return self._done[reference](draw, edges, room)

            self._done[reference] = later
            self._done[reference] = self.compile(resolve(self.root, reference))
        return self._done[reference]

    def _branches(self, schema: Schema, word: str) -> Make:
        rest: Schema = {name: value for name, value in schema.items() if name != word}
        if word == "allOf":
            merged = rest
            for branch in schema[word]:
                merged = self._merged(merged, branch)
            return self.compile(merged)
        return self._choice([self._merged(rest, branch) for branch in schema[word]])

    def _merged(self, first: Schema, second: Any) -> Schema:  # noqa: ANN401  # or a boolean
        """Roughly both: what the second says counts where both say something."""
        if not isinstance(second, Mapping):
            return first if second else {"enum": []}
        if "$ref" in second and first.keys() & {"type", "properties", "required"}:
            second = resolve(self.root, second["$ref"])
        both = {**first, **second}
        if "properties" in first and "properties" in second:
            both["properties"] = {**first["properties"], **second["properties"]}
        if "required" in first and "required" in second:
            both["required"] = [*first["required"], *second["required"]]
        return both

    def _choice(self, schemas: list[Schema]) -> Make:
        makers = [self.compile(schema) for schema in schemas]
        plain = [m for m, s in zip(makers, schemas, strict=True) if not self._nests(s)]
        shallow = plain or makers

        def make(draw: Draw, edges: int, room: int) -> object:
            return draw.one(makers if room > 0 else shallow)(draw, edges, room)

        return make if makers else _one_of([])

    def _nests(self, schema: Schema) -> bool:
        if "$ref" in schema:
            part = resolve(self.root, schema["$ref"])
            return isinstance(part, Mapping) and ("$ref" in part or self._nests(part))
        return schema.get("type", _kind_of(schema)) in ("object", "array") or any(
            word in schema for word in ("anyOf", "oneOf", "allOf")
        )

    def _typed(self, schema: Schema, kind: str) -> Make:
        match kind:
            case "object":
                return self._object(schema)
            case "array":
                return self._array(schema)
            case "string":
                return _text(schema)
            case "integer":
                return _whole(schema, skilled=self.skilled)
            case "number":
                return _decimal(schema, skilled=self.skilled)
            case "boolean":
                return lambda draw, _edges, _room: draw.chance(1, of=2)
            case "null":
                return lambda _draw, _edges, _room: None
            case _:
                return self._choice(list(_OTHERS.values()))

    def _array(self, schema: Schema) -> Make:
        least = schema.get("minItems", 1 if "contains" in schema else 0)
        most = schema.get("maxItems", least + _USUAL_LENGTH)
        # of a list that must contain something, everything is that
        item = self.compile(schema.get("items", schema.get("contains", True)))
        first = [self.compile(maker) for maker in schema.get("prefixItems", ())]

        def make(draw: Draw, edges: int, room: int) -> list[Any]:
            count = _size(draw, edges, room, least, most)
            inner = edges if count <= _MANY_ITEMS else 0
            made = [maker(draw, inner, room - 1) for maker in first[:count]]
            rest = count - len(made)
            drawn = [item(draw, inner, room - 1) for _ in range(min(rest, _MANY_ITEMS))]
            # of a long list items come again: to draw a thousand takes long, and shows no more
            return made + list(islice(cycle(drawn), rest))

        return _bounded(make)

    def _object(self, schema: Schema) -> Make:
        fields = {name: self.compile(part) for name, part in schema.get("properties", {}).items()}
        required = dict.fromkeys(schema.get("required", ()))
        anything = self.compile(True)
        properties = {name: fields.get(name, anything) for name in (*required, *fields)}
        optional = frozenset(properties.keys() - required.keys())
        extra = self._map(schema, len(required)) if "additionalProperties" in schema else None

        def make(draw: Draw, edges: int, room: int) -> dict[str, Any]:
            made = {
                name: field(draw, edges, room - 1)
                for name, field in properties.items()
                if name not in optional or (room > 0 and not draw.chance(_LEFT_OUT))
            }
            return made if extra is None else {**extra(draw, edges, room), **made}

        return _bounded(make)

    def _map(self, schema: Schema, taken: int) -> Make | None:
        """Return a maker of the entries that no field is declared for."""
        inner = schema["additionalProperties"]
        if inner is False or (inner is True and schema.get("properties")):
            return None
        names = schema.get("propertyNames", True)
        plain = {"type": "string"}
        name = self.compile({**plain, **names} if isinstance(names, Mapping) else plain)
        value = self.compile(inner)
        least = max(0, schema.get("minProperties", 0) - taken)
        most = schema.get("maxProperties", least + taken + _USUAL_LENGTH) - len(
            schema.get("properties", ())
        )

        def make(draw: Draw, edges: int, room: int) -> dict[str, Any]:
            count = _size(draw, edges, room, least, max(least, most))
            inner = edges if count <= _MANY_ITEMS else 0
            entries: dict[str, Any] = {}
            # a name that comes twice is one entry; another try is made, but not for ever
            for _ in range(2 * count + _MANY_ITEMS):
                if len(entries) >= count:
                    break
                entries[name(draw, inner, room - 1)] = value(draw, inner, room - 1)
            return entries

        return make


def _kind_of(schema: Schema) -> str:
    """Return the type of the values that a schema without one is about."""
    about = {
        "object": ("properties", "required", "additionalProperties", "maxProperties"),
        "array": ("items", "prefixItems", "contains", "minItems", "maxItems"),
        "string": ("minLength", "maxLength", "pattern"),
        "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    }
    return next((kind for kind, words in about.items() if schema.keys() & set(words)), "")


def _one_of(options: list[Any]) -> Make:
    def make(draw: Draw, _edges: int, _room: int) -> object:
        if not options:
            raise SchemaError("found a schema that no value meets, expected one that some do")
        return draw.one(options)

    return make


def _bounded(make: Make) -> Make:
    """Return the same, but for a schema that demands itself within itself, without an end."""

    def bounded(draw: Draw, edges: int, room: int) -> object:
        if room < -_DEEPEST:
            raise SchemaError("found a schema that demands itself within itself, without an end")
        return make(draw, edges, room)

    return bounded


def _size(draw: Draw, edges: int, room: int, least: int, most: int) -> int:
    """Return a number of items: few, or at an edge the least or the most."""
    if room <= 0:
        return least
    if draw.chance(edges):
        return draw.one((least, most))
    return draw.whole(least, min(most, least + _USUAL_ITEMS))


def _text(schema: Schema) -> Make:
    least: int = schema.get("minLength", 0)
    most: int = schema.get("maxLength", _USUAL_LENGTH)
    usual = min(most, max(least, _USUAL_LETTERS))

    def make(draw: Draw, edges: int, _room: int) -> str:
        if not draw.chance(edges):
            length = draw.whole(max(least, min(1, most)), usual)
            return "".join([draw.one(_LETTERS) for _ in range(length)])
        length = draw.one((least, most))
        pair = draw.one(_ODD_LETTERS) + draw.one(_ODD_LETTERS)
        return pair * (length // 2) + "x" * (length % 2)

    return make


def _whole(schema: Schema, *, skilled: bool) -> Make:
    """Return a maker of whole numbers.

    Args:
        schema: its bounds and its ``multipleOf`` count.
        skilled: whether they lie near the top of the range as the miner at hand does well.
    """
    low, high = _bounds(schema, 1)
    step = max(1, int(schema.get("multipleOf", 1)))
    first, last = -(-low // step), high // step
    ends = first * step, last * step
    return _between(first, last, ends, lambda number: number * step, skilled=skilled)


def _decimal(schema: Schema, *, skilled: bool) -> Make:
    """Return a maker of numbers of a few decimals; see ``_whole``."""
    low, high = _bounds(schema, _SCALE)
    if low > high:
        return _narrow(schema)
    ends = schema.get("minimum", low / _SCALE), schema.get("maximum", high / _SCALE)
    return _between(low, high, ends, lambda number: number / _SCALE, skilled=skilled)


def _between(
    low: int, high: int, ends: Sequence[float], form: Callable[[int], float], *, skilled: bool
) -> Make:
    """Return a maker of numbers that are whole parts of a range, or at an edge one of its ends."""
    drawn = _near_skill if skilled else _spread

    def make(draw: Draw, edges: int, _room: int) -> float:
        return draw.one(ends) if draw.chance(edges) else form(drawn(draw, low, high))

    return make


def _narrow(schema: Schema) -> Make:
    """Return a range too narrow for a few decimals: its lower bound, or its middle."""
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high = schema.get("maximum", schema.get("exclusiveMaximum", low))
    only = low if "minimum" in schema else (low + high) / 2
    return lambda _draw, _edges, _room: only


def _spread(draw: Draw, low: int, high: int) -> int:
    """Small numbers are as usual as large ones."""
    return draw.whole(low, high if draw.chance(1, of=2) else min(high, low + _USUAL_SPAN))


def _near_skill(draw: Draw, low: int, high: int) -> int:
    """About as far up in the range as the miner at hand does well."""
    reach = max(1, (high - low) * _SPREAD // CERTAIN)
    middle = low + (high - low) * min(CERTAIN, draw.skill + _SPREAD) // CERTAIN
    return min(high, max(low, middle + draw.whole(-reach, reach)))


def _bounds(schema: Schema, scale: int) -> tuple[int, int]:
    """Return the least and the largest whole number of parts that lie in the range of a schema."""
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    lows = [ceil(Fraction(low) * scale) if low is not None else None]
    lows.append(floor(Fraction(above) * scale) + 1 if above is not None else None)
    highs = [floor(Fraction(high) * scale) if high is not None else None]
    highs.append(ceil(Fraction(below) * scale) - 1 if below is not None else None)
    least = max((bound for bound in lows if bound is not None), default=None)
    most = min((bound for bound in highs if bound is not None), default=None)
    if least is None:
        least = 0 if most is None or most >= 0 else most - _USUAL_SPAN * scale
    return least, max(_LARGEST, least + _USUAL_SPAN) if most is None else most
