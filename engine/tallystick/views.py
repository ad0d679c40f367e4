"""Views: what errors and decimals are as JSON, for whoever shows them to machines.

Numbers of the field are text of nine places. The order of keys is part of a view.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallystick.errors import (
    AllocationError,
    LockError,
    RecordError,
    RefusedError,
    RuleSetError,
    StateError,
    TallystickError,
    TrustError,
)
from tallystick.io.text import masked
from tallystick.numbers.nano import to_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from tallystick.diagnostics import Diagnostic
    from tallystick.errors import Difference

View = dict[str, Any]
"""A JSON object."""


def error(found: TallystickError) -> View:
    """An error, with the problems of a rule set and every refusal of a file."""
    view: View = {"error": type(found).__name__, "message": masked(str(found))}
    if isinstance(found, RuleSetError):
        view["problems"] = [_problem(each) for each in found.problems]
        view["more"] = found.more
    if isinstance(found, RecordError):
        view |= _told(found)
        view["problems"] = [_told(each) for each in found.problems]
    if isinstance(found, AllocationError | StateError | TrustError) and found.code:
        view["code"] = found.code
    if isinstance(found, LockError):
        view["differences"] = [_difference(each) for each in found.differences]
        view["meaning"] = [*found.meaning]
    if isinstance(found, RefusedError):
        view["refusals"] = [each.to_dict() for each in found.refusals]
    return view


def _told(found: RecordError) -> View:
    return {name: getattr(found, name) for name in ("code", "path", "value", "expected")}


def _difference(found: Difference) -> View:
    return {name: getattr(found, name) for name in ("what", "found", "locked")}


def _problem(found: Diagnostic) -> View:
    return {"file": found.file, "line": found.line, "path": found.path, **found.evidence}


def decimals(values: Mapping[str, Decimal]) -> dict[str, str]:
    """Values by name, as text of nine places."""
    return {name: to_text(value) for name, value in values.items()}
