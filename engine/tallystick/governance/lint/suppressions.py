"""What a rule set silences, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

import attrs

from tallystick.diagnostics import SEVERITIES, Diagnostic
from tallystick.governance.lint.check import Check, nothing
from tallystick.rules.findings import Finding
from tallystick.rules.model import Silence
from tallystick.rules.toml import KeyPath

UNKNOWN, IDLE = "silence-unknown", "silence-unneeded"
_BELOW = r"(?=[.\[]|$)"
"""A path ends there, or another goes on below it."""
_BARE = r"[^.\[\"]"
"""A letter of a name that has no quotes."""


@attrs.frozen
class Suppressed:
    """A finding that the rule set silences, and why."""

    finding: Diagnostic
    reason: str


def apart(
    findings: Iterable[Diagnostic], silences: Sequence[Silence], known: Mapping[str, Check]
) -> tuple[list[Diagnostic], list[Suppressed]]:
    """The findings that are reported, and those that are silenced.

    What is more severe than its check usually is says more than what was excused: it is reported.
    """
    reported: list[Diagnostic] = []
    silenced: list[Suppressed] = []
    for finding in findings:
        reason = next((s.reason for s in silences if _covers(s, finding)), None)
        if reason is None or _is_worse(finding, known[finding.code]):
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
    return silence.code == finding.code and _place(silence.path).match(finding.path) is not None


def _is_worse(finding: Diagnostic, check: Check) -> bool:
    return SEVERITIES.index(finding.severity) < SEVERITIES.index(check.severity)


@cache
def _place(path: str) -> re.Pattern[str]:
    """What a path stands for: itself and what is below it, and with ``*`` every name there."""
    if not path:
        return re.compile("")
    head, *texts = path.split("*")
    names = [_name_and(text, is_last=n == len(texts)) for n, text in enumerate(texts, 1)]
    return re.compile("".join([re.escape(head), *names, _BELOW]))


def _name_and(text: str, *, is_last: bool) -> str:
    """Any one name of a path, and the text that follows a star.

    Atomic: the first place where the text stands is kept, and at the end of a name the last one, so
    that many stars are not tried with every way to share a name.
    """
    literal = re.escape(text)
    if is_last and not set(text) & set('.["'):
        return rf'(?:"[^"]*"{literal}|{_BARE}{{{len(text) + 1},}}+(?<={literal}))'
    return rf'(?>(?:"[^"]*"|{_BARE}+?){literal})'


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
