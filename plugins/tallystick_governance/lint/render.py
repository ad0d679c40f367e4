"""A lint report as text for a terminal, as Markdown for a proposal, and as JSON.

People read findings that several skill types share as one, with ``*`` for the type; machines have
each by itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from tallystick.diagnostics import SEVERITIES, Diagnostic
from tallystick.errors import MOST_TOLD
from tallystick.io.text import escaped
from tallystick.numbers.text import numbered
from tallystick.rules.toml import decimal_text
from tallystick.scoring.lint import Check
from tallystick_governance.lint.linting import Report
from tallystick_governance.lint.suppressions import Suppressed
from tallystick_governance.markdown import cell, code, inline

_INDENT = "    "
_ANY = "*"
_BEFORE = "before"
"""The key of the evidence that has what the older rule set had at the place."""
_OF_TYPE = re.compile(r"(?<=^skill_types\.)(?:\"([^\"]*)\"|([^.\"\[]+))")


@attrs.frozen
class Group:
    """Findings that differ only in the skill type.

    Attributes:
        findings: each, in the order of the file.
        types: the skill type of each; empty when it is of none.
    """

    findings: tuple[Diagnostic, ...]
    types: tuple[str, ...]

    @property
    def first(self) -> Diagnostic:
        """The first in the file."""
        return self.findings[0]

    @property
    def is_shared(self) -> bool:
        """Whether several types have it."""
        return len(self.findings) > 1

    @property
    def path(self) -> str:
        """The path, with ``*`` for several types."""
        return _OF_TYPE.sub(_ANY, self.first.path) if self.is_shared else self.first.path

    @property
    def messages(self) -> tuple[str, ...]:
        """What is found, with ``*`` for several types; a message each where they say more."""
        if not self.is_shared:
            return (self.first.message,)
        masked = map(_masked, (f.message for f in self.findings), self.types)
        return tuple(dict.fromkeys(masked))


def groups(findings: Iterable[Diagnostic]) -> tuple[Group, ...]:
    """The findings, those of one code and place that several skill types have as one."""
    found: dict[tuple[str | int, ...], list[Diagnostic]] = {}
    seen: Counter[tuple[str, ...]] = Counter()
    for each in findings:
        place = (each.code, each.severity, each.path)
        # the second of one place goes with the second of another
        key = (each.code, each.severity, _OF_TYPE.sub(_ANY, each.path), seen[place])
        seen[place] += 1
        found.setdefault(key, []).append(each)
    return tuple(Group(tuple(each), tuple(map(_type_of, each))) for each in found.values())


def as_json(found: Report) -> dict[str, Any]:
    """The report as a JSON value."""
    said: dict[str, Any] = {
        "findings": [attrs.asdict(finding) for finding in found.findings],
        "silenced": [
            attrs.asdict(each.finding) | {"reason": each.reason, "figures": _kept(each)}
            for each in found.silenced
        ],
    }
    if found.against is not None:
        said |= {"against": found.against, "gone": [attrs.asdict(each) for each in found.gone]}
    if found.refused:
        said["refused"] = [{"name": name, "reason": why} for name, why in found.refused.items()]
    if found.not_analysed:
        said["not_analysed"] = [attrs.asdict(each) for each in found.not_analysed]
    return said


def _kept(suppressed: Suppressed) -> dict[str, str]:
    """Return the figures that a silence was written for, as text."""
    return {name: decimal_text(n) for name, n in suppressed.silence.figures.items()}


def as_text(found: Report, *, verbose: bool = False) -> str:
    """The report for a terminal; with the evidence of every single finding if it is verbose."""
    lines = list(_text_of(found.findings, found.checks, verbose=verbose))
    if found.gone:
        gone = _text_of(found.gone, found.checks, verbose=verbose)
        lines += [*([""] if lines else []), f"gone since {found.against}:", *gone, ""]
    lines += map(str, found.not_analysed)
    # what is named in a line may have line ends
    return "\n".join(map(escaped, [*lines, summary(found)]))


def summary(found: Report) -> str:
    """How much was found, in a line."""
    counted = Counter(finding.severity for finding in found.findings)
    counts = [numbered(counted[s], s) for s in SEVERITIES if counted[s]]
    silenced = f"; {len(found.silenced)} silenced" if found.silenced else ""
    if found.not_analysed:
        silenced += f"; {numbered(len(found.not_analysed), 'value')} not analysed"
    if found.against is None:
        return f"{', '.join(counts) or 'nothing found'}{silenced}"
    new = f"new since {found.against}: {', '.join(counts) or 'nothing'}"
    return f"{new}{silenced}; {len(found.gone)} gone"


def as_markdown(found: Report) -> str:
    """The report as a part of a proposal."""
    beside = f", against {found.against}" if found.against else ""
    lines = [f"# Lint of {inline(found.rule_set + beside)}", "", inline(f"{summary(found)}.")]
    heading = "New" if found.against else "Found"
    lines += _table(heading, found.findings)
    lines += _table(f"Gone since {inline(found.against or '')}", found.gone)
    lines += _silenced_table(found.silenced)
    lines += _refused_table(found.refused)
    lines += [line for value in found.not_analysed for line in ("", inline(str(value)))]
    return "\n".join(lines) + "\n"


def _text_of(
    findings: Sequence[Diagnostic], checks: Mapping[str, Check], *, verbose: bool
) -> Iterator[str]:
    told = findings[:MOST_TOLD]
    if verbose:
        for each in told:
            yield from _finding_text(each)
    else:
        for group in groups(told):
            yield from _group_text(group, checks)
    if len(told) < len(findings):
        yield from (f"and {len(findings) - len(told)} more: --json has all of them", "")


def _finding_text(finding: Diagnostic) -> Iterator[str]:
    yield f"{finding.where}: {finding.severity} {finding.code}: {finding.message}"
    for name, value in {"path": finding.path, **finding.evidence}.items():
        if value not in ("", None, [], {}):
            yield f"{_INDENT}{name.replace('_', ' ')}: {_text(value)}"
    yield f"{_INDENT}remedy: {finding.remedy}"


def _group_text(group: Group, checks: Mapping[str, Check]) -> Iterator[str]:
    first, messages = group.first, group.messages
    one = messages[0] if len(messages) == 1 else checks[first.code].summary
    yield f"{first.where}: {first.severity} {first.code}: {one}"
    if group.path:
        yield f"{_INDENT}path: {group.path}"
    if len(messages) > 1:
        for found, name in zip(group.findings, group.types, strict=True):
            yield f"{_INDENT}{name}, line {found.line}: {found.message}"
            yield from _before(found)
    else:
        yield from _before(first)
        if group.is_shared:
            yield f"{_INDENT}{_ANY}: {', '.join(group.types)}"
    yield f"{_INDENT}remedy: {first.remedy}"


def _before(finding: Diagnostic) -> Iterator[str]:
    """Yield what was found at the place in the older rule set, where it was another finding."""
    if _BEFORE in finding.evidence:
        yield f"{_INDENT}before: {finding.evidence[_BEFORE]}"


def _table(heading: str, findings: Sequence[Diagnostic]) -> list[str]:
    if not findings:
        return []
    rows = [
        f"| {g.first.severity} | `{g.first.code}` | {code(g.path or 'the file')} | {_told(g)} |"
        for g in groups(findings)
    ]
    return [
        "",
        f"## {heading}",
        "",
        "| severity | code | path | what |",
        "|---|---|---|---|",
        *rows,
    ]


def _told(group: Group) -> str:
    """What a group says, as a cell of Markdown."""
    if len(group.messages) > 1:
        told = (f"{name}: {f.message}" for f, name in zip(group.findings, group.types, strict=True))
        return _cell("; ".join(told))
    said = group.messages[0]
    return _cell(f"{said} ({_ANY}: {', '.join(group.types)})" if group.is_shared else said)


def _silenced_table(silenced: Sequence[Suppressed]) -> list[str]:
    if not silenced:
        return []
    reasons = {id(each.finding): each.reason for each in silenced}
    rows = [
        f"| `{g.first.code}` | {code(g.path)} | {_cell('; '.join(_distinct(g, reasons)))} |"
        for g in groups(each.finding for each in silenced)
    ]
    return ["", "## Silenced", "", "| code | path | reason |", "|---|---|---|", *rows]


def _refused_table(refused: Mapping[str, str]) -> list[str]:
    if not refused:
        return []
    rows = [f"| {code(name)} | {_cell(why)} |" for name, why in refused.items()]
    return ["", "## Not made", "", "| lints | why |", "|---|---|", *rows]


def _distinct(group: Group, reasons: Mapping[int, str]) -> Iterable[str]:
    """The reasons of the findings of a group, each once."""
    return dict.fromkeys(reasons[id(each)] for each in group.findings)


def _type_of(finding: Diagnostic) -> str:
    found = _OF_TYPE.search(finding.path)
    return (found[1] or found[2]) if found else ""


def _masked(message: str, skill_type: str) -> str:
    return re.sub(rf"(?<![\w/.-]){re.escape(skill_type)}(?![\w/-])", _ANY, message)


def _cell(text: str) -> str:
    """A text as a cell; lines of a text for people are one."""
    return cell(" ".join(text.splitlines()))


def _text(value: object) -> str:
    match value:
        case Mapping():
            return ", ".join(f"{name} {_nested(each)}" for name, each in value.items())
        case list() | tuple():
            return ", ".join(map(_nested, value))
    return str(value)


def _nested(value: object) -> str:
    return f"({_text(value)})" if isinstance(value, dict | list | tuple) else str(value)
