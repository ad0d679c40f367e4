"""A check of the linter."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from tallystick.diagnostics import Severity
from tallystick.rules.findings import Finding
from tallystick.scoring.scorer import Scorer


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
    find: Callable[[Scorer], Iterable[Finding]]
