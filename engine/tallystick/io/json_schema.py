"""JSON Schemas of the engine's own files: what a value of such a file lacks or has too much.

Signed statements, proofs and mappings are checked here against the schemas that ship. Records and
rule sets have validators of their own: those schemas are made when a rule set is loaded, and every
problem of a value is looked for, not the first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from tallystick.diagnostics import Diagnostic
from tallystick.io.documents import read_json
from tallystick.resources import schema_path

if TYPE_CHECKING:
    import jsonschema_rs

DRAFT = "https://json-schema.org/draft/2020-12/schema"
"""The one draft of JSON Schema that files are written in."""
_LONGEST = 80
_MOST_NAMES = 5
_REMEDY = "write what the format has"


def first_problem(name: str, value: object) -> Diagnostic | None:
    """Return the first problem of a JSON value under a schema of the engine; None where it fits.

    Its path is empty where the value as a whole is wrong.

    Args:
        name: the schema, such as ``envelope-1``.
        value: the JSON value.
    """
    validator = _validator(name)
    try:
        if validator.is_valid(value):
            return None
        error = next(validator.iter_errors(value))
    except ValueError as unusual:
        # the library follows no value as deep as the parser does
        reason = str(unusual).lower()
        message = f"found a value that cannot be checked ({reason}), expected what the format has"
        return Diagnostic(code=name, message=message, remedy=_REMEDY)
    path = _path(error.instance_path)
    return Diagnostic(code=name, path=path, message=_message(error, _schema(name)), remedy=_REMEDY)


def schema_defect(document: Mapping[str, Any]) -> str:
    """Return what no JSON Schema 2020-12 may hold, and where; empty where a document is one.

    Args:
        document: the document; the draft that it names is not looked at.
    """
    import jsonschema_rs

    own = {**document, "$schema": DRAFT}
    if jsonschema_rs.meta.is_valid(own):
        return ""
    # who writes a schema asks rarely, and for the best of many reasons
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it ships none
    from jsonschema.exceptions import best_match  # type: ignore[import-untyped]

    error = best_match(Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(own))
    if error is None:
        return "a part that cannot be compiled, such as a pattern"
    return f"at {'/'.join(map(str, error.absolute_path)) or 'the top'}: {error.message}"


def followed(value: Any, steps: Sequence[str | int]) -> tuple[tuple[str | int, ...], Any]:  # noqa: ANN401  # any JSON value
    """Return the path of an error as far as it leads, and the part of the value there.

    The validator tells the keys "8" and "08" as the number 8, and an empty key not at all.
    """
    path: list[str | int] = []
    for step in steps:
        key = step if isinstance(value, list) else _key(value, str(step))
        if key is None:
            break
        path.append(key)
        value = value[key]
    return tuple(path), value


def _key(table: Mapping[str, Any], text: str) -> str | None:
    if text in table:
        return text
    return next((key for key in table if (key.lstrip("+0") or "0") == text), None)


def _message(error: jsonschema_rs.ValidationError, schema: Mapping[str, Any]) -> str:
    kind = error.kind
    if kind.name == "required":
        return f"found no {_shown(kind.value)}, expected it"
    if kind.name == "additionalProperties":
        extra = ", ".join(map(_shown, kind.value[:_MOST_NAMES]))
        return f"found {extra}, expected none but the keys of the format"
    # the innermost description above the word of the schema that was not met
    part: Any = schema
    description = ""
    for step in error.schema_path:
        if isinstance(part, Mapping):
            description = part.get("description", description)
        part = part[step]
    return f"found {_shown(error.instance)}, expected {description or 'another value'}"


def _path(steps: Sequence[str | int]) -> str:
    text = "".join(
        f"[{step}]" if isinstance(step, int) else f".{step[:_LONGEST]}" for step in steps
    )
    return text.removeprefix(".")


def _shown(value: object) -> str:
    match value:
        case Mapping():
            return "an object"
        case list():
            return f"a list of {len(value)}"
        case str():
            value = value[:_LONGEST]
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


@cache
def _schema(name: str) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = read_json(schema_path(name))
    return schema


@cache
def _validator(name: str) -> jsonschema_rs.Validator:
    import jsonschema_rs

    return jsonschema_rs.validator_for(dict(_schema(name)))
