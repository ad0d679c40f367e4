"""``tallystick backtest``: many rule sets over one history."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from tallystick.cli.command import command, examples, status_of
from tallystick.cli.locked import LOCK_NAMES, Held, locked_options
from tallystick.cli.options import (
    EXECUTOR_NAMES,
    executor_options,
    follow_links_option,
    output_option,
)
from tallystick.cli.progress import line_count
from tallystick.cli.shown import show
from tallystick.errors import INTERNAL_ERROR
from tallystick_governance.cli.repetition import repeating_command
from tallystick_state.cli.options import groups_option

if TYPE_CHECKING:
    from tallystick.scoring.executors.executor import Executor
    from tallystick_governance.backtest.outcome import Outcome
    from tallystick_governance.backtest.replay import Start
    from tallystick_governance.backtest.report import Written

_BEST_BY = ("share-moved", "tau-b", "gini", "hhi", "flips")
_ELSEWHERE = ("write_best", "follow_links", *LOCK_NAMES, *EXECUTOR_NAMES)
"""The options that are told elsewhere, or change no result."""


with_state_option = click.option(
    "--with-state", is_flag=True, help="Replay epochs: the result is by the thresholds that follow."
)
"""The option that replays the epochs of a history."""


@command(
    epilog=examples(
        "tallystick backtest facts.parquet --rules skills@1.2.0 --rules mine.toml \\",
        "    -o report",
        "tallystick backtest facts.parquet --rules skills@1.2.0 \\",
        "    --sweep axes.NAME.beta=0.5:2:0.5 --workers 4 -o sweep",
        "tallystick backtest facts.parquet --rules skills@1.1.0 --with-state \\",
        "    --adopt skills@1.2.0@20 -o switch",
        "tallystick backtest facts.parquet --rules skills@1.2.0 --rules mine.toml \\",
        "    --validators validators.csv -o adoption",
    ),
)
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
@with_state_option
@click.option(
    "--state",
    "state",
    metavar="STATE",
    help="With --with-state, begin with the miners, reputations, thresholds and carried columns of "
    "a state as its open epoch begins.",
)
@groups_option
@click.option(
    "--adopt",
    "adoptions",
    multiple=True,
    metavar="RULES@EPOCH",
    help="One more candidate: the baseline that adopts RULES from EPOCH on; several follow.",
)
@click.option(
    "--no-weights",
    is_flag=True,
    help="Leave the weights of epochs out: faster, for long sweeps; emission is the headline then.",
)
@click.option(
    "--best-by",
    type=click.Choice(_BEST_BY),
    default="share-moved",
    show_default=True,
    help="The figure that is least in the candidate of --write-best; tau-b: most.",
)
@click.option(
    "--write-best",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the best of the sweeps as a rule set, as `rules set` does.",
)
@click.option(
    "--bootstrap",
    "draws",
    type=int,
    default=999,
    show_default=True,
    metavar="N",
    help="Draw the epochs again N times, for intervals of 95 %; 0 for none.",
)
@click.option(
    "--bootstrap-seed",
    "seed",
    default="tallystick",
    show_default=True,
    metavar="TEXT",
    help="Equal seeds draw the same epochs.",
)
@click.option(
    "--validators",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV with hotkey,stake, or a metagraph as JSON: who may adopt a candidate; what the "
    "chain makes of it when all, two thirds, half or one of them does.",
)
@click.option(
    "--yuma",
    "parameters",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --validators, JSON with parameters of the subnet, as `tallystick yuma` has them.",
)
@output_option("The folder of results.")
@follow_links_option
@executor_options
@locked_options
def backtest(  # noqa: PLR0913, PLR0917  # one argument for each option
    history: Path,
    references: tuple[str, ...],
    sweeps: tuple[str, ...],
    with_state: bool,
    state: str | None,
    groups: Path | None,
    adoptions: tuple[str, ...],
    no_weights: bool,
    best_by: str,
    write_best: Path | None,
    draws: int,
    seed: str,
    validators: Path | None,
    parameters: Path | None,
    output: Path,
    follow_links: bool,
    executor: Executor,
    held: Held,
) -> None:
    """Compare rule sets over one history.

    HISTORY is a file of facts or records, or a folder of them. Results and a report for people go
    to the folder OUTPUT. The share of all weight that changes hands is printed first, the share of
    emission under it, and the records that flip, each with an interval, which shows how far it
    depends on the epochs in the history. The exit status is 1 when a line was no valid record, 3
    when the engine itself fails on one.
    """
    from tallystick.plugins.registry import installed_plugins
    from tallystick_governance.backtest.candidates import Switch, candidates_of, parse_sweep
    from tallystick_governance.backtest.incentive import Network
    from tallystick_governance.backtest.run import backtest as run
    from tallystick_governance.backtest.run import best_of
    from tallystick_governance.backtest.statistics import Bootstrap
    from tallystick_governance.backtest.text import terminal_lines

    if write_best is not None and not sweeps:
        raise click.UsageError("found --write-best without --sweep, expected one to choose from")
    if adoptions and not with_state:
        raise click.UsageError("found --adopt without --with-state, expected both")
    if state is not None and not with_state:
        raise click.UsageError("found --state without --with-state, expected both")
    if parameters is not None and validators is None:
        raise click.UsageError("found --yuma without --validators, expected both")
    held.require_reference(references[0])
    network = None if validators is None else Network.of(validators, parameters)
    bootstrap = Bootstrap(draws, seed)
    candidates = candidates_of(
        references,
        [parse_sweep(text) for text in sweeps],
        installed_plugins(),
        [Switch.parse(text) for text in adoptions],
    )
    with line_count("reading") as progress:
        outcome, written = run(
            history,
            candidates,
            output,
            with_state=with_state,
            command=repeating_command(_ELSEWHERE),
            bootstrap=bootstrap,
            network=network,
            start=None if state is None else _start(state),
            groups=groups,
            weighs=not no_weights,
            follow_links=follow_links,
            executor=executor,
            progress=progress,
        )
    best = None
    if write_best is not None:
        best = best_of(
            candidates[0], written.comparisons, best_by, write_best, follow_links=follow_links
        )
    view = _described(outcome, written) | ({"best": attrs.asdict(best)} if best else {})
    lines = [*terminal_lines(outcome, written.comparisons), f"results  {written.folder}"]
    lines += [f"best     {best.file}  {best.rule_set}, of {best.candidate}"] if best else []
    show(view, lines)
    rejects = outcome.history.rejects
    sys.exit(status_of(len(rejects), rejects.get(INTERNAL_ERROR, 0)))


def _start(state: str) -> Start:
    from tallystick_governance.weight_effect import start_of
    from tallystick_state.ledger import Ledger

    with Ledger.open(state) as ledger:
        return start_of(ledger)


def _described(outcome: Outcome, written: Written) -> dict[str, object]:
    from tallystick_governance.backtest.summary import headlines

    return {
        **headlines(outcome, written.comparisons),
        "candidates": [candidate.identity.name for candidate in outcome.candidates],
        "files": written.digests,
        "folder": str(written.folder),
        "lines": outcome.history.lines,
        "records": dict(outcome.history.records),
        "rejects": dict(outcome.history.rejects),
    }
