"""``tallystick facts``: take the facts of records, once for every rule set."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import command, examples, status_of
from tallystick.cli.locked import Held, locked_options
from tallystick.cli.options import (
    executor_options,
    follow_links_option,
    output_option,
    rejects_option,
)
from tallystick.cli.progress import progress_bar
from tallystick.cli.settings import in_force
from tallystick.cli.shown import counts_line, show

if TYPE_CHECKING:
    from tallystick.scoring.executors.executor import Executor


@command(
    epilog=examples(
        "tallystick facts history.jsonl -o facts.parquet",
        "tallystick facts folder-of-records --workers 4 -o facts.parquet",
    ),
)
@click.argument("records", type=click.Path(path_type=Path))
@output_option("Where the facts go.")
@rejects_option("records")
@follow_links_option
@executor_options
@locked_options
def facts(  # noqa: PLR0913, PLR0917  # one argument for each option
    records: Path,
    output: Path,
    rejects: Path | None,
    follow_links: bool,
    executor: Executor,
    held: Held,  # noqa: ARG001  # no rule set takes part
) -> None:
    """Validate the RECORDS of a file or folder once, and write the facts that any rule set reads.

    The facts go to OUTPUT, a Parquet file that score and backtest take in place of the records.
    The exit status is 1 when a record was rejected, 3 when the engine itself fails on one.
    """
    from tallystick.plugins.registry import installed
    from tallystick.scoring.facts.run import extract_file

    with progress_bar("taking facts") as progress:
        receipt = extract_file(
            records,
            output,
            installed(),
            rejects=rejects,
            follow_links=follow_links,
            progress=progress,
            executor=executor,
            settings=in_force(),
        )
    where = rejects or f"{output}.rejects.jsonl"
    counts = counts_line(receipt.counts, "with a submission", "without one", where)
    show(receipt.to_dict(), [counts, f"facts    {output} {receipt.output_digest}"])
    sys.exit(status_of(receipt.counts.rejected, receipt.counts.internal_errors))
