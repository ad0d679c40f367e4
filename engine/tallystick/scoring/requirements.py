"""Requirements: conditions that a record meets, or is rejected with the requirement's code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tallystick.errors import RecordError
from tallystick.formula.formula import Requirement
from tallystick.records.messages import NOTHING, shown
from tallystick.records.struct_builder import Record
from tallystick.scoring.bound import BoundType


def check_requirements(bound: BoundType, facts: Sequence[int], record: Any) -> None:  # noqa: ANN401  # a line or a mapping
    """Refuse a record that does not meet a requirement of its type or rule set.

    Raises:
        RecordError: with the code of the first requirement that is not met.
    """
    for requirement, compiled in bound.requirements:
        if not compiled.holds(facts):
            raise unmet(requirement, record)


def check_task(bound: BoundType, missed: Record, record: Any) -> None:  # noqa: ANN401  # a line or a mapping
    """Refuse a record without a submission whose task does not meet a requirement.

    Raises:
        RecordError: with the code of the first requirement that is not met.
    """
    for task in bound.task_requirements:
        if not task.compiled.holds(task.facts_of(missed)):
            raise unmet(task.requirement, record)


def unmet(requirement: Requirement, record: Any) -> RecordError:  # noqa: ANN401  # a line or a mapping
    """What is said of a record that does not meet a requirement."""
    value = found_at(record, requirement.path)
    return RecordError(requirement.code, requirement.path, value, requirement.expected)


def found_at(record: Any, path: str) -> str:  # noqa: ANN401  # a line or a mapping
    """What a record has at a path of plain names, as short text."""
    value = record if isinstance(record, Mapping) else json.loads(record)
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return NOTHING
        value = value[name]
    return shown(value)
