"""Compatibility: the values that differ in two rule sets, and what one of them takes away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tallystick.rules.model import RuleSet
from tallystick.rules.section import sections_of

_EMPTY = "{}"
"""The text of a table without values."""


def changed_values(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield the path of each value that two tables give differently, with the values as text.

    Args:
        old: the table of a rule set, as `table_of` gives it.
        new: of another one.

    Yields:
        Paths such as ``skill_types.rag_knowledge.weights.policy`` in their order; None where a
        table has no such value.
    """
    before, after = dict(_flat(old)), dict(_flat(new))
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path) and not _is_filled(path, after, before):
            yield path, before.get(path), after.get(path)


def _is_filled(path: str, *sides: Mapping[str, str]) -> bool:
    """Return whether a table is empty in one rule set and only has other values in the other."""
    empty = any(side.get(path) == _EMPTY for side in sides)
    return empty and any(other.startswith(f"{path}.") for side in sides for other in side)


def _flat(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each value that is no filled table, with its path; tables of a list by name."""
    match value:
        case dict() if path and not value:
            yield path, _EMPTY
        case dict():
            for key, inner in value.items():
                yield from _flat(inner, f"{path}.{key}".removeprefix("."))
        case list() if any(isinstance(item, dict) for item in value):
            if all("name" in item for item in value):
                yield path, ", ".join(item["name"] for item in value)
            for number, item in enumerate(value):
                yield from _flat(item, f"{path}[{item.get('name', number)}]")
        case list():
            yield path, ", ".join(map(str, value)) or "[]"
        case bool():
            yield path, str(value).lower()
        case _:
            yield path, str(value)


def is_major(old: RuleSet, new: RuleSet) -> bool:
    """Return whether a rule set takes something away, or is another one by its version."""
    versions = (rules.rule_set.version.partition(".")[0] for rules in (old, new))
    return bool(gone(old, new)) or len({*versions}) > 1


def gone(old: RuleSet, new: RuleSet) -> tuple[str, ...]:
    """Return what is gone that records, states and readers of results name, each with its path.

    Args:
        old: the rule set before.
        new: the rule set after.
    """
    return tuple(
        f"{section}.{name}"
        for section, before, after in _named(old, new)
        for name in before
        if name not in after
    )


def _named(old: RuleSet, new: RuleSet) -> Iterator[tuple[str, Iterable[str], Iterable[str]]]:
    """Yield the names of two rule sets that others use, section by section."""
    yield "skill_types", old.skill_types, new.skill_types
    for name in old.skill_types.keys() & new.skill_types.keys():
        first, second = old.skill_types[name], new.skill_types[name]
        yield f"skill_types.{name}.axes", first.all_axes, second.all_axes
        yield f"skill_types.{name}.measures", first.measures, second.measures
    before, after = _sections(old), _sections(new)
    for section, names in before.items():
        yield section, names, after.get(section, ())


def _sections(rules: RuleSet) -> Mapping[str, tuple[str, ...]]:
    tiers, emission = rules.tiers, rules.emission
    named: dict[str, tuple[str, ...]] = {}
    for section, values in sections_of(rules):
        named |= section.named(values)
    return {
        "tiers.levels": () if tiers is None else tuple(level.name for level in tiers.levels),
        "tiers.thresholds": () if tiers is None else tuple(tiers.thresholds),
        "emission.factors": () if emission is None else tuple(emission.factors),
        **named,
    }
