"""A lint report as text for a terminal, as Markdown for a proposal, and as JSON.

People read findings that several skill types share as one, with ``*`` for the type; machines have
each by itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from tallystick.diagnostics import SEVERITIES, Diagnostic
from tallystick.errors import MOST_TOLD
from tallystick.io.text import escaped
from tallystick.json_values import JsonObject, json_form, json_value
from tallystick.numbers.text import numbered
from tallystick.rules.toml import decimal_text
from tallystick.scoring.lint import Check
from tallystick_governance.lint.linting import Report
from tallystick_governance.lint.suppressions import Suppressed
from tallystick_governance.markdown import cell, code, page, paragraph, section, table

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
        """True if several types have the finding."""
        return len(self.findings) > 1

    @property
    def path(self) -> str:
        """The path, with ``*`` for several types."""
        return _OF_TYPE.sub(_ANY, self.first.path) if self.is_shared else self.first.path

    @property
    def messages(self) -> tuple[str, ...]:
        """The message, with ``*`` for several types; one for each where they differ further."""
        if not self.is_shared:
            return (self.first.message,)
        masked = map(_masked, (f.message for f in self.findings), self.types)
        return tuple(dict.fromkeys(masked))


def groups(findings: Iterable[Diagnostic]) -> tuple[Group, ...]:
    """Return the findings; those of one code and place that several skill types have are one."""
    grouped: dict[tuple[str | int, ...], list[Diagnostic]] = {}
    seen: Counter[tuple[str, ...]] = Counter()
    for finding in findings:
        key_of_place = (finding.code, finding.severity, finding.path)
        # the second of one place goes with the second of another
        key = (finding.code, finding.severity, _OF_TYPE.sub(_ANY, finding.path), seen[key_of_place])
        seen[key_of_place] += 1
        grouped.setdefault(key, []).append(finding)
    return tuple(
        Group(tuple(finding), tuple(map(_type_of, finding))) for finding in grouped.values()
    )


def as_json(report: Report) -> JsonObject:
    """Return the report as JSON values."""
    value: JsonObject = json_value({"findings": report.findings, "silenced": report.silenced})
    if report.against is not None:
        value |= json_value({"against": report.against, "gone": report.gone})
    if report.refused:
        value["refused"] = [{"name": name, "reason": why} for name, why in report.refused.items()]
    return value


def _silenced(suppressed: Suppressed) -> JsonObject:
    """Return a silenced finding as JSON values, with the figures that its silence names."""
    figures = {name: decimal_text(figure) for name, figure in suppressed.silence.figures.items()}
    finding: JsonObject = json_value(suppressed.finding)
    return finding | {"reason": suppressed.silence.reason, "figures": figures}


json_form(Suppressed, _silenced)


def as_text(found: Report, *, verbose: bool = False) -> str:
    """Return the report for a terminal; verbose, with the evidence of every finding."""
    lines = list(_text_of(found.findings, found.checks, verbose=verbose))
    if found.gone:
        gone = _text_of(found.gone, found.checks, verbose=verbose)
        lines += [*([""] if lines else []), f"gone since {found.against}:", *gone, ""]
    # what is named in a line may have line ends
    return "\n".join(map(escaped, [*lines, summary(found)]))


def summary(found: Report) -> str:
    """Return the counts of findings, in a line."""
    counted = Counter(finding.severity for finding in found.findings)
    counts = [numbered(counted[s], s) for s in SEVERITIES if counted[s]]
    silenced = f"; {len(found.silenced)} silenced" if found.silenced else ""
    if found.against is None:
        return f"{', '.join(counts) or 'nothing found'}{silenced}"
    new = f"new since {found.against}: {', '.join(counts) or 'nothing'}"
    return f"{new}{silenced}; {len(found.gone)} gone"


def as_markdown(report: Report) -> str:
    """Return the report as a part of a proposal."""
    beside = f", against {report.against}" if report.against else ""
    reasons = {id(suppressed.finding): suppressed.silence.reason for suppressed in report.silenced}
    silenced = (
        (f"`{g.first.code}`", code(g.path), _cell("; ".join(_distinct(g, reasons))))
        for g in groups(suppressed.finding for suppressed in report.silenced)
    )
    refused = ((code(name), _cell(why)) for name, why in report.refused.items())
    return page(
        f"Lint of {report.rule_set}{beside}",
        paragraph(f"{summary(report)}."),
        section("New" if report.against else "Found", _table(report.findings)),
        section(f"Gone since {report.against}", _table(report.gone)),
        section("Silenced", table(("code", "path", "reason"), silenced)),
        section("Not made", table(("lints", "why"), refused)),
    )


def _text_of(
    findings: Sequence[Diagnostic], checks: Mapping[str, Check], *, verbose: bool
) -> Iterator[str]:
    first = findings[:MOST_TOLD]
    if verbose:
        for finding in first:
            yield from _finding_text(finding)
    else:
        for group in groups(first):
            yield from _group_text(group, checks)
    if len(first) < len(findings):
        yield from (f"and {len(findings) - len(first)} more: --json has all of them", "")


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
        for finding, name in zip(group.findings, group.types, strict=True):
            yield f"{_INDENT}{name}, line {finding.line}: {finding.message}"
            yield from _before(finding)
    else:
        yield from _before(first)
        if group.is_shared:
            yield f"{_INDENT}{_ANY}: {', '.join(group.types)}"
    yield f"{_INDENT}remedy: {first.remedy}"


def _before(finding: Diagnostic) -> Iterator[str]:
    """Yield what was found at the place in the older rule set, where it was another finding."""
    if _BEFORE in finding.evidence:
        yield f"{_INDENT}before: {finding.evidence[_BEFORE]}"


def _table(findings: Sequence[Diagnostic]) -> list[str]:
    """Return a table of Markdown with a row for each group of findings."""
    rows = (
        (g.first.severity, f"`{g.first.code}`", code(g.path or "the file"), _message(g))
        for g in groups(findings)
    )
    return table(("severity", "code", "path", "what"), rows)


def _message(group: Group) -> str:
    """Return the message of a group as a cell of Markdown."""
    if len(group.messages) > 1:
        pairs = zip(group.findings, group.types, strict=True)
        return _cell("; ".join(f"{name}: {finding.message}" for finding, name in pairs))
    message = group.messages[0]
    return _cell(f"{message} ({_ANY}: {', '.join(group.types)})" if group.is_shared else message)


def _distinct(group: Group, reasons: Mapping[int, str]) -> Iterable[str]:
    """Return the reasons of the findings of a group, each once."""
    return dict.fromkeys(reasons[id(finding)] for finding in group.findings)


def _type_of(finding: Diagnostic) -> str:
    match = _OF_TYPE.search(finding.path)
    return (match[1] or match[2]) if match else ""


def _masked(message: str, skill_type: str) -> str:
    return re.sub(rf"(?<![\w/.-]){re.escape(skill_type)}(?![\w/-])", _ANY, message)


def _cell(text: str) -> str:
    """Return a text as a cell; lines of a text for people are one."""
    return cell(" ".join(text.splitlines()))


def _text(value: object) -> str:
    match value:
        case Mapping():
            return ", ".join(f"{name} {_nested(item)}" for name, item in value.items())
        case list() | tuple():
            return ", ".join(map(_nested, value))
    return str(value)


def _nested(value: object) -> str:
    return f"({_text(value)})" if isinstance(value, dict | list | tuple) else str(value)
