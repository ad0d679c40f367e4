"""``tallystick plugins check``: whether to trust a plugin."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import command, examples
from tallystick.cli.progress import working
from tallystick.cli.shown import show
from tallystick.errors import MOST_TOLD
from tallystick.numbers.text import numbered

if TYPE_CHECKING:
    from tallystick_conformance.report import Report

_LONGEST = 400
"""The longest example that is shown in full."""


@command(
    "check",
    epilog=examples(
        "tallystick plugins check acme-translation",
        "tallystick plugins check . --record",
        "tallystick plugins check . --reset-unreleased",
    ),
)
@click.argument("target", metavar="PATH-OR-NAME")
@click.option("--record", is_flag=True, help="Add new formulas to released.json, if all is well.")
@click.option(
    "--reset-unreleased",
    "reset",
    is_flag=True,
    help="Record again what was recorded under the version that the project still has.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=300,
    show_default=True,
    help="Maximum time that it may take.",
)
def check_command(target: str, record: bool, reset: bool, seconds: float) -> None:
    """Check an installed plugin, or the project in a folder, in a process of its own.

    --record keeps every line of released.json that is there. --reset-unreleased also replaces or
    removes those of formulas that no published version of the project has. The exit status is 1 if
    something was found, and 2 if there is no such plugin.
    """
    from tallystick_conformance.process import check

    with working("checking"):
        report = check(target, seconds=seconds, record=record, reset=reset)
    show(report.to_dict(), lines(report, record=record or reset))
    sys.exit(0 if report.passed else 1)


def lines(report: Report, *, record: bool = False) -> Iterator[str]:
    """Yield a report as text: a block for each finding, and a line in the end."""
    from tallystick_conformance.report import lines_of  # only when it is used

    for problem in report.findings[:MOST_TOLD]:
        yield from lines_of(problem, _LONGEST)
        yield ""
    if len(report.findings) > MOST_TOLD:
        yield f"and {len(report.findings) - MOST_TOLD} more: --json has all of them"
        yield ""
    for name in report.recorded:
        yield f"recorded {name}"
    for name in report.removed:
        yield f"removed {name}"
    count = len(report.findings)
    if count:
        yield f"{report.plugin} fails: {numbered(count, 'finding')}"
        if record:
            yield "nothing was recorded: fix the findings first"
        return
    yield (
        f"{report.plugin} passes: {numbered(len(report.checked), 'check')}, "
        f"{numbered(report.formulas, 'formula')}, {numbered(report.skill_types, 'skill type')}"
    )
