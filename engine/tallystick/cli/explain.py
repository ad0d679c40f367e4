"""``tallystick explain``: every step behind the score of one record."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from tallystick.cli.command import command, examples, status_of
from tallystick.cli.locked import Held, locked_options
from tallystick.cli.log import complain
from tallystick.cli.options import rules_option
from tallystick.cli.plugin_options import ExtensibleCommand, PluginOptions
from tallystick.cli.progress import working
from tallystick.cli.shown import print_json, show, wants_json
from tallystick.errors import INTERNAL_ERROR, InputError, RecordError
from tallystick.io.text import masked
from tallystick.json_values import error_value


@command(
    cls=ExtensibleCommand,
    epilog=examples(
        "tallystick explain records.jsonl --rules skills@1.2.0 --line 3",
        "tail -n 1 records.jsonl | tallystick explain - --rules skills@1.2.0",
    ),
)
@click.argument("records", type=click.Path(path_type=Path))
@rules_option()
@click.option(
    "--line",
    "number",
    default=1,
    type=click.IntRange(1, sys.maxsize),
    help="The record's line.",
)
@locked_options
def explain(
    records: Path,
    reference: str | None,
    number: int,
    held: Held,
    plugin_options: PluginOptions,
) -> None:
    """Explain the score of one record of the file RECORDS.

    Shows the facts, each axis with its formula, the values put in, the exact value and the
    published one; the composite, its gates and tier with the distance to each edge; and every
    emission factor. RECORDS can be -, the standard input. The exit status is 1 when the record
    cannot be scored, 3 when that is a defect of the engine.
    """
    from tallystick.cli.explanation import lines_of

    try:
        with plugin_options.scoring(reference, held) as scorer:
            with working("reading"):
                record = _record(records, number)
            explanation = scorer.explain(record, line=number)
    except RecordError as error:
        _refuse(error, records, number)
    show(explanation.to_dict(), lines_of(explanation))


def _refuse(error: RecordError, records: Path, number: int) -> NoReturn:
    message = masked(f"{records}:{number}: {error}")
    if wants_json():
        print_json({**error_value(error), "message": message, "line": number})
    complain(message)
    sys.exit(status_of(1, error.code == INTERNAL_ERROR))


def _record(path: Path, number: int) -> Any:  # noqa: ANN401  # a line, or a row as a mapping
    from tallystick.scoring.sources import source_of

    for chunk in source_of(path):
        items = chunk.items()
        if number < chunk.first + len(items):
            return items[number - chunk.first]
    raise InputError(f"{path}: found fewer than {number} records, expected one at that line")
