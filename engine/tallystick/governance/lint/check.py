"""A check of the linter, and what one finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import attrs

from tallystick.rules.positions import KeyPath
from tallystick.scoring.scorer import Scorer

Severity = Literal["error", "warning", "note"]


@attrs.frozen
class Found:
    """One place of a rule set where a check has something to say.

    Attributes:
        path: the keys that lead to the value which decides it.
        message: one sentence with the figures, in lower case and without a full stop.
        evidence: the computed figures as JSON: exact numbers as text of nine places.
        severity: another severity than that of the check, for this place.
    """

    path: KeyPath
    message: str
    evidence: Mapping[str, Any] = attrs.field(factory=dict)
    severity: Severity | None = None


@attrs.frozen(eq=False)
class Check:
    """One question that the linter asks of a rule set.

    Attributes:
        code: the stable name, such as ``gate-never-binds``.
        severity: of what it finds.
        summary: one sentence: what is wrong.
        documentation: why it matters and how it is computed, a few sentences.
        remedy: what to do.
        find: gives what it finds in a rule set that is loaded and bound.
    """

    code: str
    severity: Severity
    summary: str
    documentation: str
    remedy: str
    find: Callable[[Scorer], Iterable[Found]]


@attrs.frozen
class Finding:
    """One finding with its place in the file."""

    code: str
    severity: Severity
    file: str
    line: int
    path: str
    message: str
    evidence: Mapping[str, Any]
    remedy: str
