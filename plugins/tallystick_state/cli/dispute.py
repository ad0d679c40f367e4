"""``tallystick dispute``: where two validators differ first, and who is wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tallystick.cli.command import examples
from tallystick.cli.options import PATH, as_json, follow_links_option, output_option
from tallystick.cli.progress import working
from tallystick.cli.shown import echo, print_json
from tallystick.json_values import json_value


@click.command(
    "dispute",
    epilog=examples(
        "tallystick dispute mine.db theirs.jsonl",
        "tallystick dispute mine.jsonl theirs.jsonl --records records.jsonl \\",
        "    -o dispute.json",
    ),
)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@output_option("The dispute to write.", required=False, metavar="FILE")
@click.option(
    "--records", type=PATH, metavar="FILE", help="Records, of which one may decide who is wrong."
)
@follow_links_option
@as_json
def dispute(  # noqa: PLR0913, PLR0917  # one argument for each option
    a: str,
    b: str,
    output: Path | None,
    records: Path | None,
    follow_links: bool,
    as_json: bool,
) -> None:
    """Find the first difference between A and B, and who is wrong.

    Each is a state, the export of one, or a file of `tallystick state evidence`, which alone shows
    what its engine computed. States and exports are compared in the open epoch too: which claim of
    which round one of them lacks. Exit status 0 if they are equal, 1 if they differ. Of sides that
    are equal, of the open epoch, and of an export whose own log contradicts it, nothing is written.
    """
    from tallystick.plugins.registry import installed_plugins
    from tallystick_state.audit import dispute as disputes
    from tallystick_state.audit.dispute import dispute_bytes, told
    from tallystick_state.audit.judgement import records_of
    from tallystick_state.audit.side import opened_side

    lookup = None if records is None else records_of(records)
    with working("comparing"), opened_side(a) as mine, opened_side(b) as theirs:
        result = disputes.dispute(mine, theirs, installed_plugins(), lookup)
    differ = result.verdict.kind != "equal"
    if output is not None and result.proofs:
        from tallystick.io.atomic import atomic_files, output_path  # writes

        with atomic_files(output_path(output, follow_links=follow_links)) as (file,):
            file.write(dispute_bytes(result))
    if as_json:
        print_json({"sides": dict(result.names), "verdict": json_value(result.verdict)})
    else:
        echo(*told(result))
    sys.exit(1 if differ else 0)
