"""Requirements: conditions that a record meets, or is rejected with the requirement's code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tallystick.errors import RecordError
from tallystick.formula.formula import Requirement
from tallystick.records.messages import NOTHING, shown
from tallystick.records.strict_json import parse, without_numpy
from tallystick.scoring.bound import BoundType

_MISSING = object()


def check_requirements(
    bound: BoundType,
    facts: Sequence[int],
    record: Any,  # noqa: ANN401  # a line or a mapping
    *,
    answered: bool = True,
) -> None:
    """Refuse a record that does not meet a requirement of its type or rule set.

    Args:
        bound: the type.
        facts: of the record.
        record: as it came.
        answered: whether it has a submission; else what reads the task alone is required.

    Raises:
        RecordError: with the code of the first requirement that is not met.
    """
    asked = (own for own in bound.requirements if answered or own.of_task)
    broken = [unmet(own.requirement, record) for own in asked if not own.compiled.holds(facts)]
    if broken:
        raise joined(broken)


def joined(found: Sequence[RecordError]) -> RecordError:
    """Return the first of some errors of one record, with the others."""
    first, *others = found
    return RecordError(first.code, first.path, first.value, first.expected, others)


def unmet(requirement: Requirement, record: Any) -> RecordError:  # noqa: ANN401  # a line or a mapping
    """Return the error of a record that does not meet a requirement."""
    line = record.encode() if isinstance(record, str) else record
    value = line if isinstance(line, Mapping) else parse(line)
    for name in requirement.path.split("."):
        value = value.get(name, _MISSING) if isinstance(value, Mapping) else _MISSING
    found = NOTHING if value is _MISSING else shown(without_numpy(value))
    return RecordError(requirement.code, requirement.path, found, requirement.expected)
