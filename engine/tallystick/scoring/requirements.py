"""Requirements: conditions that a record meets, or is rejected with the requirement's code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tallystick.errors import RecordError
from tallystick.formula.formula import Requirement
from tallystick.records.messages import NOTHING, shown
from tallystick.records.strict_json import parse, without_numpy
from tallystick.records.struct_builder import Record
from tallystick.scoring.bound import BoundType


def check_requirements(bound: BoundType, facts: Sequence[int], record: Any) -> None:  # noqa: ANN401  # a line or a mapping
    """Refuse a record that does not meet a requirement of its type or rule set.

    Raises:
        RecordError: with the code of the first requirement that is not met.
    """
    result = (r for r, compiled in bound.requirements if not compiled.holds(facts))
    _refuse([unmet(requirement, record) for requirement in result])


def check_task(bound: BoundType, missed: Record, record: Any) -> None:  # noqa: ANN401  # a line or a mapping
    """Refuse a record without a submission whose task does not meet a requirement.

    Raises:
        RecordError: with the code of the first requirement that is not met.
    """
    tasks = (t for t in bound.task_requirements if not t.compiled.holds(t.facts_of(missed)))
    _refuse([unmet(task.requirement, record) for task in tasks])


def _refuse(found: list[RecordError]) -> None:
    """Raise the first of some errors, with the others."""
    if found:
        raise joined(found)


def joined(found: Sequence[RecordError]) -> RecordError:
    """Return the first of some errors of one record, with the others."""
    first, *others = found
    return RecordError(first.code, first.path, first.value, first.expected, others)


def unmet(requirement: Requirement, record: Any) -> RecordError:  # noqa: ANN401  # a line or a mapping
    """Return the error of a record that does not meet a requirement."""
    value = found_at(record, requirement.path)
    return RecordError(requirement.code, requirement.path, value, requirement.expected)


def found_at(record: Any, path: str) -> str:  # noqa: ANN401  # a line or a mapping
    """Return the value of a record at a path of plain names, as short text."""
    value = record if isinstance(record, Mapping) else parse(_line(record))
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return NOTHING
        value = value[name]
    return shown(without_numpy(value))


def _line(record: str | bytes) -> bytes:
    return record.encode() if isinstance(record, str) else record
