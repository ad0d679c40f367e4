"""The range of each fact, from the record schema, and what holds between facts by construction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.collection_ranges import (
    bound_of,
    count_range,
    distinct_range,
    excess_range,
    overlap_range,
    total_range,
)
from tallystick.formula.facts import arguments_of, path_of, reader_of
from tallystick.formula.schema_path import PathTarget, Schema, is_map, target_of, type_of
from tallystick.formula.tree import Node
from tallystick.numbers.nano import NANO


@attrs.frozen
class Domain:
    """The integers that a fact or a published value can be.

    Attributes:
        low: the smallest.
        high: the largest.
        unit: every value is a multiple of it.
    """

    low: int
    high: int
    unit: int = 1


_TRUTH = Domain(0, 1)
_SCALARS = {"string", "number", "boolean"}


def domain_of(fact: Node, schema: Schema) -> Domain:
    """The range of a fact of any valid record.

    Raises:
        FormulaError: the schema has no such place, gives it no range, or lets it be absent where
            the fact has no ``missing``.
    """
    return _READERS[reader_of(fact)](fact, schema)


def relations(facts: Sequence[Node]) -> Iterator[tuple[Node, Node]]:
    """Pairs (small, large) of facts with small ≤ large for every record, by what they count."""
    found = {(reader_of(f), path_of(f)): f for f in facts}
    for fact in facts:
        for reader, path in _upper(fact):
            if (reader, path) in found:
                yield fact, found[reader, path]


def _upper(fact: Node) -> list[tuple[str, str]]:
    path, arguments = path_of(fact), arguments_of(fact)
    match reader_of(fact):
        case "overlap":
            return [(r, p) for p in (path, arguments[0]) for r in ("distinct", "count")]
        case "distinct":
            return [("count", path)]
        case "flag" | "matches":
            return [("given", path)]
        case "equal":
            return [("given", path), ("given", arguments[0])]
        case "excess":
            return [("total", path)]
        case _:
            return []


def _number(fact: Node, schema: Schema) -> Domain:
    return _numeric(fact, schema, ("number", "integer"), _nano)


def _integer(fact: Node, schema: Schema) -> Domain:
    return _numeric(fact, schema, ("integer",), int)


def _numeric(
    fact: Node, schema: Schema, types: tuple[str, ...], read: Callable[[Any], int]
) -> Domain:
    target = _single(fact, schema)
    found = _alternatives(fact, target, *types)
    missing = list(arguments_of(fact))
    if not missing and (target.optional or len(found) < len(target.alternatives)):
        raise FormulaError(
            f"found that {path_of(fact)!r} can be left out or be something else, "
            f"expected {reader_of(fact)}(…, missing=…)"
        )
    bounds = [read(bound_of(a, k, fact)) for a in found for k in ("minimum", "maximum")]
    return Domain(min(bounds + missing), max(bounds + missing))


def _nano(bound: float) -> int:
    """As a record's number becomes nano; rounding keeps the order of numbers."""
    return round(float(bound) * NANO)


def _flag(fact: Node, schema: Schema) -> Domain:
    _alternatives(fact, _single(fact, schema), "boolean")
    return _TRUTH


def _matches(fact: Node, schema: Schema) -> Domain:
    _alternatives(fact, _single(fact, schema), "string")
    return _TRUTH


def _presence(fact: Node, schema: Schema) -> Domain:
    target = _single(fact, schema)
    containers = [a for a in target.alternatives if type_of(a) == "array" or is_map(a)]
    if target.optional and len(containers) == len(target.alternatives):
        raise FormulaError(
            f"found {reader_of(fact)}() of {path_of(fact)!r}, but a list or a map that is left "
            "out is empty: use count()"
        )
    return _TRUTH


def _equal(fact: Node, schema: Schema) -> Domain:
    kinds = []
    for path in (path_of(fact), arguments_of(fact)[0]):
        target = target_of(path, schema)
        types = {type_of(a).replace("integer", "number") for a in target.alternatives}
        if target.many or not types <= _SCALARS or {"boolean", "number"} <= types:
            raise FormulaError(f"found equal() of {path!r}, expected one text, number or truth")
        kinds.append(types)
    if kinds[0] != kinds[1]:
        raise FormulaError(f"found equal() of different types: {path_of(fact)!r} and another")
    return _TRUTH


def _choice(fact: Node, schema: Schema) -> Domain:
    target, options = _single(fact, schema), arguments_of(fact)
    listed = [v for a in target.alternatives for v in _listed(a)]
    unlisted = any(not _listed(a) for a in target.alternatives)
    if target.optional or unlisted or not set(listed) <= set(options):
        raise FormulaError(
            f"found the choice {path_of(fact)!r} of {sorted(map(str, options))}, expected a "
            f"required value whose options are those of the schema: {sorted(map(str, listed))}"
        )
    return Domain(0, len(options) - 1)


def _listed(alternative: Schema) -> list[Any]:
    constants = [alternative["const"]] if "const" in alternative else []
    return [*alternative.get("enum", ()), *constants]


def _opaque(fact: Node, schema: Schema) -> Domain:
    del schema  # an opaque fact declares its own range
    _, low, high = arguments_of(fact)
    return Domain(low, high)


def _single(fact: Node, schema: Schema) -> PathTarget:
    target = target_of(path_of(fact), schema)
    if target.many:
        raise FormulaError(
            f"found many values at {path_of(fact)!r}, expected one for {reader_of(fact)}()"
        )
    return target


def _alternatives(fact: Node, target: PathTarget, *types: str) -> tuple[Schema, ...]:
    found = target.of_type(*types)
    if not found:
        raise FormulaError(
            f"found no {' or '.join(types)} at {path_of(fact)!r}, which {reader_of(fact)}() reads"
        )
    return found


def _of_many(ends: Callable[[Node, Schema], tuple[int, int]]) -> Callable[[Node, Schema], Domain]:
    return lambda fact, schema: Domain(*ends(fact, schema))


_READERS: Mapping[str, Callable[[Node, Schema], Domain]] = {
    "number": _number,
    "integer": _integer,
    "count": _of_many(count_range),
    "distinct": _of_many(distinct_range),
    "overlap": _of_many(overlap_range),
    "total": _of_many(total_range),
    "excess": _of_many(excess_range),
    "flag": _flag,
    "given": _presence,
    "itemised": _presence,
    "equal": _equal,
    "matches": _matches,
    "choice": _choice,
    "opaque": _opaque,
}
