"""The program of facts: how each is taken from a record, as integers that others interpret.

It stands beside the source of a function in Python (`extraction_code`), and says the same. Values
that facts read have a *slot* each, by their path; items that facts count or compare are collected
in a *list*. A reader of facts that cannot say its program leaves the whole type to Python.

Paths are those of facts, but that an item of a list is ``path[]``, a value of a map ``path.*``, and
the key of such a value ``path.*#``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

import attrs

from tallystick.formula.schema_path import (
    SCALARS,
    PathStep,
    PathTarget,
    Schema,
    alternatives_of,
    is_map,
    items_at,
    object_fields,
    steps,
    target_of,
    type_of,
)
from tallystick.formula.tree import Node

KEY = "#"
"""The end of the path of the key of a map's value."""
_NUMBERS = frozenset(("number", "integer"))


class NoProgramError(Exception):
    """A fact, or a part of a schema, of which there is no program; Python takes it."""


class Reading(IntEnum):
    """Ways in which an integer comes of slots and lists."""

    NUMBER = 0
    INTEGER = 1
    FLAG = 2
    GIVEN = 3
    ITEMISED = 4
    CHOICE = 5
    COUNT = 6
    DISTINCT = 7
    OVERLAP = 8
    SUM = 9
    LARGEST = 10
    SMALLEST = 11
    EXCESS = 12
    EQUAL = 13
    IS_TEXT = 14


@attrs.frozen
class Projection:
    """Items that are collected: of which list or map, which of them, and what identifies each.

    Attributes:
        number: of the list of the program that collects them.
        filter: the slot of a text that an item must have, and the text; None without a filter.
        needed: whether an item counts only if its first key is there and not null.
        keys: the slots of what identifies an item.
    """

    number: int
    filter: tuple[int, str] | None
    needed: bool
    keys: tuple[int, ...]


@attrs.define(eq=False)
class FactProgram:
    """The slots and lists that the facts of one type ask for.

    Attributes:
        schema: of the records.
        slots: the number of the slot of each path.
        lists: the number of keys of an item, for each list.
        collected: what is collected of the items of each list, by its path and ``[]``, and of each
            map, by its path and ``.*``.
        predicates: truths of a text that Python takes, by the digest of the fact; each with the
            path of the text.
    """

    schema: Schema
    slots: dict[str, int] = attrs.field(factory=dict, init=False)
    lists: list[int] = attrs.field(factory=list, init=False)
    collected: dict[str, list[Projection]] = attrs.field(factory=dict, init=False)
    predicates: dict[str, tuple[str, Callable[[str], bool]]] = attrs.field(factory=dict, init=False)
    _made: dict[tuple[str, str], int] = attrs.field(factory=dict, init=False)

    def value(self, path: str) -> int:
        """Return the slot of the one value at a path."""
        if self.target(path).many:
            raise NoProgramError(path)
        return self._slot(path)

    def target(self, path: str) -> PathTarget:
        """Return the schemas that a path leads to."""
        return target_of(path, self.schema)

    def counted(self, path: str) -> int:
        """Return the list of the items at a path, to be counted."""
        target = self.target(path)
        if target.many:
            return self.many(path)
        if {type_of(a) for a in target.alternatives} != {"array"}:
            raise NoProgramError(path)
        return self._collected(f"{path}[]", "count", None, (), needed=False)

    def compared(self, *paths: str) -> list[int]:
        """Return the lists of the items at some paths, which are compared with each other."""
        kinds: dict[str, set[str]] = {}
        for path in paths:
            for name, types in self._kinds(path).items():
                kinds.setdefault(name, set()).update(types)
        # Python takes True for 1
        if any("boolean" in types and types & _NUMBERS for types in kinds.values()):
            raise NoProgramError(paths[0])
        return [self._items(path, sorted(kinds)) for path in paths]

    def many(self, path: str) -> int:
        """Return the list of the values at a path with ``[]``, a filter or ``*``."""
        base, step, rest = _split(path)
        for alternative in self.target(path).alternatives:
            # a list or a map that is left out is an empty one, and counts
            if type_of(alternative) not in {*SCALARS, "object"} or is_map(alternative):
                raise NoProgramError(path)
        if rest:
            keys, needed = (f"{base}.{rest}",), True
        else:
            keys, needed = (base,), step.field is None
        return self._collected(base, path, step, keys, needed=needed)

    def numbers(self, path: str) -> int:
        """Return the list of the values of a list or a map at a path, or of a path of many.

        It is −1 where a path leads to neither.
        """
        if self.target(path).many:
            return self.many(path)
        number = None
        for alternative in self.target(path).alternatives:
            if type_of(alternative) == "array" or is_map(alternative):
                base = f"{path}.*" if is_map(alternative) else f"{path}[]"
                number = self._collected(base, path, None, (base,), needed=False, number=number)
        return -1 if number is None else number

    def entries(self, path: str, field: str = "") -> int:
        """Return the list of the keys of a map, each with its value, or with a field of it."""
        value = f"{path}.*.{field}" if field else f"{path}.*"
        return self._collected(
            f"{path}.*", f"{path} {field}", None, (f"{path}.*{KEY}", value), needed=False
        )

    def predicate(self, fact: Node, path: str, holds: Callable[[str], bool]) -> int:
        """Let Python take the truth of the text at a path, if there is one; return the slot."""
        self.predicates[fact.digest] = path, holds
        return self.value(path)

    def _kinds(self, path: str) -> dict[str, set[str]]:
        """Return the types of the fields of items, or of the items themselves, as ``""``."""
        target = self.target(path)
        items, nullable = items_at(target, self.schema)
        fields = object_fields(target, self.schema)
        if nullable or not items:
            raise NoProgramError(path)
        if not fields:
            return {"": {type_of(item) for item in items}}
        (item,) = items
        inner = {name: alternatives_of(item["properties"][name], self.schema) for name in fields}
        return {name: {type_of(a) for a in found} for name, (found, _) in inner.items()}

    def _items(self, path: str, fields: Sequence[str]) -> int:
        if self.target(path).many:
            base, step, rest = _split(path)
            if fields == [""]:
                return self.many(path)
            if rest or self.target(path).optional:
                raise NoProgramError(path)
        else:
            base, step = f"{path}[]", None
        keys = tuple(f"{base}.{name}" if name else base for name in fields)
        return self._collected(base, f"{path} {fields}", step, keys, needed=False)

    def _slot(self, path: str) -> int:
        return self.slots.setdefault(path, len(self.slots))

    def _collected(  # noqa: PLR0913  # what a projection has
        self,
        base: str,
        name: str,
        step: PathStep | None,
        keys: tuple[str, ...],
        *,
        needed: bool,
        number: int | None = None,
    ) -> int:
        if (base, name) in self._made:
            return self._made[base, name]
        if number is None:
            number = len(self.lists)
            self.lists.append(len(keys))
        chosen = None
        if step is not None and step.field is not None:
            chosen = self._slot(f"{base}.{step.field}"), str(step.value)
        projection = Projection(number, chosen, needed, tuple(map(self._slot, keys)))
        self.collected.setdefault(base, []).append(projection)
        self._made[base, name] = number
        return number


def _split(path: str) -> tuple[str, PathStep, str]:
    """Return the path of an item of the list or map that a path of many takes, and the rest."""
    chain = steps(path)
    at = next(index for index, step in enumerate(chain) if step.many)
    base = ".".join(step.name for step in chain[: at + 1])
    rest = ".".join(step.name for step in chain[at + 1 :])
    return base if chain[at].name == "*" else f"{base}[]", chain[at], rest
