"""The record schemas of a plugin: whether they can be used, are closed and have bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from tallystick.conformance.codes import finding
from tallystick.conformance.subject import Subject
from tallystick.diagnostics import Diagnostic
from tallystick.errors import SchemaError
from tallystick.records.schema import Schema, load_schema, resolve, skill_type_of

_SHARED = "#/$defs/record-1."
_BRANCHES = ("anyOf", "oneOf", "allOf")
_CLOSED = ("additionalProperties", "unevaluatedProperties")
_ENDS = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))
_ABOUT = {
    "object": ("properties", "additionalProperties", "unevaluatedProperties", "maxProperties"),
    "array": ("items", "prefixItems", "maxItems"),
    "number": ("minimum", "maximum", "multipleOf"),
}


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every schema of the plugin loads, describes its type, and is closed and bounded."""
    for skill_type in subject.plugin.skill_types:
        try:
            schema = load_schema(skill_type.schema)
        except SchemaError as error:
            yield finding("schema-invalid", skill_type.name, str(error))
            continue
        if skill_type_of(schema) != skill_type.name:
            message = f"found a schema of {skill_type_of(schema)!r}, expected the type's own name"
            yield finding("schema-invalid", f"{skill_type.name}: properties.skill_type", message)
        yield from _Walk(skill_type.name, schema).findings()


@attrs.frozen
class _Walk:
    """A walk over every part of a schema that describes a value, each definition once.

    Conditions (``if``, ``not``, ``contains`` …) only narrow what other parts let through.
    """

    name: str
    schema: Schema
    seen: set[str] = attrs.field(factory=set)

    def findings(self) -> Iterator[Diagnostic]:
        yield from self.part(self.schema, "")

    def part(self, schema: Any, path: str, *, closed: bool = False) -> Iterator[Diagnostic]:  # noqa: ANN401  # or a boolean
        """What is wrong with a part; ``closed`` says that what encloses it lets in no more."""
        if schema is False:
            return
        if not isinstance(schema, Mapping):
            yield self.open(path, "any value")
            return
        if "$ref" in schema:
            yield from self.reference(str(schema["$ref"]))
            return
        if "const" in schema or "enum" in schema:
            return
        yield from self.described(schema, path, closed)

    def reference(self, reference: str) -> Iterator[Diagnostic]:
        """A definition by its own path; those of the engine are closed and bounded."""
        if reference in self.seen or reference.startswith(_SHARED):
            return
        self.seen.add(reference)
        path = reference.removeprefix("#/").replace("/", ".")
        yield from self.part(resolve(self.schema, reference), path)

    def described(self, schema: Schema, path: str, closed: bool) -> Iterator[Diagnostic]:
        kinds = _kinds(schema)
        branches = [(word, each) for word in _BRANCHES for each in schema.get(word, ())]
        if not kinds and not branches:
            yield self.open(path, "any value")
        if "object" in kinds or "allOf" in schema:
            yield from self.object(schema, path, closed or not kinds)
        if "array" in kinds:
            yield from self.array(schema, path)
        if {"number", "integer"} & kinds:
            yield from self.number(schema, path)
        inside = closed or any(schema.get(word) is False for word in _CLOSED)
        for number, (word, each) in enumerate(branches):
            yield from self.part(each, _at(path, f"{word}[{number}]"), closed=inside)

    def object(self, schema: Schema, path: str, closed: bool) -> Iterator[Diagnostic]:
        for name, each in schema.get("properties", {}).items():
            yield from self.part(each, _at(path, f"properties.{name}"))
        rest = [schema[word] for word in _CLOSED if word in schema]
        maps = [each for each in rest if isinstance(each, Mapping)]
        maps += schema.get("patternProperties", {}).values()
        if not closed and False not in rest and (not maps or "patternProperties" in schema):
            yield self.open(path, "fields that it does not describe")
        if maps and "maxProperties" not in schema:
            yield self.unbounded(path, "maxProperties")
        for each in maps:
            yield from self.part(each, _at(path, "additionalProperties"))

    def array(self, schema: Schema, path: str) -> Iterator[Diagnostic]:
        if "maxItems" not in schema:
            yield self.unbounded(path, "maxItems")
        yield from self.part(schema.get("items", True), _at(path, "items"))
        for number, each in enumerate(schema.get("prefixItems", ())):
            yield from self.part(each, _at(path, f"prefixItems[{number}]"))

    def number(self, schema: Schema, path: str) -> Iterator[Diagnostic]:
        for words in _ENDS:
            if not any(word in schema for word in words):
                yield self.unbounded(path, words[0])

    def open(self, path: str, what: str) -> Diagnostic:
        message = f"found a part that lets {what} through, expected it closed"
        return finding("schema-open", self.where(path), message)

    def unbounded(self, path: str, word: str) -> Diagnostic:
        return finding("schema-unbounded", self.where(path), f"found no {word}, expected one")

    def where(self, path: str) -> str:
        return f"{self.name}: {path or 'the whole schema'}"


def _kinds(schema: Schema) -> set[str]:
    """The JSON types that a part describes, by its own word or by what it is about."""
    declared = schema.get("type")
    if declared is not None:
        return set(declared) if isinstance(declared, list) else {str(declared)}
    return {kind for kind, words in _ABOUT.items() if any(word in schema for word in words)}


def _at(path: str, step: str) -> str:
    return f"{path}.{step}" if path else step
