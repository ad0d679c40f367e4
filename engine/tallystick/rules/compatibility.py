"""Compatibility: what a rule set takes away from whoever names something of another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tallystick.rules.model import RuleSet


def is_major(old: RuleSet, new: RuleSet) -> bool:
    """Whether a rule set takes something away, or says by its version that it is another one."""
    versions = (rules.rule_set.version.partition(".")[0] for rules in (old, new))
    return bool(gone(old, new)) or len({*versions}) > 1


def gone(old: RuleSet, new: RuleSet) -> tuple[str, ...]:
    """What is gone that records, states and readers of results name, each with its path."""
    return tuple(
        f"{section}.{name}"
        for section, before, after in _named(old, new)
        for name in before
        if name not in after
    )


def _named(old: RuleSet, new: RuleSet) -> Iterator[tuple[str, Iterable[str], Iterable[str]]]:
    """The names of two rule sets that others use, section by section."""
    yield "skill_types", old.skill_types, new.skill_types
    for name in old.skill_types.keys() & new.skill_types.keys():
        first, second = old.skill_types[name], new.skill_types[name]
        yield f"skill_types.{name}.axes", first.all_axes, second.all_axes
        yield f"skill_types.{name}.measures", first.measures, second.measures
    for section, names in _sections(old).items():
        yield section, names, _sections(new)[section]


def _sections(rules: RuleSet) -> Mapping[str, tuple[str, ...]]:
    tiers, emission, reputation = rules.tiers, rules.emission, rules.reputation
    return {
        "tiers.levels": () if tiers is None else tuple(level.name for level in tiers.levels),
        "tiers.thresholds": () if tiers is None else tuple(tiers.thresholds),
        "emission.factors": () if emission is None else tuple(emission.factors),
        "reputation.events": () if reputation is None else tuple(reputation.events),
    }
