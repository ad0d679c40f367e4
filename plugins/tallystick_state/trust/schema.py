"""The JSON Schemas of signed things, and what a value that does not fit one is told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from tallystick.errors import TrustError
from tallystick.resources import schema_path

if TYPE_CHECKING:
    import jsonschema_rs

_LONGEST = 80
_MOST_NAMES = 5


def check(name: str, value: object, where: str, code: str) -> None:
    """Refuse a value that does not fit a schema of the engine.

    Args:
        name: the schema, such as ``envelope-1``.
        value: the JSON value.
        where: what it is of, for the error.
        code: the code of the error.

    Raises:
        TrustError: it does not fit; the first thing that is wrong is told.
    """
    validator = _validator(name)
    try:
        if validator.is_valid(value):
            return
        error = next(validator.iter_errors(value))
    except ValueError as unusual:
        # the library follows no value as deep as the parser does
        message = f"{where}: found a value that cannot be checked ({str(unusual).lower()})"
        raise TrustError(f"{message}, expected what the format has", code=code) from None
    raise TrustError(f"{where}: {_told(error, _schema(name))}", code=code)


def _told(error: jsonschema_rs.ValidationError, schema: Mapping[str, Any]) -> str:
    path, kind = _path(error.instance_path), error.kind
    if kind.name == "required":
        return f"{path}: found no {_shown(kind.value)}, expected it"
    if kind.name == "additionalProperties":
        extra = ", ".join(map(_shown, kind.value[:_MOST_NAMES]))
        return f"{path}: found {extra}, expected none but the keys of the format"
    return f"{path}: found {_shown(error.instance)}, expected {_expected(error, schema)}"


def _expected(error: jsonschema_rs.ValidationError, schema: Mapping[str, Any]) -> str:
    """Return the innermost description above the word of the schema that was not met."""
    part: Any = schema
    told = ""
    for step in error.schema_path:
        told = part.get("description", told) if isinstance(part, Mapping) else told
        part = part[step]
    return told or "another value"


def _path(steps: Sequence[str | int]) -> str:
    text = "".join(
        f"[{step}]" if isinstance(step, int) else f".{step[:_LONGEST]}" for step in steps
    )
    return text.removeprefix(".") or "the whole"


def _shown(value: object) -> str:
    match value:
        case Mapping():
            return "an object"
        case list():
            return f"a list of {len(value)}"
        case str():
            value = value[:_LONGEST]
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


@cache
def _schema(name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(schema_path(name).read_text("utf-8"))
    return found


@cache
def _validator(name: str) -> jsonschema_rs.Validator:
    import jsonschema_rs

    return jsonschema_rs.validator_for(dict(_schema(name)))
