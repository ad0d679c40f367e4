"""``tallystick consensus``: what the submissions of groups say of each other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from tallystick.cli.command import command, examples, status_of
from tallystick.cli.locked import Held, locked_options
from tallystick.cli.options import (
    follow_links_option,
    output_option,
    rejects_option,
    rules_option,
)
from tallystick.cli.plugin_options import ExtensibleCommand, PluginOptions
from tallystick.cli.progress import working
from tallystick.cli.shown import echo, print_json, wants_json
from tallystick.io.streams import is_stream
from tallystick.numbers.text import numbered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tallystick_consensus.files import ConsensusCounts

_PATH = click.Path(path_type=Path)


@command(
    cls=ExtensibleCommand,
    epilog=examples(
        "tallystick consensus groups.jsonl --rules skills@1.2.0 -o consensus.jsonl",
        "tallystick consensus groups.jsonl --rules skills@1.2.0 -o consensus.jsonl \\",
        "    --records records.jsonl --records-output filled.jsonl",
    ),
)
@click.argument("groups", type=_PATH)
@rules_option()
@output_option("Where the consensus goes.")
@rejects_option("groups")
@click.option("--reruns", type=_PATH, help="Where requests go to run submissions again.")
@click.option(
    "--seed", default="", metavar="TEXT", help="The seed of the draw of those; empty by default."
)
@click.option(
    "--records", type=_PATH, help="The records of the groups, as `tallystick score` takes them."
)
@click.option(
    "--records-output",
    type=_PATH,
    help="Where these go with their consensus, as JSON lines; by default OUTPUT.records.jsonl.",
)
@follow_links_option
@locked_options
def consensus(  # noqa: PLR0913, PLR0917  # one argument for each option
    groups: Path,
    reference: str | None,
    output: Path,
    rejects: Path | None,
    reruns: Path | None,
    seed: str,
    records: Path | None,
    records_output: Path | None,
    follow_links: bool,
    held: Held,
    plugin_options: PluginOptions,
) -> None:
    """Compute the consensus of the GROUPS of a file, one JSON object a line.

    Each group is a line of OUTPUT: of every member its components, its consensus, the event that
    follows, whether it diverges, and how alike it is to primaries and to auditors. With --records
    the records of the groups are written with their consensus; those that contradict their group
    are rejected. The exit status is 1 when a group or a record was rejected.
    """
    from tallystick_consensus.files import (
        ConsensusPaths,
        consensus_file,
    )

    if wants_json() and is_stream(output):
        raise click.UsageError(f"--json and -o {output} both want the standard output: name a file")
    if records is None and records_output is not None:
        raise click.UsageError("found --records-output without --records, expected both")
    paths = ConsensusPaths(groups, output, rejects, reruns, records, records_output)
    with plugin_options.scoring(reference, held) as scorer, working("computing"):
        counts = consensus_file(scorer, paths, seed=seed, follow_links=follow_links)
    if wants_json():
        print_json(attrs.asdict(counts))
    elif not is_stream(output):
        echo(*_summary(counts, output))
    rejected = counts.rejected + counts.records_rejected
    sys.exit(status_of(rejected, counts.internal_errors))


def _summary(counts: ConsensusCounts, output: Path) -> Iterator[str]:
    members = numbered(counts.diverging, "diverging member")
    yield (
        f"{numbered(counts.groups, 'group')}, {counts.without} without a consensus, "
        f"{numbered(counts.breakdowns, 'breakdown')}, {members}, "
        f"{counts.rejected} rejected: {output}"
    )
    if counts.records is not None:
        yield (
            f"{numbered(counts.records, 'record')}, {counts.filled} with a consensus, "
            f"{counts.records_rejected} rejected"
        )
