"""The range of each fact, from the record schema, and what holds between facts by construction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.facts import arguments_of, path_of, reader_of, scale_of
from tallystick.formula.path import steps
from tallystick.formula.place import Place, Schema, alternatives_of, place_of
from tallystick.formula.tree import Node


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
    return _numeric(fact, schema, ("number", "integer"))


def _integer(fact: Node, schema: Schema) -> Domain:
    return _numeric(fact, schema, ("integer",))


def _numeric(fact: Node, schema: Schema, types: tuple[str, ...]) -> Domain:
    place = _single(fact, schema)
    found = _alternatives(fact, place, *types)
    missing = list(arguments_of(fact))
    if not missing and (place.optional or len(found) < len(place.alternatives)):
        raise FormulaError(
            f"found that {path_of(fact)!r} can be left out or be something else, "
            f"expected {reader_of(fact)}(…, missing=…)"
        )
    bounds = [_scaled(a, key, fact) for a in found for key in ("minimum", "maximum")]
    return Domain(min(bounds + missing), max(bounds + missing))


def _scaled(alternative: Schema, keyword: str, fact: Node) -> int:
    if keyword not in alternative:
        raise FormulaError(
            f"found no {keyword} at {path_of(fact)!r}, expected one: facts need a range"
        )
    return int(Fraction(str(alternative[keyword])) * scale_of(fact))


def _size(fact: Node, schema: Schema) -> Domain:
    paths = (path_of(fact), *arguments_of(fact))
    return Domain(0, min(_items(fact, place_of(path, schema), schema) for path in paths))


def _items(fact: Node, place: Place, schema: Schema) -> int:
    if place.many:
        return place.repeats
    found = _alternatives(fact, place, "array")
    for array in found:
        alternatives_of(array.get("items", {}), schema)
    most = min(int(a.get("maxItems", 0)) for a in found)
    if most < 1:
        raise FormulaError(f"found no maxItems at {path_of(fact)!r}, expected one")
    return most


def _total(fact: Node, schema: Schema) -> Domain:
    place = place_of(path_of(fact), schema)
    integers = [_scaled(a, "maximum", fact) for a in place.of_type("integer")]
    sums = [_map_total(a, fact, schema) for a in place.of_type("object", "array")]
    if not integers + sums or (place.many and sums):
        raise FormulaError(f"found the path {path_of(fact)!r}, expected whole numbers to add up")
    return Domain(0, place.repeats * max(integers + sums))


def _map_total(container: Schema, fact: Node, schema: Schema) -> int:
    values = container.get("additionalProperties", container.get("items"))
    most = int(container.get("maxProperties", container.get("maxItems", 0)))
    if not isinstance(values, Mapping) or most < 1:
        raise FormulaError(f"found the path {path_of(fact)!r}, expected a bounded map or list")
    inner, _ = alternatives_of(values, schema)
    return most * max(_scaled(a, "maximum", fact) for a in inner)


def _excess(fact: Node, schema: Schema) -> Domain:
    maps = place_of(path_of(fact), schema).of_type("object")
    allowance = place_of(arguments_of(fact)[0], schema)
    if not maps or not allowance.of_type("integer"):
        raise FormulaError(f"found excess of {path_of(fact)!r}, expected maps of whole numbers")
    return Domain(0, max(_map_total(a, fact, schema) for a in maps))


def _flag(fact: Node, schema: Schema) -> Domain:
    _alternatives(fact, _single(fact, schema), "boolean")
    return _TRUTH


def _matches(fact: Node, schema: Schema) -> Domain:
    _alternatives(fact, _single(fact, schema), "string")
    return _TRUTH


def _presence(fact: Node, schema: Schema) -> Domain:
    _single(fact, schema)
    return _TRUTH


def _equal(fact: Node, schema: Schema) -> Domain:
    _single(fact, schema)
    if steps(arguments_of(fact)[0])[-1].many or place_of(arguments_of(fact)[0], schema).many:
        raise FormulaError(f"found equal() on many values at {arguments_of(fact)[0]!r}")
    return _TRUTH


def _choice(fact: Node, schema: Schema) -> Domain:
    place, options = _single(fact, schema), arguments_of(fact)
    listed = {v for a in place.alternatives for v in (*a.get("enum", ()), *_constants(a))}
    if place.optional or not listed or not listed <= set(options):
        raise FormulaError(
            f"found the choice {path_of(fact)!r} of {sorted(map(str, options))}, expected a "
            f"required value whose options are those of the schema: {sorted(map(str, listed))}"
        )
    return Domain(0, len(options) - 1)


def _constants(alternative: Schema) -> list[Any]:
    return [alternative["const"]] if "const" in alternative else []


def _opaque(fact: Node, schema: Schema) -> Domain:
    del schema  # an opaque fact declares its own range
    _, low, high = arguments_of(fact)
    return Domain(low, high)


def _single(fact: Node, schema: Schema) -> Place:
    place = place_of(path_of(fact), schema)
    if place.many:
        raise FormulaError(
            f"found many values at {path_of(fact)!r}, expected one for {reader_of(fact)}()"
        )
    return place


def _alternatives(fact: Node, place: Place, *types: str) -> tuple[Schema, ...]:
    found = place.of_type(*types)
    if not found:
        raise FormulaError(
            f"found no {' or '.join(types)} at {path_of(fact)!r}, which {reader_of(fact)}() reads"
        )
    return found


_READERS: Mapping[str, Callable[[Node, Schema], Domain]] = {
    "number": _number,
    "integer": _integer,
    "count": _size,
    "distinct": _size,
    "overlap": _size,
    "total": _total,
    "excess": _excess,
    "flag": _flag,
    "given": _presence,
    "itemised": _presence,
    "equal": _equal,
    "matches": _matches,
    "choice": _choice,
    "opaque": _opaque,
}
