"""``tallystick score``: score a file of records."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli import log
from tallystick.cli.command import command, examples, status_of
from tallystick.cli.locked import Held, locked_options
from tallystick.cli.options import (
    executor_options,
    follow_links_option,
    output_option,
    rejects_option,
    rules_option,
)
from tallystick.cli.plugin_options import ExtensibleCommand, PluginOptions
from tallystick.cli.progress import progress_bar
from tallystick.cli.settings import in_force
from tallystick.cli.shown import counts_line, echo, print_json, wants_json
from tallystick.io.streams import is_stream
from tallystick.scoring.result import FORMATS

if TYPE_CHECKING:
    from tallystick.scoring.executors.executor import Executor


@command(
    cls=ExtensibleCommand,
    epilog=examples(
        "tallystick score records.jsonl --rules skills@1.2.0 -o results.parquet",
        "zcat records.jsonl.gz | tallystick score - --rules skills@1.2.0 -o - | head",
    ),
)
@click.argument("records", type=click.Path(path_type=Path))
@rules_option()
@output_option("Where results go.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(FORMATS),
    help="The format; by default from the name of OUTPUT.",
)
@rejects_option("records")
@click.option(
    "--receipt",
    "receipt_path",
    type=click.Path(path_type=Path),
    help="Where the receipt goes; by default OUTPUT.receipt.json.",
)
@follow_links_option
@executor_options
@locked_options
def score(  # noqa: PLR0913, PLR0917  # one argument for each option
    records: Path,
    reference: str | None,
    output: Path,
    format_name: str | None,
    rejects: Path | None,
    receipt_path: Path | None,
    follow_links: bool,
    executor: Executor,
    held: Held,
    plugin_options: PluginOptions,
) -> None:
    """Score the RECORDS of a JSONL file, or their facts, or a folder of such files.

    Results go to OUTPUT, the errors of bad records to a rejects file, and the digests of records
    and rules to OUTPUT.receipt.json. The exit status is 1 when a record was rejected, 3 when the
    engine itself fails on one, as internal-error; all others are scored.

    RECORDS and OUTPUT can be -, for JSONL through a pipe. Rejected records then go to
    standard error.
    """
    # the last three are made of several options each, by the decorators and by the command's class
    streams = is_stream(output)
    if wants_json() and streams:
        raise click.UsageError(f"--json and -o {output} both want the standard output: name a file")
    with plugin_options.scoring(reference, held) as scorer, progress_bar("scoring") as progress:
        receipt = scorer.score_file(
            records,
            output,
            format_name=format_name,
            rejects=rejects,
            receipt=receipt_path,
            follow_links=follow_links,
            progress=progress,
            executor=executor,
            settings=in_force(),
        )
    if wants_json():
        print_json(receipt.to_dict())
    elif not (streams and log.is_json()):
        where = rejects or ("above" if streams else f"{output}.rejects.jsonl")
        echo(
            counts_line(receipt.counts, "scored", "without a submission", where),
            f"rule set {receipt.rule_set} {receipt.rule_set_digest}",
            f"results  {output} {receipt.output_digest}",
            err=streams,
        )
    sys.exit(status_of(receipt.counts.rejected, receipt.counts.internal_errors))
