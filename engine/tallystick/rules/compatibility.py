"""Compatibility: what a rule set takes away from whoever names something of another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from tallystick.rules.model import RuleSet
from tallystick.rules.section import sections_of


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
    named: dict[str, Iterable[str]] = {}
    for section, values in sections_of(rules):
        named |= section.asked("the answer for names", partial(section.names, values))
    return {
        "tiers.levels": () if tiers is None else tuple(level.name for level in tiers.levels),
        "tiers.thresholds": () if tiers is None else tuple(tiers.thresholds),
        "emission.factors": () if emission is None else tuple(emission.factors),
        **{path: tuple(names) for path, names in named.items()},
    }
