"""Validation of a document by its schema, and the sound part of a faulty one.

The schema of a document is that of the format, ``rule-set-core-1.schema.json``, with the parts of
the sections that the document has. ``rule-set-1.schema.json`` is made of all that ship, for
editors; nothing reads it here.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Collection
from decimal import Decimal
from functools import cache, cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import attrs

from tallystick import resources
from tallystick.diagnostics import nearest
from tallystick.errors import MOST_TOLD
from tallystick.io.documents import read_json
from tallystick.io.json_schema import followed
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick.rules.toml import NUMBER, UnusableNumber, is_usable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import jsonschema_rs

    from tallystick.rules.toml import KeyPath

CORE_SCHEMA = "rule-set-core-1"
"""The schema of the sections that no plugin brings."""
_OF_FILE = frozenset({"$defs", "$id", "$ref", "$schema"})
"""Keywords of a file that its parts in place are without."""
_FORM, _WHOLE = "definition", "wholeNumber"
"""Keywords of a schema in place: the description of a definition, and the mark of whole numbers."""
_TOLD = frozenset({"description", "documentation", "examples", "title"})
"""Keywords that no value depends on: one beside a reference stands in place of the definition's."""

# errors of these keywords leave the value in a shape that the model can hold
_SHAPE_KEPT = frozenset(
    {"minimum", "maximum", "pattern", "maxLength", "minItems", "minProperties", "uniqueItems"}
)
_TYPES = {
    "number": "a number",
    "integer": "a whole number",
    "string": "a text in quotes",
    "boolean": "true or false",
    "object": "a table",
    "array": "an array",
}
# sections without which there is nothing to check
_NEEDED = frozenset({"rule_set", "axes", "measures", "skill_types"})
# sections whose entries stand for themselves
_BY_ENTRY = frozenset({"axes", "measures", "skill_types"})


@attrs.frozen
class Validation:
    """The result of validating a document by its schema.

    Attributes:
        findings: every error.
        unknown: the paths of keys that the schema does not know.
        broken: the paths of values that the model cannot hold.
    """

    findings: tuple[Finding, ...]
    unknown: tuple[KeyPath, ...]
    broken: tuple[KeyPath, ...]


@attrs.frozen
class Declared:
    """The names that a document declares, whether or not what they name is sound."""

    sections: frozenset[str]
    axes: frozenset[str]
    measures: frozenset[str]
    skill_types: frozenset[str]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Declared:
        """Return the names in the tables of a document."""
        named = (_keys(data.get(section)) for section in ("axes", "measures", "skill_types"))
        return cls(frozenset(data), *named)


def sound_part(
    data: Mapping[str, Any], unknown: Collection[KeyPath], broken: Collection[KeyPath]
) -> Mapping[str, Any] | None:
    """The tables of a faulty document without unknown keys and without what holds broken values.

    All that is wrong with a file is reported at once. So the parts that the schema refuses are left
    out, and the rest goes through the cross checks as if it were whole; what was declared is
    remembered, lest a part that was left out be reported as missing.

    Returns:
        None when a section is broken without which nothing can be checked.
    """
    if not unknown and not broken:
        return data
    leave_out = {_entry(path) for path in broken}
    if None in leave_out:
        return None
    sound: dict[str, Any] = copy.deepcopy(dict(data))
    for path in (*unknown, *filter(None, leave_out)):
        _remove(sound, path)
    return sound


