"""The ranges of facts that count or add up many values, and what such values may be.

What cannot be read without doubt is refused: a list that may also be a text, items that are not
alike, sums of decimals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tallystick.errors import FormulaError
from tallystick.formula.facts import arguments_of, path_of, reader_of
from tallystick.formula.schema_path import (
    PathTarget,
    Schema,
    alternatives_of,
    is_map,
    items_of,
    limit_of,
    target_of,
    type_of,
)
from tallystick.formula.tree import Node

Ends = tuple[int, int]
"""The smallest and the largest integer."""

_SCALARS = {"string", "number", "integer", "boolean"}


def count_range(fact: Node, schema: Schema) -> Ends:
    """How many items a list or a projection has."""
    return 0, _most(fact, path_of(fact), schema)


def distinct_range(fact: Node, schema: Schema) -> Ends:
    """How many different items a list or a projection has."""
    _fields(fact, path_of(fact), schema)
    return 0, _most(fact, path_of(fact), schema)


def overlap_range(fact: Node, schema: Schema) -> Ends:
    """How many different items are in both lists."""
    paths = (path_of(fact), arguments_of(fact)[0])
    if len({_fields(fact, path, schema) for path in paths}) > 1:
        raise _refused(fact, path_of(fact), f"the same items as in {paths[1]!r}")
    return 0, min(_most(fact, path, schema) for path in paths)


def total_range(fact: Node, schema: Schema) -> Ends:
    """A whole number, or the sum of the values of a map or a projection."""
    target = target_of(path_of(fact), schema)
    if target.many:
        low, high = _whole(fact, target.alternatives)
        return target.repeats * min(low, 0), target.repeats * max(high, 0)
    ends = [_part(fact, alternative, schema) for alternative in target.alternatives]
    if target.optional and any(type_of(a) == "integer" for a in target.alternatives):
        ends.append((0, 0))
    return min(low for low, _ in ends), max(high for _, high in ends)


def excess_range(fact: Node, schema: Schema) -> Ends:
    """What the values of a map exceed those of another by; anything but a map counts as empty."""
    target, path = target_of(path_of(fact), schema), arguments_of(fact)[0]
    maps = [a for a in target.alternatives if is_map(a)]
    allowance = target_of(path, schema)
    if target.many or not maps or {type_of(a) for a in allowance.alternatives} != {"integer"}:
        raise _refused(fact, path_of(fact), "maps of whole numbers")
    ends = [_part(fact, a, schema) for a in maps]
    # an excess is at most the total, also where that is of a number or of a list
    summed = [a for a in target.alternatives if a not in maps and _is_summed(fact, a, schema)]
    lowest = min(low for low, _ in [*ends, *(_part(fact, a, schema) for a in summed)])
    if lowest < 0 or _whole(fact, allowance.alternatives)[0] < 0:
        raise _refused(fact, path_of(fact), "numbers that are at least 0")
    return 0, max(high for _, high in ends)


def bound_of(alternative: Schema, keyword: str, fact: Node) -> Any:  # noqa: ANN401  # a number
    """The smallest or largest number that a schema allows.

    Raises:
        FormulaError: the schema sets no such bound.
    """
    if keyword not in alternative:
        raise FormulaError(
            f"found no {keyword} at {path_of(fact)!r}, expected one: facts need a range"
        )
    return alternative[keyword]


def object_fields(target: PathTarget, schema: Schema) -> list[str]:
    """The names of the fields of items that are objects; none for items that are not."""
    return sorted({n for item in _items(target, schema)[0] for n in item.get("properties", ())})


def _part(fact: Node, alternative: Schema, schema: Schema) -> Ends:
    """The range of one alternative of a total: a whole number, a map, or a list."""
    if type_of(alternative) == "integer":
        return _whole(fact, [alternative])
    if is_map(alternative) and not alternative.get("properties"):
        inner, nullable = alternatives_of(alternative["additionalProperties"], schema)
        most = limit_of(alternative, "maxProperties", path_of(fact))
    elif type_of(alternative) == "array":
        inner, nullable = items_of(alternative, schema)
        most = limit_of(alternative, "maxItems", path_of(fact))
    else:
        raise _refused(fact, path_of(fact), "whole numbers to add up")
    if nullable:
        raise _refused(fact, path_of(fact), "values that cannot be null")
    low, high = _whole(fact, inner)
    return most * min(low, 0), most * max(high, 0)


def _is_summed(fact: Node, alternative: Schema, schema: Schema) -> bool:
    """Whether a total of the same path would have a range here."""
    try:
        _part(fact, alternative, schema)
    except FormulaError:
        return False
    return True


def _whole(fact: Node, alternatives: Sequence[Schema]) -> Ends:
    if {type_of(a) for a in alternatives} != {"integer"}:
        raise _refused(fact, path_of(fact), "whole numbers to add up")
    lows = [int(bound_of(a, "minimum", fact)) for a in alternatives]
    return min(lows), max(int(bound_of(a, "maximum", fact)) for a in alternatives)


def _most(fact: Node, path: str, schema: Schema) -> int:
    target = target_of(path, schema)
    if target.many:
        return target.repeats
    if {type_of(a) for a in target.alternatives} != {"array"}:
        raise _refused(fact, path, "a list")
    return max(limit_of(array, "maxItems", path) for array in target.alternatives)


def _items(target: PathTarget, schema: Schema) -> tuple[tuple[Schema, ...], bool]:
    if target.many:
        return target.alternatives, False
    found = [items_of(array, schema) for array in target.of_type("array")]
    items = tuple(item for inner, _ in found for item in inner)
    return items, any(nullable for _, nullable in found)


def _fields(fact: Node, path: str, schema: Schema) -> tuple[str, ...]:
    """What tells items apart: the fields of objects, or the type of other items."""
    target = target_of(path, schema)
    items, nullable = _items(target, schema)
    types = {type_of(item).replace("integer", "number") for item in items}
    if len(types) != 1 or nullable or (types == {"object"} and len(items) > 1):
        raise _refused(fact, path, "items of one kind that cannot be null")
    if types <= _SCALARS:
        return tuple(types)
    fields = object_fields(target, schema)
    inner = [a for n in fields for a in alternatives_of(items[0]["properties"][n], schema)[0]]
    if types != {"object"} or not fields or any(type_of(a) not in _SCALARS for a in inner):
        raise _refused(fact, path, "texts, numbers, truths, or objects of these")
    return ("object", *fields)


def _refused(fact: Node, path: str, expected: str) -> FormulaError:
    return FormulaError(f"found {reader_of(fact)}() of {path!r}, expected {expected}")
