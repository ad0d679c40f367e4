"""``tallystick epoch``: list, show and close epochs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick import views
from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.locked import Held, locked_options
from tallystick.cli.progress import working
from tallystick.cli.shown import as_json, echo, print_json
from tallystick.cli.state_options import at_option, number_type, opened, state_option
from tallystick.numbers.nano import to_text
from tallystick.numbers.text import numbered

if TYPE_CHECKING:
    from datetime import datetime

    from tallystick.state.queries import EpochInfo

_LONGEST_SALT = 1024


@click.group(cls=CommandGroup)
def epoch() -> None:
    """Epochs of a state: list, show, close."""


@epoch.command(
    "list",
    epilog=examples(
        "tallystick epoch list --state subnet.db",
    ),
)
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N epochs.")
@state_option
@as_json
def list_command(last: int | None, where: str, as_json: bool) -> None:
    """The epochs that have begun: when they were closed, their events and snapshots."""
    from tallystick.state.ledger import Ledger  # noqa: PLC0415  # heavy

    with Ledger.open(where) as ledger, ledger.queries() as queries:
        found = queries.epochs(last)
    if as_json:
        print_json({"epochs": [views.epoch_info(each) for each in found]})
    else:
        echo(*map(_line, found))


@epoch.command(
    "show",
    epilog=examples(
        "tallystick epoch show 41 --state subnet.db",
    ),
)
@click.argument("number", metavar="EPOCH", type=number_type)
@state_option
@as_json
def show_command(number: int, where: str, as_json: bool) -> None:
    """The EPOCH with the state that it began with: thresholds, and with --json reputations."""
    from tallystick.state.ledger import Ledger  # noqa: PLC0415  # heavy

    with Ledger.open(where) as ledger, ledger.queries() as queries:
        found = queries.epoch(number)
    if as_json:
        print_json(views.epoch_info(found, whole=True))
        return
    begun = found.snapshot
    echo(_line(found), f"it began with {numbered(len(begun.reputation), 'miner')}")
    for name, thresholds in begun.thresholds.items():
        values = ", ".join(f"{each} {to_text(value)}" for each, value in thresholds.items())
        echo(f"  {name}: {values}")


def _line(found: EpochInfo) -> str:
    closed = "open" if found.is_open else f"closed {found.at or ''}".rstrip()
    events = numbered(found.events, "event")
    return f"epoch {found.epoch}: {closed}, {events}, snapshot {found.snapshot.digest}"


@epoch.command(
    "close",
    epilog=examples(
        "tallystick epoch close --state subnet.db",
        "tallystick epoch close --epoch 41 --at 2026-01-31T12:00 --state subnet.db",
        "tallystick epoch close --round round.json --state subnet.db",
        "openssl rand -hex 32 | tee salt | tallystick epoch close --salt-file - \\",
        "    --state subnet.db",
    ),
)
@state_option
@click.option("--epoch", "number", type=number_type, help="Which; by default the open one.")
@at_option
@click.option(
    "--salt-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="16 to 64 bytes as hexadecimal digits, for the leaf of the epoch; - is standard input.",
)
@click.option(
    "--round",
    "round_file",
    type=click.Path(path_type=Path),
    help="What the rules ask of its rounds and of miners, as JSON; the log keeps it.",
)
@locked_options
@as_json
def close_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    where: str,
    number: int | None,
    at: datetime | None,
    salt_file: Path | None,
    round_file: Path | None,
    as_json: bool,
    held: Held,
) -> None:
    """Close the epoch: update reputations, baselines and thresholds, and keep a snapshot.

    An epoch that is closed already stays as it is. A salt keeps the checkpoint from saying anything
    about scores before it is published. Where what is carried depends on attributes of the round or
    of miners, --round says them, or nothing is closed.
    """
    salt = None if salt_file is None else _salt(salt_file)
    with opened(where, held) as ledger, working("closing the epoch"):
        closed = ledger.close_epoch(number, at, salt=salt, round=round_file)
    if as_json:
        print_json(views.epoch(closed))
    else:
        said = "was closed already" if closed.already else "is closed"
        echo(f"epoch {closed.epoch} {said}; snapshot {closed.snapshot.digest}")


def _salt(path: Path) -> str:
    from tallystick.trust.encoding import read_file  # noqa: PLC0415  # loads what opens files

    data = read_file(path, _LONGEST_SALT, "a salt")
    return data.decode("utf-8", "replace").strip()
