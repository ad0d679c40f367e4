"""Validation of a document by ``rule-set-1.schema.json``, and the sound part of a faulty one."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

import attrs

from tallystick import resources
from tallystick.diagnostics import nearest
from tallystick.errors import MOST_TOLD
from tallystick.rules.findings import Finding, mistake, one_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import jsonschema_rs

    from tallystick.rules.toml import KeyPath

SCHEMA = "rule-set-1"

_Error = Any  # jsonschema ships no types

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
    """What the schema says of a document.

    Attributes:
        findings: every error.
        unknown: the paths of keys that the schema does not know.
        broken: the paths of values that the model cannot hold.
    """

    findings: tuple[Finding, ...]
    unknown: tuple[KeyPath, ...]
    broken: tuple[KeyPath, ...]


def validate(data: Mapping[str, Any]) -> Validation:
    """What the schema says of the tables of a document."""
    if _is_sound(data):
        return Validation((), (), ())
    findings: list[Finding] = []
    unknown: list[KeyPath] = []
    broken: list[KeyPath] = []
    for error in _validator().iter_errors(data):
        path = tuple(error.absolute_path)
        if error.validator == "additionalProperties":
            extra = list(_unknown_keys(error, path))
            findings += extra
            unknown += [finding.path for finding in extra]
        elif "propertyNames" in error.schema_path:
            findings.append(_bad_name(error, path))
        elif error.validator == "required":
            findings.append(_missing(error, path))
            broken.append(path)
        else:
            findings.append(mistake(path, shown(error.instance), describe(error.schema)))
            broken += [] if error.validator in _SHAPE_KEPT else [path]
    # a value can fail two keywords with one expectation
    return Validation(tuple(dict.fromkeys(findings)), tuple(unknown), tuple(broken))


@attrs.frozen
class Declared:
    """The names that a document declares, whether or not what they name is sound."""

    sections: frozenset[str]
    axes: frozenset[str]
    measures: frozenset[str]
    skill_types: frozenset[str]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Declared:
        """The names in the tables of a document."""
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
    kept: dict[str, Any] = copy.deepcopy(dict(data))
    for path in (*unknown, *filter(None, leave_out)):
        _remove(kept, path)
    return kept


def without_documentation(data: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a document without what the schema marks as documentation."""
    return _without(data, _schema())


@cache
def documentation() -> tuple[KeyPath, ...]:
    """The paths of what the schema marks as documentation, each with everything below it."""
    return tuple(_documentation(_schema(), ()))


def _documentation(schema: Mapping[str, Any], path: KeyPath) -> Iterator[KeyPath]:
    for key, part in schema.get("properties", {}).items():
        inner = _resolved(part)
        if inner.get("documentation"):
            yield (*path, key)
        else:
            yield from _documentation(inner, (*path, key))


def _without(data: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    inner = {key: _resolved(_declared(schema, key)) for key in data}
    return {
        key: _without(value, inner[key]) if isinstance(value, dict) else value
        for key, value in data.items()
        if not inner[key].get("documentation")
    }


def describe(schema: Any) -> str:  # noqa: ANN401  # a JSON Schema
    """What a schema expects, for people: its type, range and words, and its description."""
    description = schema.get("description", "")
    if "enum" in schema:
        words = " or ".join(shown(word) for word in schema["enum"])
        return f"{words} ({description})"
    if "const" in schema:
        return f"{shown(schema['const'])} ({description})"
    if "pattern" in schema:
        return str(description)
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    named = " or ".join(_TYPES[each] for each in types)
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


def _unknown_keys(error: _Error, path: KeyPath) -> Iterator[Finding]:
    known = error.schema["properties"]
    unknown = [key for key in error.instance if key not in known]
    for place, key in enumerate(unknown):
        # a hint costs more than everything else that is done with a key
        hint = nearest(key, known) if place < MOST_TOLD else ""
        # all that there are, told once
        others = "" if place else f": {one_of(sorted(known))}"
        expected = f"a key of the format{hint or others}"
        yield mistake((*path, key), shown(error.instance[key]), expected)


def _bad_name(error: _Error, path: KeyPath) -> Finding:
    return mistake(
        (*path, error.instance), f"the key {shown(error.instance)}", describe(error.schema)
    )


def _missing(error: _Error, path: KeyPath) -> Finding:
    # jsonschema reports each missing key on its own, and names it only in its message
    key = error.message.split("'")[1]
    # what is asked under a condition may say of the key what it is, or leave it to the table itself
    named = error.schema.get("properties", {}).get(key)
    wanted = _subschema((*path, key)) if named is None else _resolved(named)
    return mistake((*path, key), "", f"{describe(wanted)}, which is missing")


def _subschema(path: KeyPath) -> Mapping[str, Any]:
    """The part of the schema that rules the value at a path."""
    schema: Mapping[str, Any] = _schema()
    for part in path:
        schema = _resolved(schema["items"] if isinstance(part, int) else _declared(schema, part))
    return schema


def _declared(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """What a schema says of a key of a table."""
    found: Mapping[str, Any] = (
        schema.get("properties", {}).get(key) or schema["additionalProperties"]
    )
    return found


def _resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema with what it refers to."""
    if "$ref" not in schema:
        return schema
    return {**_schema()["$defs"][schema["$ref"].rpartition("/")[2]], **schema}


@cache
def _schema() -> Mapping[str, Any]:
    text = resources.schema_path(SCHEMA).read_text(encoding="utf-8")
    schema: Mapping[str, Any] = json.loads(text, parse_float=Decimal)
    return schema


@cache
def _validator() -> Any:  # noqa: ANN401  # jsonschema ships no types
    # imported late: it costs more than everything else, and scoring under a loaded rule set
    # never needs it
    from jsonschema import (  # type: ignore[import-untyped]  # it ships none  # noqa: PLC0415
        Draft202012Validator,
        ValidationError,
        validators,
    )

    def unique(_validator: Any, wanted: bool, items: Any, _schema: Any) -> Iterator[Any]:  # noqa: ANN401  # as jsonschema calls it
        # its own compares each with each; items that are no text are errors of their own
        texts = [item for item in items if isinstance(item, str)] if isinstance(items, list) else []
        if wanted and len(set(texts)) < len(texts):
            yield ValidationError("repetitions")

    return validators.extend(Draft202012Validator, {"uniqueItems": unique})(_schema())


def _is_sound(data: Mapping[str, Any]) -> bool:
    """Whether a document surely follows the schema.

    Most do, and jsonschema, which tells why another does not, takes longer to import than
    everything else that is done with a document.
    """
    try:
        return bool(_quick_validator().is_valid(data))
    except ValueError:
        return False  # a number that is none


@cache
def _quick_validator() -> jsonschema_rs.Draft202012Validator:
    import jsonschema_rs  # noqa: PLC0415  # as above

    return jsonschema_rs.Draft202012Validator(
        _with_whole_numbers(_schema()), keywords={"wholeNumber": _WholeNumber}
    )


def _with_whole_numbers(schema: Any) -> Any:  # noqa: ANN401  # any part of the schema
    """The schema in which ``1.0`` is no integer: jsonschema tells an integer by its Python type."""
    if isinstance(schema, dict):
        part = {key: _with_whole_numbers(value) for key, value in schema.items()}
        return {**part, "wholeNumber": True} if schema.get("type") == "integer" else part
    return schema


class _WholeNumber:
    """The keyword of a number that is written without a fraction."""

    def __init__(self, parent: object, value: object, path: object) -> None:
        pass

    def validate(self, instance: object) -> None:
        if type(instance) is not int:
            raise ValueError(instance)


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
