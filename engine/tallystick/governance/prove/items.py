"""Lists for a record of which only is known how many items they have, differ in, and share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from tallystick.formula.facts import arguments_of, path_of, reader_of
from tallystick.formula.schema_path import (
    Schema,
    Step,
    alternatives_of,
    items_of,
    steps,
    target_of,
    type_of,
)
from tallystick.governance.prove.fields import Demand, put
from tallystick.plugins.generator import Draw
from tallystick.testing.random_values import DEPTH, value_maker

Token = tuple[str, int]
"""One of the different items of a path: the path that it was made for, and its number."""


@attrs.frozen
class Wanted:
    """What some facts say of the lists of a record.

    Attributes:
        distinct: how many different items a path has.
        count: how many items a path has, repeated ones each time.
        shared: by path, with which other paths it shares how many items.
    """

    distinct: Mapping[str, int]
    count: Mapping[str, int]
    shared: Mapping[str, tuple[tuple[str, int], ...]]

    @classmethod
    def of(cls, demands: Iterable[Demand]) -> Wanted:
        """What the facts about lists among some say."""
        distinct, count = dict[str, int](), dict[str, int]()
        shared: dict[str, tuple[tuple[str, int], ...]] = {}
        for fact, value in demands:
            path = path_of(fact)
            match reader_of(fact):
                case "distinct":
                    distinct[path] = value
                case "count":
                    count[path] = value
                case "overlap":
                    shared[path] = (*shared.get(path, ()), (str(arguments_of(fact)[0]), value))
        return cls(distinct, count, shared)

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path, each once."""
        others = (other for pairs in self.shared.values() for other, _ in pairs)
        return tuple(dict.fromkeys((*self.distinct, *self.count, *self.shared, *others)))

    def tokens(self, path: str) -> list[Token]:
        """The items of a path: shared ones, those of its own, repetitions of the first."""
        found = [(other, i) for other, many in self.shared.get(path, ()) for i in range(many)]
        found += [(path, i) for i in range(self._different(path) - len(found))]
        return found + found[:1] * (self.count.get(path, 0) - len(found))

    def _different(self, path: str) -> int:
        """How many different items a path has; no more than needed where nothing says it."""
        lent = (many for pairs in self.shared.values() for other, many in pairs if other == path)
        taken = sum(many for _, many in self.shared.get(path, ()))
        least = max((taken, min(1, self.count.get(path, 0)), *lent))
        return self.distinct.get(path, least)


def lists(demands: Iterable[Demand], schema: Schema) -> Iterator[tuple[str, list[Any]]]:
    """The lists that facts ask for, each with the path of its field.

    Args:
        demands: facts of any kind with their values; those about lists count.
        schema: the self-contained schema of the records.
    """
    wanted = Wanted.of(demands)
    fields: dict[str, list[Any]] = {}
    filtered: dict[tuple[str, Step], dict[str, list[Token]]] = {}
    for path in wanted.paths:
        field, step, rest = _split(path)
        fields.setdefault(field, [])
        if step is None:
            fields[field] = [_item(token, schema) for token in wanted.tokens(path)]
        else:
            filtered.setdefault((field, step), {})[rest] = wanted.tokens(path)
    for (field, step), parts in filtered.items():
        fields[field] += _objects(f"{field}[{step.field}={step.value}]", step, parts, schema)
    yield from fields.items()


def _split(path: str) -> tuple[str, Step | None, str]:
    """The field that holds the list, its filter, and the path within each item."""
    parts = steps(path)
    names = [part.name for part in parts]
    at = next((i for i, part in enumerate(parts) if part.field is not None), None)
    if at is None:
        return path, None, ""
    return ".".join(names[: at + 1]), parts[at], ".".join(names[at + 1 :])


def _objects(
    path: str, step: Step, parts: Mapping[str, list[Token]], schema: Schema
) -> Iterator[dict[str, Any]]:
    """The items that a filter keeps, with what is read from each of them."""
    (kind,) = target_of(path, schema).alternatives
    for number in range(max(map(len, parts.values()))):
        made = {**_value(kind, path, 0, schema), step.field: step.value}
        for rest, tokens in parts.items():
            if rest and tokens:
                put(made, rest.split("."), _item(tokens[min(number, len(tokens) - 1)], schema))
        yield made


def _item(token: Token, schema: Schema) -> Any:  # noqa: ANN401  # a JSON value
    path, number = token
    target = target_of(path, schema)
    kinds = target.alternatives if target.many else items_of(target.alternatives[0], schema)[0]
    return _value(kinds[0], path.rpartition(".")[2], number, schema)


def _value(kind: Schema, name: str, number: int, schema: Schema) -> Any:  # noqa: ANN401  # a JSON value
    """A value of a schema that people can read, or any that is valid; numbers tell them apart."""
    text = f"{name}-{number + 1}"
    if type_of(kind) == "object":
        required, fields = kind.get("required", ()), kind.get("properties", {})
        return {
            field: _value(alternatives_of(fields[field], schema)[0][0], name, number, schema)
            for field in required
        }
    if type_of(kind) == "string" and not kind.keys() & {"const", "enum", "pattern", "format"}:
        return text[: kind.get("maxLength")]
    return value_maker(schema, kind)(Draw.of(text), 0, DEPTH)
