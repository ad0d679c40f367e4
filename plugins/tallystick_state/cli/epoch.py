"""``tallystick epoch``: list, show and close epochs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.options import PATH, last_option
from tallystick.cli.progress import working
from tallystick.cli.shown import show, table_lines, wants_json
from tallystick.errors import StateError
from tallystick.io.text import visible
from tallystick.numbers.nano import to_text
from tallystick.numbers.text import numbered
from tallystick_allocation.command import round_option
from tallystick_state import views
from tallystick_state.cli.options import (
    at_option,
    ledger_option,
    locked_ledger_options,
    number_type,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from tallystick_state.answers import EpochInfo
    from tallystick_state.ledger import Ledger
    from tallystick_state.reports import EpochReport

_LONGEST_SALT = 1024
_MOST_MOVES = 10
"""Maximum number of reputations that are listed, the largest moves first; others are counted."""


@click.group(cls=CommandGroup)
def epoch() -> None:
    """List, show and close the epochs of a state."""


@epoch.command(
    "list",
    epilog=examples(
        "tallystick epoch list --state subnet.db",
    ),
)
@last_option("epochs")
@ledger_option
def list_command(last: int | None, ledger: Ledger) -> None:
    """List the epochs that have begun: when they closed, their events and snapshots."""
    with ledger.queries() as queries:
        epochs = queries.epochs(last)
    rows = (
        (
            str(info.epoch),
            "open" if info.is_open else "closed",
            str(info.at or "–"),
            str(info.events),
            info.snapshot.digest,
        )
        for info in epochs
    )
    headings = ("epoch", "state", "closed at", "events", "began with the snapshot")
    show({"epochs": epochs}, table_lines(headings, rows))


@epoch.command(
    "show",
    epilog=examples(
        "tallystick epoch show 41 --state subnet.db",
    ),
)
@click.argument("number", metavar="EPOCH", type=number_type)
@ledger_option
def show_command(number: int, ledger: Ledger) -> None:
    """Show the EPOCH with the state that it began with: thresholds; with --json reputations."""
    with ledger.queries() as queries:
        info = queries.epoch(number)
    show(views.whole_epoch(info), _lines(info))


def _lines(found: EpochInfo) -> Iterator[str]:
    closed, begun = "open" if found.is_open else f"closed {found.at or ''}".rstrip(), found.snapshot
    events = numbered(found.events, "event")
    yield f"epoch {found.epoch}: {closed}, {events}, snapshot {begun.digest}"
    yield f"it began with {numbered(len(begun.reputation), 'miner')}"
    for name, thresholds in begun.thresholds.items():
        values = ", ".join(f"{skill} {to_text(value)}" for skill, value in thresholds.items())
        yield f"  {name}: {values}"


@epoch.command(
    "close",
    epilog=examples(
        "tallystick epoch close --epoch 41 --state subnet.db",
        "tallystick epoch close --epoch 41 --at 2026-01-31T12:00 --state subnet.db",
        "tallystick epoch close --epoch 41 --round round.json --state subnet.db",
        "openssl rand -hex 32 | tee salt | tallystick epoch close --epoch 41 \\",
        "    --salt-file - --state subnet.db",
    ),
)
@locked_ledger_options
@click.option(
    "--epoch",
    "number",
    type=number_type,
    metavar="N",
    help="The epoch; without it, the command prints the open one and closes none.",
)
@at_option
@click.option(
    "--salt-file",
    type=PATH,
    metavar="FILE",
    help="16 to 64 bytes as hexadecimal digits, for the leaf of the epoch; - is standard input.",
)
@round_option(
    "Attributes of its rounds and of miners that the rules read, as JSON; the log keeps them."
)
def close_command(  # one argument for each option
    ledger: Ledger,
    number: int | None,
    at: datetime | None,
    salt_file: Path | None,
    round_file: Path | None,
) -> None:
    """Close the epoch: update reputations, baselines and thresholds, and keep a snapshot.

    --epoch names it, so that the command, run twice, closes one epoch: one that is closed already
    stays as it is. The output lists the records and events counted, the reputations and thresholds
    that moved, and the claims that wait in quarantine. A salt keeps the checkpoint from revealing
    scores before it is published. Where carried values depend on attributes of the round or of
    miners, --round gives them, or nothing is closed.
    """
    from tallystick_state.reports import epoch_report

    if number is None:
        number = ledger.open_epoch()
        raise StateError(
            f"found no --epoch, expected the one to close: epoch {number} is open, so add "
            f"--epoch {number}"
        )
    salt = None if salt_file is None else _salt(salt_file)
    with working("closing the epoch"):
        closed = ledger.close_epoch(number, at, salt=salt, round=round_file)
        report = None if wants_json() or closed.already else epoch_report(ledger, closed.epoch)
    status = "was closed already" if closed.already else "is closed"
    head = f"epoch {closed.epoch} {status}; snapshot {closed.snapshot.digest}"
    lines = () if report is None else _report(report, closed.epoch + 1)
    show(closed, (head, *lines))


def _report(found: EpochReport, following: int) -> Iterator[str]:
    """Yield the lines that say what closing an epoch did."""
    late = f", {found.late} missed or late" if found.late else ""
    alone = f", and {numbered(found.alone, 'event')} that came alone" if found.alone else ""
    counted = f"{numbered(found.records, 'record')} of {numbered(found.miners, 'miner')}"
    yield f"  counted: {counted}{late}{alone}"
    if found.reputations or found.kept:
        yield from _moves(found)
    if found.tracked:
        yield f"  thresholds: {len(found.thresholds) or 'none'} moved"
    for change in found.thresholds:
        before, after = ("none" if n is None else to_text(n) for n in (change.before, change.after))
        yield f"    {before} → {after}  {change.skill_type}, {change.name}"
    if found.flagged:
        flags = (f"{visible(hotkey)} ({many})" for hotkey, many in found.flagged.items())
        yield f"  collusion flags: {', '.join(flags)}"
    if found.waiting:
        reasons = ", ".join(f"{many} {reason}" for reason, many in found.waiting.items())
        yield f"  in quarantine, not counted: {reasons}; see tallystick quarantine list"
    for line, reference in found.begins.items():
        yield f"  rules of {line} from epoch {following} on: {reference}"
    yield f"epoch {following} is open"


def _moves(found: EpochReport) -> Iterator[str]:
    up = sum(change.after > change.before for change in found.reputations)
    down = len(found.reputations) - up
    yield f"  reputations: {up} up, {down} down, {found.kept} as before"
    moves = found.reputations[:_MOST_MOVES]
    width = max((len(change.skill_type) for change in moves), default=0)
    for move in moves:
        values = f"{to_text(move.before)} → {to_text(move.after)}"
        yield f"    {values}  {move.skill_type:{width}}  {visible(move.hotkey)}"
    if len(found.reputations) > len(moves):
        yield f"    and {len(found.reputations) - len(moves)} smaller moves"


def _salt(path: Path) -> str:
    from tallystick_state.trust.encoding import read_file  # loads what opens files

    data = read_file(path, _LONGEST_SALT, "a salt")
    return data.decode("utf-8", "replace").strip()
