"""Record schemas: JSON Schema 2020-12 files, made self-contained.

The schema of a skill type may refer to ``record-1.schema.json#/$defs/NAME``. What it refers to is
copied into its own ``$defs`` under ``record-1.NAME``, so that one document says everything and one
digest covers it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from tallystick.canonical import CanonicalError, digest
from tallystick.errors import SchemaError
from tallystick.formula.schema_path import resolve
from tallystick.io.documents import LARGEST, read_json
from tallystick.io.json_schema import DRAFT, schema_defect
from tallystick.resources import schema_path

Schema = Mapping[str, Any]
"""A JSON Schema, or a part of one, as read from its file."""

MISSED = "missed_deadline"
"""The event that lets a record be without submission and checks."""

_COMMON = "record-1"
_COMMON_REFERENCE = f"{_COMMON}.schema.json#/$defs/"
_LOCAL_REFERENCE = "#/$defs/"
_ANNOTATIONS = ("description", "title", "$comment")
_UNSUPPORTED = ("$id", "$anchor", "$dynamicRef", "$dynamicAnchor")
_HOLDS_ONE = frozenset(
    (
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    )
)
_HOLDS_LIST = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_HOLDS_NAMED = frozenset(("$defs", "dependentSchemas", "patternProperties", "properties"))


@functools.cache
def load_schema(path: Path) -> Schema:
    """Return the self-contained schema of a skill type; read once, and not to be changed.

    Raises:
        SchemaError: a file is missing, is not JSON or not a 2020-12 schema, refers to what is not
            there, or does not declare the fields that every record has.
    """
    document = _read(path)
    _check_schema(document, path)
    bundled = _bundle(document, path)
    _check_references(bundled, path)
    _check_common_fields(bundled, path)
    return bundled


def schema_digest(schema: Schema) -> str:
    """Return the digest of what a self-contained schema demands, without descriptions and comments.

    Raises:
        SchemaError: a number of the schema has no canonical form.
    """
    meaning = deepcopy(dict(schema))
    for part in subschemas(meaning):
        for word in _ANNOTATIONS:
            part.pop(word, None)
    try:
        return digest(meaning)
    except CanonicalError as error:
        raise SchemaError(
            f"found a number without canonical form, expected whole numbers below 2^53: {error}"
        ) from error


def skill_type_of(schema: Schema) -> str:
    """Return the skill type that a self-contained schema describes.

    Raises:
        SchemaError: the field ``skill_type`` is not a ``const`` text.
    """
    declared = schema.get("properties", {}).get("skill_type", {})
    name = declared.get("const") if isinstance(declared, Mapping) else None
    if not isinstance(name, str) or not name:
        raise SchemaError('found no skill type, expected "skill_type": {"const": NAME}')
    return name


def empties(schema: Schema) -> tuple[str, ...]:
    """Return the paths of the lists and maps of a schema that are left out when empty.

    They are those that need not be there: a record that has an empty one is the same record without
    it. A part that refers to itself is told of once.
    """
    conditional = [schema.get(branch, {}) for branch in ("then", "else")]
    required = {name for each in conditional for name in each.get("required", ())}
    root = {**schema, "required": [*schema.get("required", ()), *required]}
    return tuple(sorted(_empties(root, schema, "", ())))


def _empties(part: Any, root: Schema, path: str, above: tuple[Any, ...]) -> Iterator[str]:  # noqa: ANN401  # a schema can be a boolean
    if not isinstance(part, Mapping) or any(part is ancestor for ancestor in above):
        return  # what refers to itself has such places at every depth
    above = (*above, part)
    for name, inner in part.get("properties", {}).items():
        value = _resolved(inner, root)
        if not isinstance(value, Mapping):
            continue
        kind, below = value.get("type"), f"{path}{name}"
        is_map = kind == "object" and "properties" not in value
        if (kind == "array" or is_map) and name not in part.get("required", ()):
            yield below
        if kind == "array":
            yield from _empties(_resolved(value.get("items"), root), root, f"{below}[].", above)
        elif is_map:
            values = _resolved(value.get("additionalProperties"), root)
            yield from _empties(values, root, f"{below}.*.", above)
        else:
            yield from _empties(value, root, f"{below}.", above)


def _resolved(part: Any, root: Schema) -> Any:  # noqa: ANN401  # a schema can be a boolean
    return resolve(root, part["$ref"]) if isinstance(part, Mapping) and "$ref" in part else part


def _read(path: Path) -> dict[str, Any]:
    try:
        document = read_json(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SchemaError(
            f"{path}: the schema cannot be read ({reason}), expected a file of JSON in UTF-8 of at "
            f"most {LARGEST} bytes"
        ) from error
    if not isinstance(document, dict):
        raise SchemaError(f"{path}: found {type(document).__name__}, expected a JSON object")
    return document


def _check_schema(document: Schema, path: Path) -> None:
    if document.get("$schema", DRAFT) != DRAFT:
        raise SchemaError(f'{path}: found "$schema" {document["$schema"]!r}, expected {DRAFT!r}')
    defect = schema_defect(document)
    if defect:
        raise SchemaError(f"{path}: found what no JSON Schema 2020-12 may hold {defect}")


def _bundle(document: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the schema with what it refers to in ``record-1`` among its own definitions."""
    shared = _read(schema_path(_COMMON))["$defs"]
    document.pop("$id", None)
    copied: dict[str, Any] = {}
    waiting = [document]
    while waiting:
        whole = waiting.pop()
        for part in subschemas(whole):
            name = _shared_name(part, path, shared, is_own=whole is document)
            if name is not None:
                part["$ref"] = f"{_LOCAL_REFERENCE}{_COMMON}.{name}"
                waiting += [] if name in copied else [shared[name]]
                copied[name] = shared[name]
    definitions = {f"{_COMMON}.{name}": copied[name] for name in sorted(copied)}
    if clashes := definitions.keys() & document.get("$defs", {}).keys():
        raise SchemaError(f"{path}: found the definition {min(clashes)!r}, expected another name")
    return {**document, "$schema": DRAFT, "$defs": {**document.get("$defs", {}), **definitions}}


