"""``tallystick events``: late events and other validators' records."""

from __future__ import annotations

from pathlib import Path

import click

from tallystick import views
from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.ingested import complain_of_lines, ingested_text
from tallystick.cli.locked import Held, locked_options
from tallystick.cli.progress import progress_bar
from tallystick.cli.shown import as_json, echo, print_json
from tallystick.cli.state_options import opened, state_option


@click.group(cls=CommandGroup)
def events() -> None:
    """Late events and records from elsewhere: import."""


@events.command(
    "import",
    epilog=examples(
        "tallystick events import late.jsonl --state subnet.db",
        "zcat others.jsonl.gz | tallystick events import - --state subnet.db",
    ),
)
@click.argument("file", type=click.Path(path_type=Path))
@state_option
@locked_options
@as_json
def import_command(file: Path, where: str, as_json: bool, held: Held) -> None:
    """Record the events and records of a JSONL FILE; what is known already is left out.

    FILE can be -, the standard input. A line is a record, or {id, validator, hotkey, skill_type,
    task_id, round, epoch, event}. If a line is bad nothing is recorded and the exit status is 1.
    A line that is good but contradicts another, or is of a validator that is not heard, is told and
    left out; then the exit status is 1 too.
    """
    with opened(where, held) as ledger, progress_bar("recording") as progress:
        ingested = ledger.import_events(file, progress=progress)
    if as_json:
        print_json(views.ingested(ingested))
    else:
        echo(f"{file}: {ingested_text(ingested)}")
    complain_of_lines(file, ingested)
