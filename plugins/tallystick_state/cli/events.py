"""``tallystick events``: late events and other validators' records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.options import PATH
from tallystick.cli.progress import progress_bar
from tallystick.cli.shown import show
from tallystick_state.cli.ingested import complain_of_lines, ingested_text
from tallystick_state.cli.options import authority_options, groups_option, locked_ledger_options

if TYPE_CHECKING:
    from tallystick_state.authority import Authority
    from tallystick_state.ledger import Ledger


@click.group(cls=CommandGroup)
def events() -> None:
    """Import late events and records of others."""


@events.command(
    "import",
    epilog=examples(
        "tallystick events import late.jsonl --state subnet.db",
        "zcat others.jsonl.gz | tallystick events import - --state subnet.db",
        "tallystick events import others.jsonl --signed batch.json --state subnet.db",
    ),
)
@click.argument("file", type=PATH)
@groups_option
@authority_options
@locked_ledger_options
def import_command(
    file: Path,
    groups: Path | None,
    authority: Authority,
    ledger: Ledger,
) -> None:
    """Record the events and records of a JSONL FILE; lines recorded before are left out.

    FILE can be -, the standard input. A line is a record, or {id, validator, hotkey, skill_type,
    task_id, round, epoch, event}. If a line is bad nothing is recorded and the exit status is 1.
    A valid line that contradicts another, or whose validator is not heard, is reported and left
    out; then the exit status is 1 too.

    A state with a trust file takes only lines that its validator has signed: --signed is the batch
    that lists them. Lines that it does not list are reported and left out.

    With --groups records get the consensus that their groups compute, as by `round close`.
    """
    with progress_bar("recording") as progress:
        ingested = ledger.import_events(file, authority=authority, groups=groups, progress=progress)
    show(ingested, [f"{file}: {ingested_text(ingested)}"])
    complain_of_lines(file, ingested)
