"""``tallystick rules lint``: what a rule set does that its authors may not have meant."""

from __future__ import annotations

import sys
import textwrap
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import command, examples
from tallystick.cli.log import tell_refusal
from tallystick.cli.options import markdown_option
from tallystick.cli.progress import working
from tallystick.cli.shown import print_json, print_text, wants_json
from tallystick_governance.cli.moved_weight import moved_weight

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tallystick.scoring.lint import Check
    from tallystick_governance.lint.linting import Report

_INDENT = "    "
_WIDTH = 100
_SAID = ("code", "severity", "summary", "documentation", "remedy")
"""The fields of a check that --explain prints."""


@command(
    "lint",
    epilog=examples(
        "tallystick rules lint mine.toml",
        "tallystick rules lint --explain all",
    ),
)
@click.argument("reference", metavar="[RULES]", required=False)
@click.option("--select", metavar="CODE,…", help="Report only what these checks find.")
@click.option("--ignore", metavar="CODE,…", help="Leave out what these checks find.")
@click.option("--explain", metavar="CODE", help="Print the documentation of a check, or of all.")
@click.option("--against", metavar="OLD", help="Report only what is new beside OLD, or gone.")
@click.option("-v", "--verbose", is_flag=True, help="Print the evidence of every single finding.")
@markdown_option
@click.option("--sarif", is_flag=True, help="Print SARIF 2.1.0 for a host of code.")
def lint_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    reference: str | None,
    select: str | None,
    ignore: str | None,
    explain: str | None,
    against: str | None,
    verbose: bool,
    markdown: bool,
    sarif: bool,
) -> None:
    """Find likely mistakes in RULES, with figures; exit status 1 if one is an error.

    --explain needs no RULES; `--explain all` prints every check. A rule set silences a code with
    [[lint.silence]]: code, reason, the figures that it is for, and perhaps path. With --against, an
    error that OLD has too does not count for the exit status; a silence that OLD does not have, and
    what is worse than its silence was written for, does.
    """
    from tallystick_governance.lint import render
    from tallystick_governance.lint.catalog import installed_lints
    from tallystick_governance.lint.linting import report
    from tallystick_governance.lint.sarif import as_sarif

    if sum((wants_json(), verbose, markdown, sarif)) > 1:
        raise click.UsageError("expected one of --json, --markdown, --sarif and --verbose")
    if explain is not None:
        checks = _explained(explain)
        _tell_refused(installed_lints().refused)
        if wants_json():
            print_json([{key: getattr(check, key) for key in _SAID} for check in checks])
        else:
            print_text("\n\n".join(map(_documentation, checks)))
        return
    if reference is None:
        raise click.UsageError("missing argument 'RULES': name a rule set, or give --explain CODE")
    chosen = _codes(select, "--select"), _codes(ignore, "--ignore")
    with working("linting"):
        result = report(reference)
    if against is not None:
        old = _loading(against)
        with working("comparing"):
            result = result.since(old, partial(_weight_moved, old, result), chosen[0] or ())
    result = result.of(*chosen)
    if wants_json() or sarif:
        print_json(as_sarif(result) if sarif else render.as_json(result), is_closed=sarif)
    elif markdown:
        print_text(render.as_markdown(result))
    else:
        print_text(render.as_text(result, verbose=verbose))
    _tell_refused(result.refused)
    sys.exit(1 if any(finding.severity == "error" for finding in result.findings) else 0)


def _weight_moved(old: Report, new: Report) -> Fraction | None:
    """Return the share of weight that a change moves among made-up miners.

    Returns:
        None where the rules read of records what a simulation cannot put in; the severity of what
        is found is then that of its check.
    """
    from tallystick.numbers.nano import to_fraction

    if old.scorer is None or new.scorer is None:
        return None
    weight = moved_weight(old.scorer, new.scorer)
    return None if weight is None else to_fraction(weight.moved)


def _tell_refused(refused: Mapping[str, str]) -> None:
    """Tell which lints were not made; the others were."""
    for name, why in refused.items():
        tell_refusal(f"lints of {name} refused: {why}")


def _loading(reference: str) -> Report:
    """Return the findings of a rule set that has to load, so that they are all that there are."""
    from tallystick.errors import RuleSetError
    from tallystick_governance.lint.linting import report

    result = report(reference)
    if result.scorer is None:
        raise RuleSetError(result.findings)
    return result


def _codes(given: str | None, option: str) -> frozenset[str] | None:
    """Return the codes of an option; None when it is not given."""
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
    from tallystick.diagnostics import nearest

    checks = _catalogue()
    if code not in checks:
        hint = nearest(code, checks) or f": {', '.join(checks)}"
        raise click.UsageError(f"{option}: found {code!r}, expected the code of a check{hint}")
    return checks[code]


def _catalogue() -> Mapping[str, Check]:
    from tallystick_governance.lint.catalog import installed_lints

    return installed_lints().checks


def _documentation(check: Check) -> str:
    beside = [] if check.compare is None else ["Asked with --against alone."]
    parts = [check.summary, check.documentation, *beside, f"remedy: {check.remedy}"]
    filled = [
        textwrap.fill(part, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
        for part in parts
    ]
    return "\n".join([f"{check.code} ({check.severity})", *filled])
