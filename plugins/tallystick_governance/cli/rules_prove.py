"""``tallystick rules prove``: prove a rule set, or find records that break it."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from math import isnan
from pathlib import Path

import click

from tallystick.cli.command import command, examples
from tallystick.cli.options import follow_links_option, markdown_option
from tallystick.cli.progress import progress_bar
from tallystick.cli.shown import print_json, print_text, wants_json


@command(
    "prove",
    epilog=examples(
        "tallystick rules prove mine.toml",
        "tallystick rules prove skills@1.2.0 --strict --markdown",
        "tallystick rules prove mine.toml --seconds 60",
    ),
)
@click.argument("reference", metavar="RULES")
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    callback=lambda _context, _option, millions: _checked(millions),
    metavar="N",
    help="Stop after N million steps of the solver; open properties are undecided. By default 40.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    callback=lambda _context, _option, seconds: _limited(seconds),
    metavar="N",
    help="Stop after N seconds; open properties are undecided. By default 300.",
)
@click.option("--property", "only", metavar="NAME", help="Decide this property alone.")
@click.option("--strict", is_flag=True, help="Exit with 1 if something is undecided, too.")
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the records of the counterexamples, one a line, as `tallystick score` takes them; "
    "of a property of groups the groups, as `tallystick consensus` does.",
)
@follow_links_option
@click.option("-v", "--verbose", is_flag=True, help="Print each undecided question, and why.")
@markdown_option
def prove_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    reference: str,
    budget: int | None,
    seconds: float | None,
    only: str | None,
    strict: bool,
    save: Path | None,
    follow_links: bool,
    verbose: bool,
    markdown: bool,
) -> None:
    """Prove properties of RULES for every valid record, or find records that break them.

    Properties: axes stay in [0, 1], a higher axis or a better fact never lowers a score, nothing is
    gained by repeating items, nobody is treated differently, what the plugins promise, and two laws
    of the consensus of a group; of an [allocation], that weights sum to 1, are not negative and
    prefer no hotkey. Each is proved, refuted by records, groups or miners that the engine confirms,
    or undecided. The exit status is 1 when one is refuted. The budget counts the solver's steps, so
    a busy machine gives the same answers, unless the seconds are over first. Answers until then are
    printed, also those before Ctrl-C. It needs the extra `prove`.
    """
    from tallystick.io.atomic import atomic_files, output_path
    from tallystick.scoring.scorer import load
    from tallystick_governance.prove import process, proving, render
    from tallystick_governance.prove.render import is_long

    if sum((wants_json(), verbose, markdown)) > 1:
        raise click.UsageError("expected one of --json, --markdown and --verbose")
    scorer, most = load(reference), budget or proving.BUDGET
    limit = process.SECONDS if seconds is None else seconds
    with ExitStack() as stack:
        # opened first, so that a name that cannot be written is told before the work
        places = [output_path(save, follow_links=follow_links)] if save else []
        files = stack.enter_context(atomic_files(*places))
        progress = stack.enter_context(progress_bar("proving"))
        outcome = process.prove_within(scorer, limit, only=only, budget=most, progress=progress)
        answers = outcome.answers
        for file in files:
            # what `score` takes; a law of groups alone gives what `consensus` takes
            saved = (a for a in answers if a.skill_type in scorer.types or (only and is_long(a)))
            lines = (line for answer in saved for line in render.records(answer))
            file.write("".join(f"{line}\n" for line in lines).encode())
    name = scorer.rule_set.reference
    if wants_json():
        print_json({"rule_set": name, "digest": scorer.digest, **render.as_json(answers)})
    elif markdown:
        print_text(render.as_markdown(name, scorer.digest, answers, most))
    else:
        print_text(render.as_text(name, answers, verbose=verbose))
    if outcome.stopped is not None:
        raise click.Abort from outcome.stopped
    failed = {"counterexample", "undecided"} if strict else {"counterexample"}
    sys.exit(1 if any(answer.status in failed for answer in answers) else 0)


def _limited(seconds: float | None) -> float | None:
    """Return a number of seconds that a clock can count."""
    if seconds is None:
        return None
    if isnan(seconds):
        raise click.BadParameter("found nan, expected seconds")
    return min(seconds, float(10**6))


def _checked(millions: float | None) -> int | None:
    """Return a number of steps from millions of them."""
    if millions is None:
        return None
    if isnan(millions):
        raise click.BadParameter("found nan, expected millions of steps")
    return max(1, round(min(millions, 10**6) * 10**6))
