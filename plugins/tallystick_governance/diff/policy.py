"""The versioning policy of rule sets: which part of the version a change has to raise.

``major``: something is gone that records, states or readers of results name. ``minor``: a result
can change, a record can be rejected that was scored, or something is added. ``patch``: no result
can change. See ``docs/versioning.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import IntEnum

from tallystick.rules.section import document_schema
from tallystick.rules.toml import dotted
from tallystick.scoring.bound_rules import BoundRules
from tallystick_governance.diff.change import Change, FormulaChange


class Level(IntEnum):
    """The part of a version that a change raises."""

    NONE = 0
    PATCH = 1
    MINOR = 2
    MAJOR = 3

    def __str__(self) -> str:
        return self.name.lower()


def level_of(
    changes: Iterable[Change],
    formulas: Iterable[FormulaChange],
    lost: Iterable[str],
    documentation: Collection[str],
) -> Level:
    """Return the part of the version that a difference has to raise.

    Args:
        changes: the values that differ.
        formulas: the formulas that differ.
        lost: what is gone that others name.
        documentation: the paths that no result depends on, as `without_result` gives them.
    """
    every = list(changes)
    if any(lost):
        return Level.MAJOR
    if any(formulas) or any(can_change_a_result(change.path, documentation) for change in every):
        return Level.MINOR
    return Level.PATCH if every else Level.NONE


def without_result(*rules: BoundRules) -> tuple[str, ...]:
    """Return the paths of what rule sets tell people and other programs: no result depends on it.

    Args:
        rules: the rule sets, for the sections that they have.
    """
    schemas = [document_schema(rule_set.rule_set) for rule_set in rules]
    return tuple(dict.fromkeys(dotted(path) for s in schemas for path in s.documentation))


def can_change_a_result(path: str, documentation: Collection[str]) -> bool:
    """Return whether a result can depend on the value at a path that is no documentation."""
    return not any(is_at(path, documented) for documented in documentation)


def is_at(path: str, place: str) -> bool:
    """Return whether a path is another one, or below it."""
    return path == place or path.startswith((f"{place}.", f"{place}["))


def raised(old: str, new: str) -> Level:
    """Return the part of a version that another one raises; ``NONE`` if it raises none.

    Args:
        old: a version such as ``1.0.0``; a pre-release counts as a part that is not yet reached.
        new: the other version.
    """
    before, after = _parts(old), _parts(new)
    for level, was, is_now in zip(
        (Level.MAJOR, Level.MINOR, Level.PATCH), before, after, strict=False
    ):
        if was != is_now:
            return level if is_now > was else Level.NONE
    return Level.PATCH if "-" in old and "-" not in new else Level.NONE


def successor(version: str, level: Level) -> str:
    """Return the next version that raises a part; a pre-release counts as its version."""
    parts = _parts(version)
    if level is not Level.NONE:
        index = Level.MAJOR - level
        parts = [*parts[:index], parts[index] + 1, *(0 for _ in parts[index + 1 :])]
    return ".".join(map(str, parts))


def _parts(version: str) -> list[int]:
    return [int(part) for part in version.partition("-")[0].split(".")]
