"""``tallystick rules gate``: whether a change of rules keeps the clauses of a policy."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import click

from tallystick.cli.command import command, examples
from tallystick.cli.options import PATH, follow_links_option, markdown_option
from tallystick.cli.progress import working
from tallystick.cli.shown import print_json, print_text, wants_json
from tallystick_state.cli.options import groups_option


@command(
    "gate",
    epilog=examples(
        "tallystick rules gate default skills@1.2.0 mine.toml",
        "tallystick rules gate council.toml skills@1.2.0 mine.toml facts.parquet \\",
        "    --receipt gate.json",
        "tallystick rules gate default",
    ),
)
@click.argument("reference", metavar="POLICY")
@click.argument("old", metavar="[OLD NEW]", required=False)
@click.argument("new", metavar="", required=False)
@click.argument("history", metavar="[HISTORY]", required=False, type=PATH)
@click.option(
    "--state",
    "where",
    metavar="STATE",
    help="Measure on a made-up network that goes on from this state.",
)
@groups_option
@click.option(
    "--receipt",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the receipt, which `state adopt` asks for where a trust file names the policy.",
)
@follow_links_option
@markdown_option
def gate_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    reference: str,
    old: str | None,
    new: str | None,
    history: Path | None,
    where: str | None,
    groups: Path | None,
    receipt: Path | None,
    follow_links: bool,
    markdown: bool,
) -> None:
    """Ask whether the change from OLD to NEW keeps every clause of POLICY.

    POLICY is a TOML file, or the name of one that ships, such as default. Weights are measured on
    HISTORY, a file or folder of records or facts; without it on a made-up network, with --state on
    one that goes on from a state. The exit status is 1 when a clause is broken. A clause that
    cannot be asked is broken, unless it is optional.

    With POLICY alone, it is read, and its digest and clauses are printed.
    """
    from tallystick_governance.gate import policy as policies
    from tallystick_governance.gate import render

    if wants_json() and markdown:
        raise click.UsageError("found --json and --markdown, expected one of them")
    if history is not None and where is not None:
        raise click.UsageError("found HISTORY and --state, expected one of them")
    if groups is not None and history is None:
        raise click.UsageError("found --groups without HISTORY, expected both")
    policy = policies.read(reference)
    if old is None:
        if where is not None or receipt is not None or markdown:
            raise click.UsageError("found POLICY alone, expected OLD and NEW as well")
        if wants_json():
            print_json(render.policy_as_json(policy))
        else:
            print_text(render.policy_as_text(policy))
        return
    if new is None:
        raise click.UsageError("found OLD without NEW, expected both")
    from tallystick.io.atomic import atomic_files, output_path
    from tallystick.scoring.scorer import load
    from tallystick_governance.gate.gate import ask
    from tallystick_governance.gate.sources import source_of

    with ExitStack() as stack:
        # opened first, so that a name that cannot be written is told before the work
        places = [output_path(receipt, follow_links=follow_links)] if receipt else []
        files = stack.enter_context(atomic_files(*places))
        stack.enter_context(working("asking the gate"))
        before, after = load(old), load(new)
        source = source_of(history, where, policy.measure, before, after, groups=groups)
        verdict = ask(policy, before, after, source)
        for file in files:
            file.write(verdict.receipt.to_bytes())
    if wants_json():
        print_json(render.as_json(verdict))
    else:
        print_text(render.as_markdown(verdict) if markdown else render.as_text(verdict))
    sys.exit(0 if verdict.has_passed else 1)
