"""A draft: a record that is to have some facts, while it is written as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs

from tallystick.formula.facts.fact import name_of, path_of
from tallystick.formula.schema_path import PathTarget, Schema, target_of
from tallystick.formula.tree import Node

RecordObject = dict[str, Any]
"""A record, or an object in it."""
Demand = tuple[Node, int]
"""A fact and the integer that it is to have."""


@attrs.frozen(eq=False, slots=False)
class Demands:
    """The facts that a record is to have."""

    facts: Sequence[Demand]

    def __iter__(self) -> Iterator[Demand]:
        return iter(self.facts)

    @cached_property
    def _values(self) -> Mapping[tuple[str, str], int]:
        return {(name_of(fact), path_of(fact)): value for fact, value in self.facts}

    def value(self, reader: str, path: str) -> int | None:
        """Return the integer that the fact of a reader at a path is to have, if any."""
        return self._values.get((reader, path))

    def of(self, *readers: str) -> list[Demand]:
        """Return the demands of some readers, in order."""
        return [(fact, value) for fact, value in self.facts if name_of(fact) in readers]


@attrs.frozen(eq=False)
class Draft:
    """A record of which parts are written anew.

    Attributes:
        record: the record.
        schema: what it must meet.
        make: a value of a part of the schema; a name and a number tell such values apart.
    """

    record: RecordObject
    schema: Schema
    make: Callable[[Schema, str, int], Any]

    def target(self, path: str) -> PathTarget:
        """Return the schemas that a path leads to."""
        return target_of(path, self.schema)

    def put(self, path: str, value: object) -> None:
        """Set what is at a path of names, with the objects on the way to it."""
        put(self.record, path.split("."), value)

    def drop(self, path: str) -> None:
        """Leave out what is at a path of names."""
        inner: Any = self.record
        *way, last = path.split(".")
        for name in way:
            inner = inner.get(name)
            if not isinstance(inner, dict):
                return
        inner.pop(last, None)

    def get(self, path: str) -> Any:  # noqa: ANN401  # a JSON value
        """Return the value at a path of names; None where nothing is."""
        inner: Any = self.record
        for name in path.split("."):
            inner = inner.get(name) if isinstance(inner, Mapping) else None
        return inner


def put(into: RecordObject, path: Sequence[str], value: object) -> None:
    """Set what is at a path of names within an object, with the objects on the way to it."""
    *way, last = path
    for name in way:
        if not isinstance(into.get(name), dict):
            into[name] = {}
        into = into[name]
    into[last] = value
