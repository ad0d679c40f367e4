"""A check of the linter, and the decorator that makes one of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from tallystick.diagnostics import Severity
from tallystick.rules.findings import Finding
from tallystick.scoring.scorer import Scorer

Find = Callable[[Scorer], Iterable[Finding]]


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
    documentation: str = attrs.field(kw_only=True)
    remedy: str = attrs.field(kw_only=True)
    find: Find = attrs.field(kw_only=True)


def check(
    code: str, severity: Severity, summary: str, *, documentation: str, remedy: str
) -> Callable[[Find], Check]:
    """The check that a function makes; it is in the linter if its module is in ``catalog``."""

    def decorate(find: Find) -> Check:
        return Check(code, severity, summary, documentation=documentation, remedy=remedy, find=find)

    return decorate


def nothing(scorer: Scorer) -> tuple[Finding, ...]:
    """What a code finds by itself that loading, or the linter as a whole, tells."""
    del scorer
    return ()
