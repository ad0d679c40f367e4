"""``tallystick rules diff``: the difference of two rule sets, before the vote."""

from __future__ import annotations

import sys

import click

from tallystick.cli.command import examples
from tallystick.cli.log import complain
from tallystick.cli.progress import working
from tallystick.cli.shown import as_json, print_json, print_text


@click.command(
    "diff",
    epilog=examples(
        "tallystick rules diff skills@1.1.0 mine.toml --check",
        "tallystick rules diff skills@1.0.0 skills@1.1.0 --markdown",
    ),
)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@as_json
@click.option("--markdown", is_flag=True, help="Print Markdown for a proposal.")
@click.option(
    "--check", is_flag=True, help="Exit with 1 if NEW raises its version less than it has to."
)
def diff_command(old: str, new: str, as_json: bool, markdown: bool, check: bool) -> None:
    """What NEW changes in OLD: values, formulas, types, and what that can do to a score.

    The intervals hold every change that a score can have, by bounds. The versioning policy says
    which part of the version the change has to raise.
    """
    from tallystick.governance.diff import render  # noqa: PLC0415  # heavy
    from tallystick.governance.diff.difference import difference  # noqa: PLC0415  # heavy
    from tallystick.scoring.scorer import load  # noqa: PLC0415  # heavy

    if as_json and markdown:
        raise click.UsageError("found --json and --markdown, expected one of them")
    with working("comparing"):
        found = difference(load(old), load(new))
    if as_json:
        print_json(render.as_json(found))
    else:
        print_text(render.as_markdown(found) if markdown else render.as_text(found))
    if check and not found.is_enough:
        complain(
            f"found {found.new} after {found.old}, expected a {found.needed} version: raise it as "
            "docs/versioning.md says"
        )
        sys.exit(1)
