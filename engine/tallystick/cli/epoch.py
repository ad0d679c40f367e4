"""``tallystick epoch``: close an epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tallystick import views
from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.shown import as_json, print_json
from tallystick.cli.state_options import at_option, number_type, state_option

if TYPE_CHECKING:
    from datetime import datetime


@click.group(cls=CommandGroup)
def epoch() -> None:
    """Epochs of a state: close."""


@epoch.command(
    "close",
    epilog=examples(
        "tallystick epoch close --state subnet.db",
        "tallystick epoch close --epoch 41 --at 2026-01-31T12:00 --state subnet.db",
    ),
)
@state_option
@click.option("--epoch", "number", type=number_type, help="Which; by default the open one.")
@at_option
@as_json
def close_command(where: str, number: int | None, at: datetime | None, as_json: bool) -> None:
    """Close the epoch: update reputations, baselines and thresholds, and keep a snapshot.

    An epoch that is closed already stays as it is.
    """
    from tallystick.state.ledger import Ledger  # noqa: PLC0415  # heavy

    with Ledger.open(where) as ledger:
        closed = ledger.close_epoch(number, at)
    if as_json:
        print_json(views.epoch(closed))
    else:
        said = "was closed already" if closed.already else "is closed"
        click.echo(f"epoch {closed.epoch} {said}; snapshot {closed.snapshot.digest}")
