"""The cost of judging a line: how many parts of a schema are applied to one value of a record.

A stranger pays for bytes, and who judges a line pays for each part of the schema that a value is
held against: a value takes two bytes, a part about 20 ns. So the parts are counted in the schema,
which gives the same number on every machine. A word that looks something up (``enum``,
``properties``) costs the same whatever it holds, and is not counted on its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import attrs

from tallystick.diagnostics import Diagnostic
from tallystick.formula.schema_path import resolve
from tallystick.records.schema import Schema
from tallystick.records.strict_json import MAX_DEPTH
from tallystick_conformance.loading import Subject
from tallystick_conformance.report import finding

MOST_PARTS = 64
"""Maximum number of parts that are applied to one value.

At this number a byte of the worst line takes about 60 times as long as a byte of a good record; the
shipped schemas apply at most 7."""

_ONE = ("if", "then", "else", "not")
_SEVERAL = ("allOf", "anyOf", "oneOf")
_TRIED = ("patternProperties", "dependentRequired")
"""Words of which each entry is looked for in an object, whether or not it is there."""
_ITEMS = ("items", "unevaluatedItems", "contains")
_OTHERS = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_ANY_FIELD, _ITEM = "*", "[]"


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield the value to which most parts of a schema apply, where they are too many."""
    for skill_type in subject.plugin.skill_types:
        schema = subject.schemas.get(skill_type.name)
        if schema is None:
            continue  # told by the check of schemas
        path, parts = most_parts(schema)
        if parts > MOST_PARTS:
            message = (
                f"found {parts} parts of the schema that apply to one value, expected at most "
                f"{MOST_PARTS}"
            )
            where = f"{skill_type.name}: {path or 'the record'}"
            yield finding("line-costly", where, message, {"parts": parts})


def most_parts(schema: Schema) -> tuple[str, int]:
    """Return the path of the value to which most parts of a schema apply, and their number.

    The search ends at a value with more than ``MOST_PARTS``: where a part refers to itself for the
    values inside, their number may grow with the depth.

    Args:
        schema: a self-contained schema.
    """
    parts = _Parts(schema)
    worst, seen = ("", 0), set[frozenset[tuple[int, int]]]()
    values = [("", parts.at([(schema, 1)]))]
    for _ in range(MAX_DEPTH + 1):
        inside = []
        for path, applied in values:
            if applied.total() > worst[1]:
                worst = path, applied.total()
            if worst[1] > MOST_PARTS:
                return worst
            state = frozenset(applied.items())
            if state not in seen:
                seen.add(state)
                inside += [(_joined(path, step), value) for step, value in parts.inside(applied)]
        values = inside
    return worst


def _joined(path: str, step: str) -> str:
    return f"{path}.{step}" if path and step != _ITEM else f"{path}{step}"


@attrs.frozen
class _Parts:
    """The parts of a schema that apply to a value: how many times each, by its identity.

    Attributes:
        schema: the schema, which references are followed in.
        of: those that a part applies to the value itself, with the part, by its identity.
        known: the parts, by their identity.
    """

    schema: Schema
    of: dict[int, Counter[int]] = attrs.field(factory=dict)
    known: dict[int, Schema] = attrs.field(factory=dict)

    def at(self, parts: Iterable[tuple[Any, int]]) -> Counter[int]:
        """Return every part that applies where some do, each as many times as it is given."""
        every = Counter[int]()
        for part, times in parts:
            for inner, count in self._in_place(part).items():
                every[inner] += count * times
        return every

    def inside(self, applied: Counter[int]) -> Iterator[tuple[str, Counter[int]]]:
        """Yield each step into a value with the parts that apply there."""
        parts = [(self.known[part], times) for part, times in applied.items() if part in self.known]
        names = {name for part, _ in parts for name in part.get("properties", {})}
        for name in (*sorted(names), _ANY_FIELD):
            yield name, self.at(_each(parts, partial(_of_field, name)))
        longest = max((len(part.get("prefixItems", ())) for part, _ in parts), default=0)
        for number in range(longest + 1):
            yield _ITEM, self.at(_each(parts, partial(_of_item, number)))

    def _in_place(self, part: Any) -> Counter[int]:  # noqa: ANN401  # a schema can be a boolean
        if not isinstance(part, Mapping):
            return Counter({id(part): 1})
        if id(part) not in self.of:
            # a part that applies itself to the same value has no end
            self.of[id(part)] = Counter({id(part): MOST_PARTS + 1})
            self.known[id(part)] = part
            every = self.at((inner, 1) for inner in self._applied(part))
            every[id(part)] += 1
            every.update({id(part[word]): len(part[word]) for word in _TRIED if word in part})
            self.of[id(part)] = every
        return self.of[id(part)]

    def _applied(self, part: Schema) -> Iterator[Any]:
        if "$ref" in part:
            yield resolve(self.schema, part["$ref"])
        for word in _ONE:
            if word in part:
                yield part[word]
        for word in _SEVERAL:
            yield from part.get(word, ())
        yield from part.get("dependentSchemas", {}).values()


def _each(
    parts: Iterable[tuple[Schema, int]], inner_of: Callable[[Schema], Iterable[Any]]
) -> Iterator[tuple[Any, int]]:
    """Yield what each part applies inside, as many times as the part itself."""
    for part, times in parts:
        for inner in inner_of(part):
            yield inner, times


def _of_field(name: str, part: Schema) -> Iterator[Any]:
    """Yield what a part applies to a field, as if its name matched every pattern."""
    yield from part.get("patternProperties", {}).values()
    if name in part.get("properties", {}):
        yield part["properties"][name]
    else:
        yield from (part[word] for word in _OTHERS if word in part)


def _of_item(number: int, part: Schema) -> Iterator[Any]:
    """Yield what a part applies to the item at a place of a list."""
    first = part.get("prefixItems", ())
    if number < len(first):
        yield first[number]
        if "contains" in part:
            yield part["contains"]
    else:
        yield from (part[word] for word in _ITEMS if word in part)
