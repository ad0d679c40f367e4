"""``tallystick round``: close a round."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick import views
from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.shown import as_json, print_json
from tallystick.cli.state_options import at_option, number_type, state_option
from tallystick.numbers.nano import to_text

if TYPE_CHECKING:
    from datetime import datetime

    from tallystick.state.ledger import ClosedRound


@click.group("round", cls=CommandGroup)
def round_group() -> None:
    """Rounds of a state: close."""


@round_group.command(
    "close",
    epilog=examples(
        "tallystick round close round-7.jsonl --state subnet.db",
        "tallystick round close round-7.jsonl --round 7 --at 2026-01-31T12:00 \\",
        "    --state subnet.db",
    ),
)
@click.argument("records", type=click.Path(path_type=Path))
@state_option
@click.option(
    "--round", "number", type=number_type, help="The round of all records; else each its own."
)
@at_option
@as_json
def close_command(
    records: Path, where: str, number: int | None, at: datetime | None, as_json: bool
) -> None:
    """Score the RECORDS of a round with its snapshot, record their events, print round scores.

    RECORDS can be -, the standard input. If a record is bad nothing is recorded and the exit status
    is 1.
    """
    from tallystick.state.ledger import Ledger  # noqa: PLC0415  # heavy

    with Ledger.open(where) as ledger:
        rounds, ingested = ledger.close_round(records, number, at)
    if as_json:
        print_json(views.rounds(rounds, ingested))
    else:
        click.echo(f"{records}: {ingested.events} recorded, {ingested.duplicates} known already")
        click.echo("\n".join(line for each in rounds for line in _lines(each)))


def _lines(closed: ClosedRound) -> list[str]:
    scores = [f"  {to_text(nano)}  {hotkey}" for hotkey, nano in closed.scores.items()]
    return [f"round {closed.round}, pinned to epoch {closed.epoch}", *scores]
