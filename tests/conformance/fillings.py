"""Fillings: lines of which one list, map or object is full of what is cheapest to write.

A stranger pays for bytes, who judges a line for time. So each list and map of a schema is filled
with its shortest items, good and bad, up to its own limit and far beyond, and each object with
fields that it does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import attrs

from tallystick.errors import SchemaError
from tallystick.formula.schema_path import Schema, alternatives_of, type_of
from tallystick.plugins.generator import Draw
from tallystick_conformance.testing.random_values import value_maker
from tallystick_conformance.testing.samples import JSON, line

LONG = 1 << 17
"""Bytes of a filling beyond a limit: an eighth of the longest line, and enough to see a cost that
grows faster than its length."""

_DEEP = 6
_USUAL_MOST = 1000
_HERE = "\ue000filled here\ue000"
_BAD = ("{}", "[]", "0", '""', "null", "0.0", '{"0":0}')


@attrs.frozen
class Filling:
    """A line that is full of one thing.

    Attributes:
        place: the list, the map or the object, such as ``submission.findings``.
        content: what it is full of.
        line: the line.
    """

    place: str
    content: str
    line: bytes = attrs.field(repr=False)


@attrs.frozen
class _Container:
    """A list, a map or an object of a schema.

    Attributes:
        path: where it is.
        part: what the schema says of it.
        around: the record with something in its place.
    """

    path: str
    part: Schema
    around: Callable[[Any], Any]


def fillings(record: JSON, schema: Schema) -> Iterator[Filling]:
    """The fillings of every list, map and object of a schema, in a record that is otherwise good.

    Args:
        record: a valid record.
        schema: its self-contained schema.
    """
    containers = {
        container.path: container for container in _containers(record, schema, schema, "", _DEEP)
    }
    for container in containers.values():
        text = line(container.around(_HERE)).replace(line({"": _HERE})[4:-1], b"\0", 1)
        before, _, after = text.partition(b"\0")
        for content, filled in _contents(container.part, schema):
            yield Filling(container.path, content, before + filled.encode() + after)


def _containers(
    value: Any,  # noqa: ANN401  # a JSON value
    schema: Any,  # noqa: ANN401  # or a boolean
    root: Schema,
    path: str,
    room: int,
) -> Iterator[_Container]:
    for part in alternatives_of(schema, root)[0] if room else ():
        kind = type_of(part)
        if kind in ("array", "object"):
            yield _Container(path, part, lambda new: new)
        for step, inner, around in _inside(value, part, root, kind):
            inner_value = value.get(step) if isinstance(value, dict) else None
            at = f"{path}.{step}" if path else step
            for container in _containers(inner_value, inner, root, at, room - 1):
                yield attrs.evolve(container, around=partial(_nested, around, container.around))


def _nested(outer: Callable[[Any], Any], inner: Callable[[Any], Any], new: Any) -> Any:  # noqa: ANN401  # JSON
    return outer(inner(new))


def _inside(
    value: Any,  # noqa: ANN401  # a JSON value
    part: Schema,
    root: Schema,
    kind: str | None,
) -> Iterator[tuple[str, Any, Callable[[Any], Any]]]:
    """The places in a container: a step, its schema, and the container with something there."""
    if kind == "array":
        yield "0", part.get("items", True), lambda new: [new]
    elif kind == "object" and "properties" in part:
        fields = value if isinstance(value, dict) else _built(part, root)
        for name, inner in part["properties"].items():
            yield name, inner, partial(_with_field, fields, name)
    elif kind == "object" and isinstance(part.get("additionalProperties"), Mapping):
        yield "0", part["additionalProperties"], lambda new: {"0": new}


def _with_field(record: JSON, name: str, new: Any) -> JSON:  # noqa: ANN401  # JSON
    return {**record, name: new}


def _contents(part: Schema, root: Schema) -> Iterator[tuple[str, str]]:
    """Yield the contents of a container as JSON text, each with its name."""
    if type_of(part) == "array":
        good, most = _text(part.get("items", True), root), part.get("maxItems", _USUAL_MOST)
        for bad in dict.fromkeys((good, *_BAD)):
            yield f"{most} x {bad}", _list([bad] * most)
            yield f"{most - 1} good, then {bad}", _list([good] * (most - 1) + [bad])
        for bad in (good, "{}", "0"):
            yield f"many x {bad}", _list([bad] * (LONG // (len(bad) + 1)))
        return
    others = part.get("additionalProperties", True)
    if not isinstance(others, Mapping):
        for most in (_USUAL_MOST, LONG // 10):
            yield f"{most} unknown fields", _map(["0"] * most)
        return
    good, most = _text(others, root), part.get("maxProperties", _USUAL_MOST)
    for bad in dict.fromkeys((good, *_BAD)):
        yield f"{most} x {bad}", _map([bad] * most)
        yield f"{most - 1} good, then {bad}", _map([good] * (most - 1) + [bad])
    yield f"many x {good}", _map([good] * (LONG // (len(good) + 8)))


def _text(schema: Any, root: Schema) -> str:  # noqa: ANN401  # or a boolean
    """Return the shortest good value as JSON."""
    return line({"": _built(schema, root)})[4:-1].decode()


def _built(schema: Any, root: Schema) -> Any:  # noqa: ANN401  # JSON
    try:
        return value_maker(root, schema)(Draw.of("least"), 0, 0)
    except SchemaError:
        return None


def _list(items: list[str]) -> str:
    return f"[{','.join(items)}]"


def _map(items: list[str]) -> str:
    entries = ",".join(f'"{number}":{item}' for number, item in enumerate(items))
    return f"{{{entries}}}"
