"""What a rule set silences, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from tallystick.diagnostics import Diagnostic
from tallystick.governance.lint.check import Check, nothing
from tallystick.rules.findings import Finding
from tallystick.rules.model import Silence
from tallystick.rules.toml import KeyPath

UNKNOWN, IDLE = "silence-unknown", "silence-unneeded"
_BELOW = (".", "[")
"""What follows a path where another goes on below it."""


@attrs.frozen
class Suppressed:
    """A finding that the rule set silences, and why."""

    finding: Diagnostic
    reason: str


def apart(
    findings: Iterable[Diagnostic], silences: Sequence[Silence]
) -> tuple[list[Diagnostic], list[Suppressed]]:
    """The findings that are reported, and those that are silenced."""
    reported: list[Diagnostic] = []
    silenced: list[Suppressed] = []
    for finding in findings:
        reason = next((s.reason for s in silences if _covers(s, finding)), None)
        if reason is None:
            reported.append(finding)
        else:
            silenced.append(Suppressed(finding, reason))
    return reported, silenced


def mistakes(
    silences: Sequence[Silence], known: Mapping[str, Check], findings: Sequence[Diagnostic]
) -> Iterator[tuple[Check, Finding]]:
    """Silences of codes that do not exist, or that nothing is found of."""
    for place, silence in enumerate(silences):
        if silence.code not in known:
            path: KeyPath = ("lint", "silence", place, "code")
            message = f"there is no check {silence.code} to silence"
            yield known[UNKNOWN], Finding(path, message, {"silenced": silence.code})
        elif not any(_covers(silence, finding) for finding in findings):
            where = f" at {silence.path}" if silence.path else ""
            message = f"nothing is found of {silence.code}{where}"
            yield (
                known[IDLE],
                Finding(("lint", "silence", place), message, {"silenced": silence.code}),
            )


def _covers(silence: Silence, finding: Diagnostic) -> bool:
    if silence.code != finding.code:
        return False
    rest = finding.path.removeprefix(silence.path)
    below = rest != finding.path and rest.startswith(_BELOW)
    return not silence.path or finding.path == silence.path or below


_SILENCE_UNKNOWN = Check(
    UNKNOWN,
    "warning",
    "a silence of a code that does not exist",
    documentation=(
        "A code that is silenced must be one of the linter's, so that a misspelt one is seen."
    ),
    remedy="write the code of a check",
    find=nothing,
)
_SILENCE_UNNEEDED = Check(
    IDLE,
    "note",
    "a silence of what is not found",
    documentation="The rule set silences a code that finds nothing there: what it excuses is gone.",
    remedy="remove the silence",
    find=nothing,
)
