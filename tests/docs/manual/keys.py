"""The keys and words that a JSON Schema holds, with what they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]


def keys_of(part: Schema, whole: Schema, owner: str = "") -> Iterator[tuple[str, str]]:
    """Every key below a part of a schema, behind the key that it belongs to."""
    part = resolved(part, whole)
    for name, inner in part.get("properties", {}).items():
        yield owner, name
        yield from keys_of(inner, whole, name)
    for inner in _held(part):
        yield from keys_of(inner, whole, owner)


def words_in(part: Schema, whole: Schema) -> Iterator[str]:
    """Every word of an enumeration below a part of a schema."""
    part = resolved(part, whole)
    yield from (word for word in part.get("enum", ()) if isinstance(word, str))
    for inner in (*part.get("properties", {}).values(), *_held(part)):
        yield from words_in(inner, whole)


def resolved(part: Schema, whole: Schema) -> Schema:
    """What a part of a schema refers to, or the part itself."""
    while "$ref" in part:
        part = whole["$defs"][part["$ref"].rpartition("/")[2]]
    return part


def _held(part: Schema) -> Iterator[Schema]:
    """What lists, maps and alternatives hold."""
    for word in ("items", "additionalProperties"):
        if isinstance(part.get(word), Mapping):
            yield part[word]
    yield from part.get("anyOf", ())
