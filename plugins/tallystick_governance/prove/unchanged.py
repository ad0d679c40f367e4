"""Values and sections that a change of rules leaves as they were: both rule sets share them.

A question about such a value has the same answer under both, so that whoever compares two rule sets
asks it of neither.
"""

from __future__ import annotations

import attrs

from tallystick.rules.section import sections_of
from tallystick.scoring.bound import BoundType
from tallystick.scoring.computation import needed
from tallystick.scoring.scorer import Scorer


@attrs.frozen
class Unchanged:
    """Values and sections whose questions are left out.

    Attributes:
        values: skill types with names of values.
        sections: names of sections of a rule set.
    """

    values: frozenset[tuple[str, str]] = frozenset()
    sections: frozenset[str] = frozenset()


NOTHING = Unchanged()
"""No value and no section, so that every question is asked."""


def unchanged(old: Scorer, new: Scorer) -> Unchanged:
    """Return what two rule sets compute alike, by the digests of values and formulas."""
    values = {
        (name, value)
        for name, bound in new.types.items()
        if name in old.types
        for value in _same_values(old.types[name], bound)
    }
    before, after = _sections(old), _sections(new)
    names = before.keys() | after.keys()
    same = frozenset(name for name in names if before.get(name) == after.get(name))
    return Unchanged(frozenset(values), same)


def _same_values(old: BoundType, new: BoundType) -> list[str]:
    # which records are valid is a part of every question
    if _requirements(old) != _requirements(new) or old.schema != new.schema:
        return []
    before = {value.name: value.digest for value in old.values}
    return [
        value.name
        for value in new.values
        if before.get(value.name) == value.digest
        # the digest of a tier has no seeds
        and all(read.role != "tier" for read in needed(new.values, [value]))
    ]


def _requirements(bound: BoundType) -> list[tuple[str, str]]:
    return sorted((requirement.name, requirement.digest) for requirement in bound.required)


def _sections(rules: Scorer) -> dict[str, object]:
    """Return the values of each section, with the digests of the formulas that they name."""
    formulas = rules.registry.formulas
    return {
        section.name: (
            values,
            sorted(formulas[reference.formula].digest for reference in section.references(values)),
        )
        for section, values in sections_of(rules.rule_set)
    }
