"""``tallystick score``: score a file of records."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.executor_options import cluster_option, executor_of, workers_option
from tallystick.cli.shown import as_json, print_json, rules_option
from tallystick.cli.state_options import snapshots_option, with_snapshots
from tallystick.numbers.text import numbered
from tallystick.scoring.output import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tallystick.scoring.receipt import Progress, Receipt


@click.command()
@click.argument("records", type=click.Path(path_type=Path))
@rules_option
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Where results go."
)
@click.option("--format", "format_name", type=click.Choice(FORMATS), help="By default by the name.")
@click.option(
    "--rejects",
    type=click.Path(path_type=Path),
    help="Where rejected records go; by default OUTPUT.rejects.jsonl.",
)
@snapshots_option
@workers_option
@cluster_option
@as_json
def score(  # noqa: PLR0913, PLR0917  # one argument for each option
    records: Path,
    reference: str,
    output: Path,
    format_name: str | None,
    rejects: Path | None,
    where: str | None,
    workers: int,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Score the RECORDS of a JSONL or Parquet file, or of a folder of them.

    Results go to OUTPUT, what is wrong with bad records to a rejects file, and what was scored
    with what to OUTPUT.receipt.json. The exit status is 1 when a record was rejected.
    """
    from tallystick.scoring.scorer import load  # noqa: PLC0415  # heavy

    executor = executor_of(workers, cluster)
    with with_snapshots(load(reference), where) as scorer, progress_bar("scoring") as progress:
        receipt = scorer.score_file(
            records,
            output,
            format_name=format_name,
            rejects=rejects,
            progress=progress,
            executor=executor,
        )
    if as_json:
        print_json(receipt.to_dict())
    else:
        click.echo(_summary(receipt, output, rejects))
    sys.exit(1 if receipt.counts.rejected else 0)


def _summary(receipt: Receipt, output: Path, rejects: Path | None) -> str:
    counts = receipt.counts
    parts = [f"{counts.scored} scored"]
    if counts.missed:
        parts.append(f"{counts.missed} without a submission")
    if counts.rejected:
        where = rejects or f"{output}.rejects.jsonl"
        parts.append(f"{counts.rejected} rejected, see {where}")
    return "\n".join(
        [
            f"{numbered(counts.records, 'record')}: {', '.join(parts)}",
            f"rule set {receipt.rule_set} {receipt.rule_set_digest}",
            f"results  {output} {receipt.output_digest}",
        ]
    )


@contextmanager
def progress_bar(doing: str) -> Iterator[Progress | None]:
    """A progress bar on a terminal, with what is being done."""
    # a process without an error output has none here
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415  # 17 ms that only a terminal needs
    from rich.progress import Progress as Bar  # noqa: PLC0415  # as above

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
