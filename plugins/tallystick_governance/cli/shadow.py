"""``tallystick shadow``: what rules that were tried would have changed."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tallystick.cli.command import CommandGroup, examples, status_of
from tallystick.cli.locked import Held, locked_options
from tallystick.cli.options import as_json, follow_links_option, output_option
from tallystick.cli.progress import line_count
from tallystick.cli.shown import echo, print_json
from tallystick.errors import INTERNAL_ERROR
from tallystick_governance.cli.backtest import with_state_option


@click.group(cls=CommandGroup)
def shadow() -> None:
    """Rules that are tried beside those in force: report."""


@shadow.command(
    "report",
    epilog=examples(
        "tallystick shadow report tried -o report",
    ),
)
@click.argument("folder", type=click.Path(path_type=Path))
@with_state_option
@output_option("The folder of results.")
@follow_links_option
@locked_options
@as_json
def report_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    folder: Path, with_state: bool, output: Path, follow_links: bool, as_json: bool, held: Held
) -> None:
    """Compare the rules on trial with those in force, as a back-test does.

    FOLDER is that of `round close --shadow-folder`: all records that were recorded while the rules
    were tried. They are compared with the rules that were in force last.
    """
    from tallystick.plugins.registry import installed_plugins
    from tallystick_governance.backtest.run import backtest
    from tallystick_governance.backtest.summary import headlines
    from tallystick_governance.backtest.text import terminal_lines
    from tallystick_governance.shadow import FACTS, candidates

    compared = candidates(folder, installed_plugins())
    held.require(compared[0].rules)
    replays = " --with-state" if with_state else ""
    with line_count("reading") as progress:
        outcome, written = backtest(
            folder / FACTS,
            compared,
            output,
            with_state=with_state,
            command=f"tallystick shadow report {folder}{replays} -o {output}",
            follow_links=follow_links,
            progress=progress,
        )
    if as_json:
        print_json(
            {
                **headlines(outcome, written.shown.every),
                "candidates": [candidate.name for candidate in compared],
                "files": written.digests,
                "folder": str(written.folder),
                "records": dict(outcome.history.records),
            }
        )
    else:
        echo(*terminal_lines(outcome, written.shown), f"results  {written.folder}")
    rejects = outcome.history.rejects
    sys.exit(status_of(len(rejects), rejects.get(INTERNAL_ERROR, 0)))
