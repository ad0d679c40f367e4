"""Silences of a rule set, each with its reason and the figures that it was written for.

A silence covers a finding whose figures are no worse than those that it keeps. Beside another rule
set it counts only if that one has it too, and only for what is found there too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache

import attrs

from tallystick.diagnostics import SEVERITIES, Diagnostic, nearest
from tallystick.numbers.nano import NANO
from tallystick.rules.findings import Finding
from tallystick.rules.model import Silence
from tallystick.rules.toml import KeyPath, decimal_text
from tallystick.scoring.lint import Check, Figure

UNKNOWN, IDLE = "silence-unknown", "silence-unneeded"
UNBOUNDED, OUTGROWN, NEW = "silence-unbounded", "silence-outgrown", "silence-new"
_PART = re.compile(r"\[\d*\]?|\"[^\"]*\"?|[^.\[\"]+")
"""A name of a path, one in quotes, or an index."""
_STAR = "*"
"""Any one name of a path, or a part of one."""
SLIGHT = Fraction(5, 4)
"""Ratio of a figure to the one that a silence keeps up to which it is beyond it by a little."""

Bounds = Mapping[str, Fraction | None]
"""The worst that a silence covers, by the name of the figure; None is beyond every number."""


@attrs.frozen
class Suppressed:
    """A finding that the rule set silences.

    Attributes:
        finding: what is found.
        silence: what covers it.
    """

    finding: Diagnostic
    silence: Silence


def apart(
    findings: Iterable[Diagnostic], silences: Sequence[Silence], known: Mapping[str, Check]
) -> tuple[list[Diagnostic], list[Suppressed]]:
    """Return the findings that are reported, and those that are silenced.

    What is more severe than its check usually is says more than what was excused: it is reported.
    """
    reported: list[Diagnostic] = []
    silenced: list[Suppressed] = []
    for finding in findings:
        covering = [s for s in silences if _covers(s, finding)]
        check = known[finding.code]
        silence = next((s for s in covering if not exceeded(finding, bounds_of(s), check)), None)
        if silence is None or _is_worse(finding, check):
            reported.append(finding)
        else:
            silenced.append(Suppressed(finding, silence))
    return reported, silenced


def exceeded(finding: Diagnostic, bounds: Bounds, check: Check) -> dict[str, Fraction | None]:
    """Return the bounds that the figures of a finding are beyond."""
    figures = check.figures_of(finding.evidence)
    return {
        figure.name: bounds[figure.name]
        for figure in check.figures
        if figure.name in bounds
        and figure.name in figures
        and figure.exceeds(figures[figure.name], bounds[figure.name])
    }


def is_slightly_beyond(finding: Diagnostic, silence: Silence, check: Check) -> bool:
    """Return whether a silence is for a finding, up to figures that it exceeds by a little."""
    if not _covers(silence, finding) or _is_worse(finding, check):
        return False
    bounds, figures = bounds_of(silence), check.figures_of(finding.evidence)
    beyond = exceeded(finding, bounds, check)
    widened = {
        name: bound * (SLIGHT if check.figure(name).worse == "more" else 1 / SLIGHT)
        for name, bound in bounds.items()
        if bound is not None and name in figures
    }
    return bool(beyond) and not exceeded(finding, widened, check)


def worst_of(findings: Iterable[Diagnostic], check: Check) -> dict[str, Fraction | None]:
    """Return the worst figures of some findings of one check: what a silence of them keeps."""
    worst: dict[str, Fraction | None] = {}
    for finding in findings:
        for name, value in check.figures_of(finding.evidence).items():
            if name not in worst or check.figure(name).exceeds(value, worst[name]):
                worst[name] = value
    return worst


def bounds_of(silence: Silence) -> Bounds:
    """Return the figures that a silence keeps, exact."""
    return {name: Fraction(number) for name, number in silence.figures.items()}


def is_of_same_place(silence: Silence, other: Silence) -> bool:
    """Return whether another silence has the same code, and all paths of the first."""
    return silence.code == other.code and _is_within(silence.path, other.path)


def is_wider(silence: Silence, other: Silence, check: Check | None) -> bool:
    """Return whether a silence covers anything that another does not."""
    if not is_of_same_place(silence, other):
        return True
    ours, theirs = bounds_of(silence), bounds_of(other)
    return check is not None and any(
        figure.name in theirs
        and (figure.name not in ours or figure.exceeds(ours[figure.name], theirs[figure.name]))
        for figure in check.figures
    )


def beyond_silences(
    findings: Sequence[Diagnostic], silences: Sequence[Silence], known: Mapping[str, Check]
) -> Iterator[Diagnostic]:
    """Find where figures are worse than what a silence of the place keeps.

    Args:
        findings: those that are reported.
        silences: of the rule set.
        known: the checks by code.
    """
    for finding in findings:
        check = known[finding.code]
        silence = next((s for s in silences if _covers(s, finding)), None)
        if silence is not None and not _is_worse(finding, check):
            beyond = exceeded(finding, bounds_of(silence), check)
            yield outgrown(finding, beyond, check, known[OUTGROWN])


def outgrown(finding: Diagnostic, beyond: Bounds, check: Check, of: Check) -> Diagnostic:
    """Return the diagnostic of a finding that is not what its silence was written for.

    Args:
        finding: what is found.
        beyond: the bounds that it exceeds; none where it has no figures.
        check: that found it.
        of: the check of such diagnostics.
    """
    own = check.figures_of(finding.evidence)
    figures = {name: _figure_text(value) for name, value in own.items()}
    bounds = {name: _figure_text(value) for name, value in beyond.items()}
    texts = [f"{name} is {figures[name]}, silenced up to {bounds[name]}" for name in bounds]
    return attrs.evolve(
        finding,
        code=of.code,
        # what is only good to know is no error for being known to another extent
        severity="note" if finding.severity == "note" else of.severity,
        message=f"{finding.code}: {'; '.join(texts) or 'the silence is for another finding'}",
        evidence={
            "silenced": finding.code,
            "figures": {name: figures[name] for name in bounds},
            "silenced_up_to": bounds,
        },
        remedy=of.remedy,
    )


def mistakes(
    silences: Sequence[Silence], known: Mapping[str, Check], findings: Sequence[Diagnostic]
) -> Iterator[tuple[Check, Finding]]:
    """Find silences of codes or figures that do not exist, of nothing, and without figures."""
    for index, silence in enumerate(silences):
        covered = [finding for finding in findings if _covers(silence, finding)]
        if silence.code not in known:
            path: KeyPath = ("lint", "silence", index, "code")
            message = f"there is no check {silence.code} to silence"
            yield known[UNKNOWN], Finding(path, message, {"silenced": silence.code})
            continue
        yield from _wrong_figures(index, silence, covered, known)
        if not covered and known[silence.code].compare is None:
            where = f" at {silence.path}" if silence.path else ""
            message = f"nothing is found of {silence.code}{where}"
            yield (
                known[IDLE],
                Finding(("lint", "silence", index), message, {"silenced": silence.code}),
            )


def _wrong_figures(
    place: int, silence: Silence, covered: Sequence[Diagnostic], known: Mapping[str, Check]
) -> Iterator[tuple[Check, Finding]]:
    """Find figures of a silence that its check does not have, and those that it leaves out."""
    check = known[silence.code]
    names = {figure.name for figure in check.figures}
    for name in silence.figures:
        if name not in names:
            path: KeyPath = ("lint", "silence", place, "figures", name)
            expected = nearest(name, names) or f": it has {', '.join(sorted(names)) or 'none'}"
            message = f"{silence.code} has no figure {name}{expected}"
            yield known[UNKNOWN], Finding(path, message, {"silenced": silence.code})
    worst = worst_of(covered, check)
    missing = [name for name in worst if worst[name] is not None and name not in silence.figures]
    if missing:
        text = _figures_table(check, {n: silence.figures.get(n, worst[n]) for n in worst})
        yield (
            known[UNBOUNDED],
            Finding(
                ("lint", "silence", place),
                f"the silence of {silence.code} keeps no {' and no '.join(missing)}, so that it "
                f"covers any; as it is: figures = {text}",
                {"silenced": silence.code, "figures": text},
            ),
        )


def _figures_table(check: Check, worst: Mapping[str, Fraction | Decimal | None]) -> str:
    """Return the inline table of a silence that covers some figures, as TOML, rounded to worse."""
    pairs = [
        f"{name} = {_rounded(check.figure(name), value)}"
        for name, value in worst.items()
        if value is not None
    ]
    return f"{{ {', '.join(pairs)} }}"


def _rounded(figure: Figure, value: Fraction | Decimal) -> str:
    exact = Fraction(value) * NANO
    up = figure.worse == "more"
    whole = -(-exact.numerator // exact.denominator) if up else exact.numerator // exact.denominator
    return decimal_text(Decimal(whole).scaleb(-9))


def _figure_text(value: Fraction | None) -> str:
    if value is None:
        return "never"
    return decimal_text(Decimal(round(value * NANO)).scaleb(-9))


def _covers(silence: Silence, finding: Diagnostic) -> bool:
    return silence.code == finding.code and _is_within(finding.path, silence.path)


def _is_worse(finding: Diagnostic, check: Check) -> bool:
    return SEVERITIES.index(finding.severity) < SEVERITIES.index(check.severity)


@cache
def _is_within(path: str, outer: str) -> bool:
    """Return whether a path is another one or below it, in which ``*`` is any one name."""
    parts, patterns = _PART.findall(path), _PART.findall(outer)
    return len(patterns) <= len(parts) and all(map(_matches, patterns, parts))


def _matches(asked: str, part: str) -> bool:
    """Return whether a name fits a pattern, each ``*`` one letter or more, in linear time."""
    if _STAR not in asked or asked == part:
        return asked == part
    if part.startswith(("[", '"')):
        return asked == _STAR and part.startswith('"')
    first, *middle, last = asked.split(_STAR)
    end = len(part) - len(last)
    if not part.startswith(first) or not part.endswith(last):
        return False
    here = len(first)
    for text in middle:
        here = part.find(text, here + 1, end)
        if here < 0:
            return False
        here += len(text)
    return here < end


_SILENCE_UNKNOWN = Check(
    UNKNOWN,
    "warning",
    "a silence of a code that does not exist",
    documentation=(
        "A code that is silenced must be one of the linter's, so that a misspelt one is seen."
    ),
    remedy="write the code of a check",
)
_SILENCE_UNNEEDED = Check(
    IDLE,
    "note",
    "a silence of what is not found",
    documentation="The rule set silences a code that finds nothing there: what it excuses is gone.",
    remedy="remove the silence",
)
_SILENCE_UNBOUNDED = Check(
    UNBOUNDED,
    "warning",
    "a silence that keeps no figures",
    documentation=(
        "A silence is for the figures that its author saw. One that does not keep them covers any "
        "that come later. The figures of a check are those of its evidence that say how bad a "
        "finding is; a check without such figures needs none."
    ),
    remedy="write the figures that the reason is about",
)
_SILENCE_OUTGROWN = Check(
    OUTGROWN,
    "error",
    "a finding that is worse than what its silence was written for",
    documentation=(
        "A figure of the finding is worse than the one that the silence keeps. With --against the "
        "silence counts as the older rule set has it: where that keeps no figures, those that are "
        "found there count, and where the check has no figures, what is found has to be the same. "
        "This cannot be silenced."
    ),
    remedy="make it no worse than before, or let voters judge it without the silence",
)
_SILENCE_NEW = Check(
    NEW,
    "error",
    "a silence that the other rule set does not have",
    documentation=(
        "With --against: a proposal that silences its own findings would judge itself. A silence "
        "is new if the older rule set has none of its code and place, or one of lesser figures. "
        "Another reason is no other silence. This cannot be silenced."
    ),
    remedy="leave the silence out, or let voters judge what it silences",
)