def _shared_name(
    part: Schema, path: Path, shared: Mapping[str, Any], *, is_own: bool
) -> str | None:
    """Return the definition of ``record-1`` that a part refers to; None where it does to none.

    Args:
        part: of the schema, or of a definition of ``record-1``.
        path: of the schema.
        shared: the definitions.
        is_own: whether it is a part of the schema.
    """
    for word in _UNSUPPORTED:
        if word in part:
            raise SchemaError(f"{path}: found {word!r}, expected $ref and $defs alone")
    reference = str(part.get("$ref", "#"))
    if reference == "#" or (is_own and reference.startswith("#/")):
        return None
    name = reference.removeprefix(_COMMON_REFERENCE if is_own else _LOCAL_REFERENCE)
    if name == reference or name not in shared:
        names = ", ".join(sorted(shared))
        raise SchemaError(
            f"{path}: found the reference {reference!r}, expected {_LOCAL_REFERENCE}NAME, or "
            f"{_COMMON_REFERENCE}NAME with one of {names}"
        )
    return name


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401  # a schema can be a boolean
    """Yield a schema and every schema in it; those that are true or false are left out.

    Its own words can be changed as soon as it is there.
    """
    if not isinstance(schema, dict):
        return
    yield schema
    for word, value in schema.items():
        for inner in _inner(word, value):
            yield from subschemas(inner)


def _inner(keyword: str, value: Any) -> Iterable[Any]:  # noqa: ANN401  # whatever the keyword holds
    if keyword in _HOLDS_ONE:
        return (value,)
    if keyword in _HOLDS_LIST:
        return tuple(value)
    return tuple(value.values()) if keyword in _HOLDS_NAMED else ()


def _check_references(schema: Schema, path: Path) -> None:
    import jsonschema_rs

    linear = jsonschema_rs.RegexOptions()
    try:
        jsonschema_rs.Draft202012Validator(dict(schema), offline=True, pattern_options=linear)
    except ValueError as error:
        message = getattr(error, "message", str(error))
        hint = ": write the pattern without look-around and back-references" * ("regex" in message)
        raise SchemaError(f"{path}: the schema cannot be used: {message}{hint}") from error


def _check_common_fields(schema: Schema, path: Path) -> None:
    """Refuse a schema without the fields that the engine reads of every record."""
    common = _read(schema_path(_COMMON))
    properties = schema.get("properties", {})
    for name in common["required"]:
        if name not in schema.get("required", ()):
            raise SchemaError(f"{path}: found {name!r} not required, expected it under required")
    for name, declared in common["properties"].items():
        if "$ref" not in declared:
            continue
        kind = declared["$ref"].removeprefix(_LOCAL_REFERENCE)
        definition = properties.get(name)
        reference = definition.get("$ref") if isinstance(definition, Mapping) else None
        if reference != f"{_LOCAL_REFERENCE}{_COMMON}.{kind}":
            raise SchemaError(
                f"{path}: found another definition of the field {name!r}, or none, "
                f'expected {{"$ref": "{_COMMON_REFERENCE}{kind}"}}'
            )
    try:
        skill_type_of(schema)
    except SchemaError as error:
        raise SchemaError(f"{path}: {error}") from error
