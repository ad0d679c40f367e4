"""Messages of rejects: the path, the value found, and the expectation of a part of a schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tallystick.formula.schema_path import resolve
from tallystick.records.schema import Schema

NOTHING = "nothing"
"""The value of a missing field in messages; no JSON text, as a text in quotes would be."""

_SHOWN = 80
_pieces_of = json.JSONEncoder(ensure_ascii=False).iterencode
_UNITS = {"string": "character", "array": "item", "object": "entry"}
_LIMITS = {"string": "Length", "array": "Items", "object": "Properties"}
_NAMES = {
    "string": "text",
    "array": "a list",
    "object": "an object",
    "boolean": "true or false",
    "null": "null",
}


def path_text(path: Sequence[str | int]) -> str:
    """Return a path such as ``submission.findings[2].tool``; other keys than names are quoted."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isascii() and step.replace("-", "_").isidentifier():
            text += f".{step[:_SHOWN]}"
        else:
            text += f"[{shown(step)}]"
    return text.removeprefix(".")


def shown(value: object) -> str:
    """Return the JSON text of a value, cut to 80 characters."""
    if isinstance(value, str):
        # cut before, as it may be very long; an escape makes no text shorter
        value = value[:_SHOWN]
    text = ""
    for piece in _pieces_of(value):
        # a column of doubles has 15.0 where JSON lines have 15; a text ends in a quote
        text += piece.removesuffix(".0")
        if len(text) > _SHOWN:
            break
    # of all text only a lone surrogate has no UTF-8, and its replacement is its JSON escape
    text = text[: _SHOWN + 1].encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def expectation(part: Any, schema: Schema) -> str:  # noqa: ANN401  # a schema can be a boolean
    """Return the expectation of a part of a schema, such as ``a number from 0 to 1``."""
    if not isinstance(part, Mapping):
        return "another value"
    if "$ref" in part:
        return expectation(resolve(schema, part["$ref"]), schema)
    if "const" in part:
        return shown(part["const"])
    if "enum" in part:
        options = [option if isinstance(option, str) else shown(option) for option in part["enum"]]
        return f"one of {', '.join(options)}"
    for word in ("anyOf", "oneOf"):
        if word in part:
            return _alternatives(expectation(branch, schema) for branch in part[word])
    kinds = part.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return _alternatives(_typed(part, kind) for kind in kinds) or "another value"


def _alternatives(texts: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(texts))


def _typed(part: Schema, kind: str) -> str:
    if kind in ("integer", "number"):
        return _number(part, "a whole number" if kind == "integer" else "a number")
    if kind not in _LIMITS:
        return _NAMES[kind]
    low, high = part.get(f"min{_LIMITS[kind]}", 0), part.get(f"max{_LIMITS[kind]}")
    unit = _UNITS[kind]
    units = unit if (high or low) == 1 else "entries" if unit == "entry" else unit + "s"
    if low and high is not None:
        return f"{_NAMES[kind]} of {low} to {high} {units}"
    if high is not None:
        return f"{_NAMES[kind]} of at most {high} {units}"
    return f"{_NAMES[kind]} of at least {low} {units}" if low else _NAMES[kind]


def _number(part: Schema, name: str) -> str:
    if "minimum" in part and "maximum" in part:
        return f"{name} from {part['minimum']} to {part['maximum']}"
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    limits = [f"{word} {part[key]}" for key, word in words.items() if key in part]
    return f"{name} {' and '.join(limits)}" if limits else name
