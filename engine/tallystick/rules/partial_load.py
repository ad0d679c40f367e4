"""What of a faulty document can still be checked.

All that is wrong with a file is reported at once. So the parts that the schema refuses are left
out, and the rest goes through the cross checks as if it were whole; what was declared is
remembered, lest a part that was left out be reported as missing.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tallystick.rules.positions import KeyPath

# sections without which there is nothing to check
_NEEDED = frozenset({"rule_set", "axes", "skill_types"})
# sections whose entries stand for themselves
_BY_ENTRY = frozenset({"axes", "skill_types"})


@attrs.frozen
class Declared:
    """The names that a document declares, whether or not what they name is sound."""

    sections: frozenset[str]
    axes: frozenset[str]
    skill_types: frozenset[str]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Declared:
        """The names in the tables of a document."""
        return cls(frozenset(data), _keys(data.get("axes")), _keys(data.get("skill_types")))


def salvage(
    data: Mapping[str, Any], unknown: Iterable[KeyPath], broken: Iterable[KeyPath]
) -> Mapping[str, Any] | None:
    """The tables without unknown keys and without what holds broken values.

    Returns:
        None when a section is broken without which nothing can be checked.
    """
    leave_out = {_entry(path) for path in broken}
    if None in leave_out:
        return None
    kept: dict[str, Any] = copy.deepcopy(dict(data))
    for path in (*unknown, *filter(None, leave_out)):
        _remove(kept, path)
    return kept


def _keys(table: object) -> frozenset[str]:
    return frozenset(table) if isinstance(table, dict) else frozenset()


def _entry(path: KeyPath) -> KeyPath | None:
    if path and path[0] not in _NEEDED:
        return path[:1]
    if len(path) > 1 and path[0] in _BY_ENTRY:
        return path[:2]
    return None


def _remove(data: Any, path: KeyPath) -> None:  # noqa: ANN401  # any value of a document
    for part in path[:-1]:
        data = data[part]
    data.pop(path[-1], None)
