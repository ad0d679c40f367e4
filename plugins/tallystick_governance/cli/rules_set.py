"""``tallystick rules set``: a rule set with other values, as a file with a raised version."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from tallystick.cli.command import command, examples
from tallystick.cli.options import follow_links_option, output_option
from tallystick.cli.progress import working
from tallystick.cli.shown import echo, print_json, wants_json


@command(
    "set",
    epilog=examples(
        "tallystick rules set skills@1.2.0 axes.NAME.beta=0.8 -o mine.toml",
        "tallystick rules set skills@1.2.0 axes.NAME.beta=1 -o mine.toml \\",
        "    --summary 'Recall counts'",
    ),
)
@click.argument("reference", metavar="RULES")
@click.argument("assignments", metavar="PATH=VALUE…", nargs=-1, required=True)
@output_option("The file to write.")
@click.option("--summary", metavar="TEXT", help="The purpose of the new values, in one sentence.")
@follow_links_option
def set_command(
    reference: str,
    assignments: tuple[str, ...],
    output: Path,
    summary: str | None,
    follow_links: bool,
) -> None:
    """Write RULES with other values to a file; every other byte is kept, comments too.

    PATH is that of a value in the file, as --sweep takes it: axes.policy.beta,
    tiers.levels[3].multiplier, or axes.policy.weight for the weight of an axis in every type. When
    a weight changes, the others of the type are scaled so that they sum to exactly 1. The version
    is raised as far as the change needs, unless rule_set.version is among the values.

    The summary of RULES speaks of its own values, so the file has the one of --summary, or none.
    `tallystick rules paths RULES` lists the paths.
    """
    from tallystick.scoring.scorer import load
    from tallystick_governance.revision import parse_assignment, revise

    with working("comparing"):
        revision = revise(load(reference), map(parse_assignment, assignments), summary=summary)
    revision.write(output, follow_links=follow_links)
    new = revision.loaded
    if wants_json():
        print_json(
            {
                "old": revision.old,
                "rule_set": new.rule_set.reference,
                "digest": new.digest,
                "needed": str(revision.needed),
                "summary": new.rule_set.rule_set.summary or None,
                "changes": [attrs.asdict(change) for change in revision.changes],
                "file": str(output),
            }
        )
        return
    lines = [f"{c.path}: {c.old or '–'} → {c.new or '–'}" for c in revision.changes]
    echo(f"{new.rule_set.reference}  {new.digest}", *lines, str(output))
    if not new.rule_set.rule_set.summary:
        echo("no summary of its own: --summary TEXT says to voters what it is for", err=True)