@attrs.frozen(eq=False, slots=False)
class DocumentSchema:
    """The schema of documents that have some sections, or of other files in TOML.

    Attributes:
        document: the JSON Schema, as `in_place` returns it.
        expectation: returns what a part of it expects, for people.
    """

    document: dict[str, Any]
    expectation: Callable[[Mapping[str, Any]], str] = attrs.field(
        default=attrs.Factory(lambda: describe)
    )

    def validate(self, data: Mapping[str, Any], others: Collection[str] = ()) -> Validation:
        """Return what the schema has against the tables of a document.

        Args:
            data: the tables.
            others: names of sections that the document could have, for hints.
        """
        plain = _json_of(data)
        if self.validator.is_valid(plain):
            return Validation((), (), ())
        findings: list[Finding] = []
        unknown: list[KeyPath] = []
        broken: list[KeyPath] = []
        missing: dict[KeyPath, dict[str, Finding]] = defaultdict(dict)
        closed: dict[KeyPath, Collection[str]] = {}
        for error in self.validator.iter_errors(plain):
            path, value = followed(data, error.instance_path)
            *around, word = map(str, error.schema_path)
            part, kind = self._part(around), error.kind
            if kind.name == "additionalProperties":
                closed[path] = {*part["properties"], *(() if path else others)}
            elif kind.name == "required":
                missing[path][kind.value] = self._missing(part, path, kind.value)
                broken.append(path)
            elif kind.name == "propertyNames":
                name = kind.value.instance
                key = f"the key {shown(name)}"
                findings.append(mistake((*path, name), key, self.expectation(part)))
            else:
                text, expected = shown(value), self.expectation(part)
                if _is_unusable(value):
                    expected = NUMBER
                elif isinstance(value, Decimal) and _WHOLE in part:
                    text = str(value)
                    expected += f": write {value:.0f}" * (value == value.to_integral_value())
                findings.append(mistake(path, text, expected))
                broken += [] if word in _SHAPE_KEPT else [path]
        for path, known in closed.items():
            _, table = followed(data, path)
            extra = list(_unknown_keys(path, table, known, missing[path]))
            unknown += [finding.path for finding in extra]
            findings += extra
            # a key that is misspelt is not missing too
            words = [key for key in table if key not in known]
            missing[path] = {k: v for k, v in missing[path].items() if not nearest(k, words)}
        findings += chain.from_iterable(lacking.values() for lacking in missing.values())
        # a value can fail two keywords with one expectation
        return Validation(tuple(dict.fromkeys(findings)), tuple(unknown), tuple(broken))

    def without_documentation(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the tables of a document without what the schema marks as documentation."""
        return _without(data, self.document)

    @cached_property
    def documentation(self) -> tuple[KeyPath, ...]:
        """Return the paths of what is marked as documentation, each with everything below it."""
        return tuple(_documentation(self.document, ()))

    def _part(self, path: Iterable[str]) -> Mapping[str, Any]:
        """Return the part of the schema at a path of an error, with the nearest description."""
        part: Any = self.document
        description = ""
        for step in path:
            part = part[int(step)] if isinstance(part, list) else part[step]
            named = part if isinstance(part, dict) else {"description": ""}
            description = named.get(_FORM) or named.get("description", description)
        return {**part, "description": description}

    def _missing(self, part: Mapping[str, Any], path: KeyPath, key: str) -> Finding:
        # what is asked under a condition may say of the key what it is, or leave it to the table
        wanted: Mapping[str, Any] = self.document
        for step in (*path, key):
            wanted = child(wanted, step)
        wanted = part.get("properties", {}).get(key) or wanted
        return mistake((*path, key), "", f"{self.expectation(wanted)}, which is missing")

    @cached_property
    def validator(self) -> jsonschema_rs.Draft202012Validator:
        """The schema, compiled."""
        import jsonschema_rs  # who only asks what is documentation needs none

        return jsonschema_rs.Draft202012Validator(
            self.document,
            keywords={_WHOLE: _WholeNumber},
            offline=True,
        )


def child(
    schema: Mapping[str, Any], key: str | int, table: Mapping[str, Any] | None = None
) -> Mapping[str, Any]:
    """Return the schema of what a key or an index leads to; empty where none is known.

    Args:
        schema: that of a table or an array.
        key: the key or index.
        table: the table; a constant in it can choose an alternative, such as the kind of a step.
    """
    for part in (*_chosen(schema, table or {}), schema):
        if isinstance(key, int):
            inner = part.get("items")
        else:
            inner = part.get("properties", {}).get(key) or part.get("additionalProperties")
        if isinstance(inner, dict):
            return inner
    return {}


def _chosen(schema: Mapping[str, Any], table: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the alternatives that the constants of a table choose."""
    for rule in schema.get("allOf", ()):
        wanted = rule.get("if", {}).get("properties", {})
        if wanted and all(table.get(key) == part.get("const") for key, part in wanted.items()):
            yield rule.get("then", {})


@cache
def core_schema() -> Mapping[str, Any]:
    """Return the schema of the sections that no plugin brings, with its definitions apart."""
    path = resources.schema_path(CORE_SCHEMA)
    schema: Mapping[str, Any] = read_json(path, numbers="decimal")
    return schema


def in_place(part: Any, definitions: Mapping[str, Any]) -> Any:  # noqa: ANN401  # any part of a schema
    """Return a part of a schema with each definition in the place of a reference to it.

    Beside a reference a description may stand in place of the definition's, which is kept for
    messages about a wrong value. What is a whole number is marked, as JSON Schema has ``1.0`` for
    an integer, and no `int` holds it.

    Raises:
        ValueError: another word stands beside a reference and in the definition, where both would
            count.
        KeyError: there is no definition of a name.
        RecursionError: a definition leads to itself.
    """
    if isinstance(part, list):
        return [in_place(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    own = {k: in_place(v, definitions) for k, v in part.items() if k not in _OF_FILE}
    if "$ref" in part:
        definition = in_place(definitions[part["$ref"].removeprefix("#/$defs/")], definitions)
        for word in sorted(own.keys() & definition.keys() - _TOLD):
            if own[word] != definition[word]:
                raise ValueError(f"{word!r} beside a reference to {part['$ref']}, which has it too")
        return {**definition, _FORM: definition.get("description", ""), **own}
    is_whole = own.get("type") == "integer" or type(own.get("const")) is int
    return {**own, _WHOLE: True} if is_whole else own


def describe(schema: Any) -> str:  # noqa: ANN401  # a JSON Schema
    """Return a schema's expectation for people: its type, range and words, and its description."""
    description = schema.get("description", "")
    if "enum" in schema:
        words = " or ".join(shown(word) for word in schema["enum"])
        return f"{words} ({description})"
    if "const" in schema:
        return f"{shown(schema['const'])} ({description})"
    if "pattern" in schema:
        return str(description)
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    named = " or ".join(_TYPES[type_name] for type_name in types)
    return f"{named}{_range(schema)} ({description})"


def _range(schema: Mapping[str, Any]) -> str:
    if isinstance(schema["type"], list):
        return ""
    if "minimum" in schema:
        return f" from {shown(schema['minimum'])} to {shown(schema['maximum'])}"
    if "maxLength" in schema:
        return f" of at most {schema['maxLength']} characters"
    filled = " that is not empty" if {"minItems", "minProperties"} & schema.keys() else ""
    return filled + (" without repetitions" if "uniqueItems" in schema else "")


def _unknown_keys(
    path: KeyPath, table: Mapping[str, Any], known: Collection[str], missing: Collection[str]
) -> Iterator[Finding]:
    """Yield a finding for each key of a table that is none of the known ones."""
    unknown = (key for key in table if key not in known)
    for index, key in enumerate(unknown):
        # a hint costs more than everything else that is done with a key
        hint = nearest(key, missing) or nearest(key, known) if index < MOST_TOLD else ""
        # all that there are, told once
        every = "" if index else f": {one_of(sorted(known))}"
        yield mistake((*path, key), shown(table[key]), f"a key of the format{hint or every}")


def _json_of(value: Any) -> Any:  # noqa: ANN401  # any value of a document
    """Return the value with null for dates and for numbers that no rule set may hold."""
    if isinstance(value, dict):
        return {key: _json_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json_of(item) for item in value]
    if isinstance(value, str | int | Decimal) and not _is_unusable(value):
        return value
    return None


def _is_unusable(value: object) -> bool:
    if isinstance(value, int):
        return not is_usable(int(value))
    return isinstance(value, UnusableNumber)


class _WholeNumber:
    """The keyword of a number that is written without a fraction."""

    def __init__(self, parent: object, value: object, path: object) -> None:
        pass

    def validate(self, instance: object) -> None:
        if type(instance) is not int:
            raise ValueError(instance)


def _documentation(schema: Mapping[str, Any], path: KeyPath) -> Iterator[KeyPath]:
    for key, part in schema.get("properties", {}).items():
        if part.get("documentation"):
            yield (*path, key)
        else:
            yield from _documentation(part, (*path, key))


def _without(data: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    parts = {key: child(schema, key) for key in data}
    return {
        key: _without(value, parts[key]) if isinstance(value, dict) else value
        for key, value in data.items()
        if not parts[key].get("documentation")
    }


def _keys(table: object) -> frozenset[str]:
    return frozenset(table) if isinstance(table, dict) else frozenset()


def _entry(path: KeyPath) -> KeyPath | None:
    if path and path[0] not in _NEEDED:
        return path[:1]
    if len(path) > 1 and path[0] in _BY_ENTRY:
        return path[:2]
    return None


def _remove(data: Any, path: KeyPath) -> None:  # noqa: ANN401  # any value of a document
    for part in path[:-1]:
        data = data[part]
    data.pop(path[-1], None)
