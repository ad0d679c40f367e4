"""``tallystick backtest``: many rule sets over one history."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.executor_options import cluster_option, executor_of, workers_option
from tallystick.cli.shown import as_json, print_json

if TYPE_CHECKING:
    from tallystick.governance.backtest.comparison_model import Outcome
    from tallystick.governance.backtest.output import Written
    from tallystick.governance.backtest.run import Progress


@click.command()
@click.argument("history", type=click.Path(path_type=Path))
@click.option(
    "--rules",
    "references",
    required=True,
    multiple=True,
    metavar="RULES",
    help="A candidate: name@version, a path or a digest. The first is the baseline.",
)
@click.option(
    "--sweep",
    "sweeps",
    multiple=True,
    metavar="PATH=START:STOP:STEP",
    help="Candidates of the baseline with one number changed; several give every combination.",
)
@click.option("--with-state", is_flag=True, help="Replay epochs: reputations and thresholds.")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder of results."
)
@workers_option
@cluster_option
@as_json
def backtest(  # noqa: PLR0913, PLR0917  # one argument for each option
    history: Path,
    references: tuple[str, ...],
    sweeps: tuple[str, ...],
    with_state: bool,
    output: Path,
    workers: int,
    cluster: str | None,
    as_json: bool,
) -> None:
    """What would each rule set have made of the HISTORY?

    HISTORY is a file of facts or records, or a folder of them. Results and a report for people go
    to the folder OUTPUT. The exit status is 1 when a line was no valid record.
    """
    from tallystick.governance.backtest.candidates import candidates_of  # noqa: PLC0415  # heavy
    from tallystick.governance.backtest.run import backtest as run  # noqa: PLC0415  # heavy
    from tallystick.governance.backtest.sweep import parse_sweep  # noqa: PLC0415  # as above
    from tallystick.plugins.registry import installed  # noqa: PLC0415  # as above

    executor = executor_of(workers, cluster)
    candidates = candidates_of(references, [parse_sweep(text) for text in sweeps], installed())
    with _progress() as progress:
        outcome, written = run(
            history,
            candidates,
            output,
            with_state=with_state,
            command=_command(history, references, sweeps, output, with_state=with_state),
            executor=executor,
            progress=progress,
        )
    if as_json:
        print_json(_described(outcome, written))
    else:
        click.echo(_summary(outcome, written))
    sys.exit(1 if outcome.history.rejects else 0)


def _command(
    history: Path,
    references: tuple[str, ...],
    sweeps: tuple[str, ...],
    output: Path,
    *,
    with_state: bool,
) -> str:
    """How to do it again."""
    words = ["tallystick", "backtest", str(history)]
    words += [word for reference in references for word in ("--rules", reference)]
    words += [word for sweep in sweeps for word in ("--sweep", sweep)]
    words += ["--with-state"] if with_state else []
    return shlex.join([*words, "-o", str(output)])


def _described(outcome: Outcome, written: Written) -> dict[str, object]:
    return {
        "candidates": [each.identity.name for each in outcome.candidates],
        "files": written.digests,
        "folder": str(written.folder),
        "lines": outcome.history.lines,
        "records": dict(outcome.history.records),
        "rejects": dict(outcome.history.rejects),
    }


def _summary(outcome: Outcome, written: Written) -> str:
    history = outcome.history
    good, bad = sum(history.records.values()), sum(history.rejects.values())
    refused = f", {bad} rejected" if bad else ""
    lines = [f"{history.lines} lines: {good} records{refused}"]
    for place, each in enumerate(outcome.candidates):
        flips = sum(found.comparison.flips for found in each.types.values())
        said = f"{flips} records change their tier or gate" if place else "the baseline"
        lines.append(f"{each.identity.name}  {said}")
    return "\n".join([*lines, f"results  {written.folder}"])


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """How many lines were read, on a terminal."""
    # a process without an error output has none here
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415  # 17 ms that only a terminal needs

    with Console(stderr=True).status("reading") as status:
        yield lambda lines: status.update(f"{lines} lines")
