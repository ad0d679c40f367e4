"""``tallystick rules lint``: what a rule set does that its authors may not have meant."""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs
import click

from tallystick.cli.command import examples
from tallystick.cli.shown import as_json, print_json
from tallystick.numbers.text import numbered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tallystick.diagnostics import Diagnostic
    from tallystick.governance.lint.check import Check
    from tallystick.governance.lint.linting import Report

_INDENT = "    "
_WIDTH = 100


@click.command(
    "lint",
    epilog=examples(
        "tallystick rules lint mine.toml",
        "tallystick rules lint --explain all",
    ),
)
@click.argument("reference", metavar="[RULES]", required=False)
@as_json
@click.option("--select", metavar="CODE,…", help="Report only what these checks find.")
@click.option("--ignore", metavar="CODE,…", help="Leave out what these checks find.")
@click.option("--explain", metavar="CODE", help="Print the documentation of a check, or of all.")
def lint_command(
    reference: str | None,
    as_json: bool,
    select: str | None,
    ignore: str | None,
    explain: str | None,
) -> None:
    """What RULES does that may not be meant, with figures; exit status 1 with an error.

    --explain needs no RULES; `--explain all` prints every check. A rule set silences a code with
    [[lint.silence]]: code, reason, and perhaps path.
    """
    from tallystick.governance.lint.linting import report  # noqa: PLC0415  # heavy

    if explain is not None:
        click.echo("\n\n".join(map(_documentation, _explained(explain))))
        return
    if reference is None:
        raise click.UsageError("missing argument 'RULES': name a rule set, or give --explain CODE")
    chosen = _codes(select, "--select"), _codes(ignore, "--ignore")
    found = report(reference).of(*chosen)
    if as_json:
        print_json(_as_json(found))
    else:
        click.echo("\n".join(_lines(found)))
    sys.exit(1 if any(finding.severity == "error" for finding in found.findings) else 0)


def _codes(given: str | None, option: str) -> frozenset[str] | None:
    """The codes of an option; None when it is not given."""
    if given is None:
        return None
    codes = frozenset(code.strip() for code in given.split(","))
    for code in sorted(codes):
        _check(code, option)
    return codes


def _explained(code: str) -> list[Check]:
    if code == "all":
        return list(_catalogue().values())
    return [_check(code, "--explain")]


def _check(code: str, option: str) -> Check:
    from tallystick.rules.findings import nearest  # noqa: PLC0415  # heavy

    checks = _catalogue()
    if code not in checks:
        hint = nearest(code, checks) or f": {', '.join(checks)}"
        raise click.UsageError(f"{option}: found {code!r}, expected the code of a check{hint}")
    return checks[code]


def _catalogue() -> Mapping[str, Check]:
    from tallystick.governance.lint.catalog import CHECKS  # noqa: PLC0415  # heavy

    return CHECKS


def _documentation(check: Check) -> str:
    parts = [check.summary, check.documentation, f"remedy: {check.remedy}"]
    filled = [
        textwrap.fill(part, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
        for part in parts
    ]
    return "\n".join([f"{check.code} ({check.severity})", *filled])


def _as_json(found: Report) -> dict[str, Any]:
    return {
        "findings": [attrs.asdict(finding) for finding in found.findings],
        "silenced": [
            attrs.asdict(each.finding) | {"reason": each.reason} for each in found.silenced
        ],
    }


def _lines(found: Report) -> Iterator[str]:
    for finding in found.findings:
        yield from _finding(finding)
    counted = Counter(finding.severity for finding in found.findings)
    counts = [numbered(counted[s], s) for s in ("error", "warning", "note") if counted[s]]
    silenced = f"; {len(found.silenced)} silenced" if found.silenced else ""
    yield f"{', '.join(counts) or 'nothing found'}{silenced}"


def _finding(finding: Diagnostic) -> Iterator[str]:
    yield f"{finding.where}: {finding.severity} {finding.code}: {finding.message}"
    for name, value in {"path": finding.path, **finding.evidence}.items():
        if value not in ("", None, [], {}):
            yield f"{_INDENT}{name.replace('_', ' ')}: {_text(value)}"
    yield f"{_INDENT}remedy: {finding.remedy}"


def _text(value: object) -> str:
    match value:
        case dict():
            return ", ".join(f"{name} {_nested(each)}" for name, each in value.items())
        case list() | tuple():
            return ", ".join(map(_nested, value))
    return str(value)


def _nested(value: object) -> str:
    return f"({_text(value)})" if isinstance(value, dict | list | tuple) else str(value)
