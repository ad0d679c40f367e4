"""``tallystick round``: list, show and close rounds."""

from __future__ import annotations

from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.options import PATH, last_option
from tallystick.cli.progress import progress_bar
from tallystick.cli.shown import show, table_lines
from tallystick.io.text import visible
from tallystick.json_values import json_value
from tallystick.numbers.nano import to_text
from tallystick.numbers.text import numbered
from tallystick_state import views
from tallystick_state.cli.ingested import complain_of_lines, ingested_text
from tallystick_state.cli.options import (
    at_option,
    authority_options,
    groups_option,
    ledger_option,
    locked_ledger_options,
    number_type,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from tallystick_state.answers import ClosedRound, RoundInfo
    from tallystick_state.authority import Authority
    from tallystick_state.ingest import Bad
    from tallystick_state.ledger import Ledger


@click.group("round", cls=CommandGroup)
def round_group() -> None:
    """List, show and close the rounds of a state."""


@round_group.command(
    "list",
    epilog=examples(
        "tallystick round list --state subnet.db",
        "tallystick round list --last 20 --state subnet.db",
    ),
)
@last_option("rounds")
@ledger_option
def list_command(last: int | None, ledger: Ledger) -> None:
    """List the rounds with records: their epochs, when they closed, their numbers of records."""
    from tallystick_state.queries import NO_ROUNDS

    with ledger.queries() as queries:
        rounds = queries.rounds(last)
    rows = [
        (
            str(info.round),
            str(info.epoch),
            str(info.records),
            str(info.miners),
            "closed" if info.closed else "not closed",
            str(info.at or "–"),
        )
        for info in rounds
    ]
    headings = ("round", "epoch", "records", "miners", "state", "closed at")
    lines = table_lines(headings, rows) if rows else [f"no rounds: {NO_ROUNDS}"]
    show(views.listed("rounds", rounds, NO_ROUNDS), lines)


@round_group.command(
    "show",
    epilog=examples(
        "tallystick round show 7 --state subnet.db",
    ),
)
@click.argument("number", metavar="ROUND", type=number_type)
@ledger_option
def show_command(number: int, ledger: Ledger) -> None:
    """Show the ROUND with the score of every miner in it, of all that is recorded so far.

    Submissions that their groups ask to run again are listed below.
    """
    with ledger.queries() as queries:
        info, scores = queries.round(number), queries.scores_of_lines(number)
        reruns = queries.reruns(number)
    submissions = (visible(f"{e.task_id} of {e.hotkey}, {e.skill_type}") for e in reruns)
    again = (f"  to be run again: {submission}" for submission in submissions)
    rows = _rows(scores) or ["  no scores: nothing of it was scored"]
    to_rerun = {"reruns": reruns} if reruns else {}
    answer = {**json_value(info), **to_rerun, **views.scores(scores)}
    show(answer, (_line(info), *rows, *again))


def _rows(lines: Mapping[str, Mapping[str, Decimal]]) -> list[str]:
    """Return the scores of the only line, or those of each that has any below its name."""
    text = []
    for name, scores in lines.items():
        if len(lines) > 1 and scores:
            text.append(f" {name}:")
        text += [f"  {to_text(score)}  {visible(hotkey)}" for hotkey, score in scores.items()]
    return text


def _line(found: RoundInfo) -> str:
    closed = f"closed {found.at or ''}".rstrip() if found.closed else "not closed"
    counts = f"{numbered(found.records, 'record')} of {numbered(found.miners, 'miner')}"
    return f"round {found.round}, pinned to epoch {found.epoch}: {counts}, {closed}"


@round_group.command(
    "close",
    epilog=examples(
        "tallystick round close round-7.jsonl --state subnet.db",
        "tallystick round close round-7.jsonl --groups groups-7.jsonl \\",
        "    --state subnet.db",
        "tallystick round close round-7.jsonl --round 7 --at 2026-01-31T12:00 \\",
        "    --state subnet.db",
        "tallystick round close round-7.jsonl --facts history --state subnet.db",
    ),
)
@click.argument("records", type=PATH)
@locked_ledger_options
@click.option(
    "--round", "number", type=number_type, help="The round of all records; else each its own."
)
@at_option
@click.option(
    "--bad",
    type=click.Choice(["reject", "refuse"]),
    default="reject",
    show_default=True,
    help="A bad record is rejected alone; or it refuses the whole file, and nothing is recorded.",
)
@groups_option
@click.option(
    "--facts",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder that keeps the facts of what is recorded.",
)
@authority_options
def close_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    records: Path,
    ledger: Ledger,
    number: int | None,
    at: datetime | None,
    bad: Bad,
    groups: Path | None,
    facts: Path | None,
    authority: Authority,
) -> None:
    """Score the RECORDS of a round with its snapshot, record their events, print round scores.

    RECORDS can be -, the standard input. A bad record never stops the good ones; the exit status is
    then 1, and once it is corrected the whole file can be given again. In a state that names its
    validator, that validator's records close rounds and displace claims by others in its name;
    records of others are taken as `events import` takes them.

    With --groups the records get the consensus that their groups compute, and must give none of
    their own. The similarities of the members are kept, and the submissions to be run again.

    With --facts a folder has the facts of all that is recorded, for `backtest` of other rules. It
    is written after the state; where that fails, the same command again writes it.
    """
    for path in (records, groups) if facts is not None else ():
        if path is not None and not path.is_file():
            raise click.UsageError(f"found --facts with {path}, expected a file: it is read twice")
    with progress_bar("recording") as progress:
        rounds, ingested = ledger.close_round(
            records, number, at, authority=authority, groups=groups, progress=progress, bad=bad
        )
        if facts is not None:
            from tallystick_state.kept_facts import keep_facts

            keep_facts(ledger, records, rounds, facts, groups)
    lines = (line for closed in rounds for line in _lines(closed))
    none = ["no round closed: no good record is of the state's validator"]
    told = chain([f"{records}: {ingested_text(ingested)}"], lines if rounds else none)
    show(views.rounds(rounds, ingested), told)
    complain_of_lines(records, ingested)


def _lines(closed: ClosedRound) -> list[str]:
    """Return a round: what it has, and the scores that follow."""
    counted = f"{numbered(closed.records, 'record')} of {numbered(closed.miners, 'miner')}"
    parts = [f"round {closed.round}, pinned to epoch {closed.epoch}, is closed: {counted}"]
    parts += [f"{closed.late} missed or late"] if closed.late else []
    parts += [f"{closed.reruns} to be run again"] if closed.reruns else []
    return [", ".join(parts), *_rows(closed.lines)]
