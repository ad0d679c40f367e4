"""``tallystick plugins check``: whether others can trust a plugin."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tallystick.cli.shown import as_json, print_json
from tallystick.numbers.text import numbered

if TYPE_CHECKING:
    from tallystick.conformance.report import Report

_LONGEST = 400
"""The longest example that is shown in full."""


@click.command("check")
@click.argument("target", metavar="PATH-OR-NAME")
@click.option("--record", is_flag=True, help="Add new formulas to released.json, if all is well.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=120,
    show_default=True,
    help="How long it may take.",
)
@as_json
def check_command(target: str, record: bool, seconds: float, as_json: bool) -> None:
    """Check an installed plugin, or the project in a folder, in a process of its own.

    The exit status is 1 if something was found, and 2 if there is no such plugin.
    """
    from tallystick.conformance.process import check  # noqa: PLC0415  # heavy

    report = check(target, seconds=seconds, record=record)
    if as_json:
        print_json(report.to_dict())
    else:
        click.echo("\n".join(lines(report, record=record)))
    sys.exit(0 if report.passed else 1)


def lines(report: Report, *, record: bool = False) -> Iterator[str]:
    """A report as text: a block for each finding, and a line in the end."""
    from tallystick.conformance.report import lines_of  # noqa: PLC0415  # only when it is used

    for found in report.findings:
        yield from lines_of(found, _LONGEST)
        yield ""
    for name in report.recorded:
        yield f"recorded {name}"
    count = len(report.findings)
    if count:
        yield f"{report.plugin} fails: {numbered(count, 'finding')}"
        if record:
            yield "nothing was recorded: mend the findings first"
        return
    yield (
        f"{report.plugin} passes: {numbered(len(report.checked), 'check')}, "
        f"{numbered(report.formulas, 'formula')}, {numbered(report.skill_types, 'skill type')}"
    )
