"""The records of a plugin: their schemas, the facts that are read of them, examples, generators.

A schema has to be closed and bounded, each fact has to be in some record, and what the plugin gives
as examples, or makes up, has to be scored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import attrs

from tallystick.diagnostics import Diagnostic
from tallystick.errors import FormulaError, SchemaError, TallystickError
from tallystick.formula.domain import Domain
from tallystick.formula.facts import domain_of, reader_of
from tallystick.formula.formula import Formula, Requirement
from tallystick.formula.schema_path import resolve
from tallystick.formula.text import fact_text
from tallystick.formula.tree import Node, facts_in
from tallystick.plugins.skill_type import SkillType
from tallystick.records.decoding import decoder_of
from tallystick.records.rejects import Reject
from tallystick.records.schema import Schema, load_schema, skill_type_of
from tallystick.scoring.binding import narrow
from tallystick_conformance.loading import Subject
from tallystick_conformance.report import finding, finding_in
from tallystick_conformance.testing.record_checker import RecordChecker
from tallystick_conformance.testing.samples import SEED, generated

_SHARED = "#/$defs/record-1."
_BRANCHES = ("anyOf", "oneOf", "allOf")
_CLOSED = ("additionalProperties", "unevaluatedProperties")
_ENDS = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))
_WITHOUT_BOUNDS = re.compile(r"found no (minimum|maximum|maxItems|maxProperties) at")
_TOLD = 3
"""Maximum number of records of a file or a generator that are reported; others fail alike."""
_KEYWORDS = {
    "object": ("properties", "additionalProperties", "unevaluatedProperties", "maxProperties"),
    "array": ("items", "prefixItems", "maxItems"),
    "number": ("minimum", "maximum", "multipleOf"),
}


def check_schemas(subject: Subject) -> Iterator[Diagnostic]:
    """Yield every schema of the plugin loads, describes its type, and is closed and bounded."""
    for skill_type in subject.plugin.skill_types:
        try:
            schema = load_schema(skill_type.schema)
        except SchemaError as error:
            yield finding("schema-invalid", skill_type.name, str(error))
            continue
        if skill_type_of(schema) != skill_type.name:
            message = f"found a schema of {skill_type_of(schema)!r}, expected the type's own name"
            yield finding("schema-invalid", f"{skill_type.name}: properties.skill_type", message)
        yield from _SchemaWalk(skill_type.name, schema).findings()


@attrs.frozen
class _SchemaWalk:
    """A walk over every part of a schema that describes a value, each definition once.

    Conditions (``if``, ``not``, ``contains`` …) only narrow what other parts let through.
    """

    name: str
    schema: Schema
    seen: set[str] = attrs.field(factory=set)

    def findings(self) -> Iterator[Diagnostic]:
        yield from self.part(self.schema, "")

    def part(self, schema: Any, path: str, *, closed: bool = False) -> Iterator[Diagnostic]:  # noqa: ANN401  # or a boolean
        """Yield the faults of a part; ``closed`` says that what encloses it lets in no more."""
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
        """Yield a definition by its own path; those of the engine are closed and bounded."""
        if reference in self.seen or reference.startswith(_SHARED):
            return
        self.seen.add(reference)
        path = reference.removeprefix("#/").replace("/", ".")
        yield from self.part(resolve(self.schema, reference), path)

    def described(self, schema: Schema, path: str, closed: bool) -> Iterator[Diagnostic]:
        kinds = _kinds(schema)
        branches = [(word, branch) for word in _BRANCHES for branch in schema.get(word, ())]
        if not kinds and not branches:
            yield self.open(path, "any value")
        if "object" in kinds or "allOf" in schema:
            yield from self.object(schema, path, closed or not kinds)
        if "array" in kinds:
            yield from self.array(schema, path)
        if {"number", "integer"} & kinds:
            yield from self.number(schema, path)
        inside = closed or any(schema.get(word) is False for word in _CLOSED)
        for number, (word, branch) in enumerate(branches):
            yield from self.part(branch, _at(path, f"{word}[{number}]"), closed=inside)

    def object(self, schema: Schema, path: str, closed: bool) -> Iterator[Diagnostic]:
        for name, part_schema in schema.get("properties", {}).items():
            yield from self.part(part_schema, _at(path, f"properties.{name}"))
        rest = [schema[word] for word in _CLOSED if word in schema]
        maps = [part_schema for part_schema in rest if isinstance(part_schema, Mapping)]
        maps += schema.get("patternProperties", {}).values()
        if not closed and False not in rest and (not maps or "patternProperties" in schema):
            yield self.open(path, "fields that it does not describe")
        if maps and "maxProperties" not in schema:
            yield self.unbounded(path, "maxProperties")
        for part_schema in maps:
            yield from self.part(part_schema, _at(path, "additionalProperties"))

    def array(self, schema: Schema, path: str) -> Iterator[Diagnostic]:
        if "maxItems" not in schema:
            yield self.unbounded(path, "maxItems")
        yield from self.part(schema.get("items", True), _at(path, "items"))
        for number, part_schema in enumerate(schema.get("prefixItems", ())):
            yield from self.part(part_schema, _at(path, f"prefixItems[{number}]"))

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
    """Return the JSON types that a part describes, by its own word or by what it is about."""
    declared = schema.get("type")
    if declared is not None:
        return set(declared) if isinstance(declared, list) else {str(declared)}
    return {kind for kind, words in _KEYWORDS.items() if any(word in schema for word in words)}


def _at(path: str, step: str) -> str:
    return f"{path}.{step}" if path else step


def check_facts(subject: Subject) -> Iterator[Diagnostic]:
    """Each formula has a skill type with all of its facts; each type has those it requires."""
    if any(own.name not in subject.schemas for own in subject.plugin.skill_types):
        return  # what is missing may be in the schema that cannot be used
    for formula in subject.plugin.formulas:
        facts = facts_of(formula)
        # a component of a group reads no record; with facts of both kinds nothing can read it
        if any(reader_of(fact).of_record for fact in facts):
            yield from _unreachable(subject, formula.name, facts, list(subject.schemas))
    for skill_type in subject.plugin.skill_types:
        for requirement in skill_type.requirements:
            yield from _unreachable(
                subject, requirement.name, facts_of(requirement), [skill_type.name]
            )
    for requirement in subject.plugin.requirements:
        yield from _unreachable(
            subject, requirement.name, facts_of(requirement), list(subject.schemas)
        )


def _unreachable(
    subject: Subject, name: str, facts: Sequence[Node], types: Sequence[str]
) -> Iterator[Diagnostic]:
    lacking = {each: list(_lacking(facts, subject.schemas[each])) for each in types}
    if not facts or not all(lacking.values()):
        return
    ours = [skill_type.name for skill_type in subject.plugin.skill_types]
    nearest = min(lacking, key=lambda each: (len(lacking[each]), each not in ours), default=None)
    for fact, reason in lacking.get(nearest or "", ()):
        if not is_without_bounds(reason):
            message = f"{reason} (in {nearest}, the skill type that comes nearest)"
            yield finding("fact-unreachable", name, message, {"fact": fact_text(fact)})


def is_without_bounds(reason: str) -> bool:
    """Return whether a fact is refused for a schema without bounds, see ``check_schemas``."""
    return _WITHOUT_BOUNDS.match(reason) is not None


def has_all(facts: Sequence[Node], subject: Subject) -> bool:
    """Return whether a skill type has all of the facts."""
    return any(domains_of(facts, schema) is not None for schema in subject.schemas.values())


def _lacking(facts: Sequence[Node], schema: Schema) -> Iterator[tuple[Node, str]]:
    for fact in facts:
        try:
            narrow(fact, domain_of(fact, schema))
        except FormulaError as error:
            yield fact, str(error)


def facts_of(what: Formula | Requirement) -> list[Node]:
    """Return the facts that a formula or a requirement reads, each once."""
    trees = [what.condition] if isinstance(what, Requirement) else [what.tree, what.applies]
    return list(facts_in(*trees).values())


def domains_of(facts: Sequence[Node], schema: Schema) -> dict[str, Domain] | None:
    """Return the range of each fact by its digest; None if the schema lacks one."""
    try:
        return {fact.digest: narrow(fact, domain_of(fact, schema)) for fact in facts}
    except FormulaError:
        return None


def check_examples(subject: Subject) -> Iterator[Diagnostic]:
    """Yield every example, and every record of a generator, is valid and meets the requirements."""
    types = [each for each in subject.plugin.skill_types if _has_schema(each)]
    checkers = {t.name: RecordChecker(load_schema(t.schema), t.requirements) for t in types}
    # types may share a file of examples
    for path in dict.fromkeys(each.examples for each in types if each.examples is not None):
        yield from _examples(path, checkers)
    for skill_type in types:
        yield from _generated(skill_type, checkers)


def _has_schema(skill_type: SkillType) -> bool:
    """Return whether the schema can be used; its own check reports the faults of another."""
    try:
        return skill_type_of(load_schema(skill_type.schema)) == skill_type.name
    except SchemaError:
        return False


def _refused(
    checkers: Mapping[str, RecordChecker], lines: Sequence[bytes]
) -> Iterator[tuple[int, str]]:
    """Yield the numbers of the lines that are no records of the plugin, and why not."""
    decoder = decoder_of({name: checker.schema for name, checker in checkers.items()})
    for number, line in enumerate(lines, 1):
        decoded = decoder.decode(line, number)
        if isinstance(decoded, Reject):
            path = decoded.path or "the record"
            why = f"{decoded.code}: {path}: found {decoded.value}, expected {decoded.expected}"
            yield number, why
            continue
        record = json.loads(line)
        for requirement in checkers[record["skill_type"]].unmet(record) or ():
            yield number, f"{requirement.code}: expected {requirement.expected}"


def _examples(path: Path, checkers: Mapping[str, RecordChecker]) -> Iterator[Diagnostic]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"found a file that cannot be read ({reason}), expected examples"
        yield finding_in("example-refused", path, message)
        return
    for number, why in islice(_refused(checkers, lines), _TOLD):
        yield finding_in("example-refused", path, why, number)


def _generated(
    skill_type: SkillType, checkers: Mapping[str, RecordChecker]
) -> Iterator[Diagnostic]:
    try:
        lines = generated(skill_type, SEED)
    except TallystickError as error:
        yield finding("generator-refused", skill_type.name, str(error))
        return
    for number, why in islice(_refused(checkers, lines), _TOLD):
        yield finding("generator-refused", f"{skill_type.name}, record {number}", why)
