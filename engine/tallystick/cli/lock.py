"""``tallystick lock``: write what results are made with, or compare with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import command, examples
from tallystick.cli.locked import FILE, held_lock
from tallystick.cli.options import follow_links_option, output_option
from tallystick.cli.progress import working
from tallystick.cli.settings import in_working_folder
from tallystick.cli.shown import show
from tallystick.lock.check import NOTHING
from tallystick.lock.installed import VECTORS, everything_installed, pinned_files
from tallystick.lock.lock_file import LARGEST
from tallystick.plugins.code import engine_digest, plugin_digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tallystick.scoring.scorer import Scorer


@command(
    epilog=examples(
        "tallystick lock --rules skills@1.2.0",
        "tallystick lock --rules skills@1.2.0 --self-test -o subnet.lock",
        "tallystick lock --check",
        "tallystick lock --list --json",
    ),
)
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--rules",
    "references",
    multiple=True,
    metavar="RULES",
    help="name@version, a path or a digest; repeat for several rule sets.",
)
@click.option("--check", "checks", is_flag=True, help="Compare what is installed with FILE.")
@click.option("--list", "lists", is_flag=True, help="Show each file that FILE pins.")
@click.option("--self-test", "tests", is_flag=True, help="Score the vectors of the engine first.")
@output_option(f"The file to write, else {FILE}.", required=False)
@follow_links_option
def lock(  # noqa: PLR0913, PLR0917  # one argument for each option
    file: Path | None,
    references: tuple[str, ...],
    checks: bool,
    lists: bool,
    tests: bool,
    output: Path | None,
    follow_links: bool,
) -> None:
    """Write a lock of rule sets, or check one: the digests of all that results depend on.

    A lock holds the rule sets with their formulas, requirements and schemas, every file that scores
    or steps a state, every file of strangers' plugins, the versions of the libraries that decide
    which records are valid, and the vectors. With --check FILE, or tallystick.lock in the working
    folder, is compared with the installed code; the exit status is 1 when something differs, each
    by its name.

    With --list the files are shown, each with its closures and its digest: those that FILE or
    tallystick.lock in the working folder pins or, where there is neither, those that a lock of
    everything that is installed would pin. The closure scoring decides scores; state is what a
    state needs beside it.

    With --self-test the vectors that ship with the engine are scored under each rule set before
    anything is written or compared; the exit status is 1 when a row is another.
    """
    modes = {"--check": checks, "--list": lists, "--rules or -o": references or output is not None}
    named = [name for name, is_there in modes.items() if is_there]
    if len(named) > 1:
        raise click.UsageError(
            f"found {named[0]} with {' and '.join(named[1:])}, expected one of them"
        )
    if checks:
        _check(file, tests)
    elif lists:
        _list(file, tests)
    elif file is not None or not references:
        raise click.UsageError("found no --rules to write a lock of, and no --check")
    else:
        _write(references, output or Path(FILE), tests, follow_links)


def _check(file: Path | None, tests: bool) -> None:
    pinned = held_lock(file)
    tested = _tested(_loaded(pinned.references())) if tests else {}
    pinned.check()
    rule_sets = {name: rules.digest for name, rules in pinned.lock.rule_sets.items()}
    show(
        {"valid": True, "file": str(pinned.path), "rule_sets": rule_sets, "tested": tested},
        [*_tested_lines(tested), f"{pinned.path}: everything is as it is locked"],
    )


def _list(file: Path | None, tests: bool) -> None:
    if tests:
        raise click.UsageError("found --list with --self-test, expected one of them")
    is_none = file is None and in_working_folder(FILE, LARGEST + 1) is None
    pinned = None if is_none else held_lock(file)
    entries = pinned_files(everything_installed() if pinned is None else pinned.lock)
    lines = (f"{pin.path}  {', '.join(pin.closures)}  {pin.digest}" for pin in entries)
    show({"files": entries}, lines)


def _write(references: Sequence[str], output: Path, tests: bool, follow_links: bool) -> None:
    from tallystick.lock.write import lock_of, write  # loads rule sets

    scorers = _loaded(references)
    tested = _tested(scorers) if tests else {}
    written = lock_of(scorers, output.parent)
    write(written, output, follow_links=follow_links)
    rule_sets = {name: rules.digest for name, rules in written.rule_sets.items()}
    view = {
        "file": str(output),
        "rule_sets": rule_sets,
        "engine": engine_digest(),
        "plugins": {name: plugin_digest(module) for name, module in written.plugins.items()},
        "vectors": written.files.get(VECTORS, NOTHING),
        "tested": tested,
    }
    lines = (f"  {name} {rules_digest}" for name, rules_digest in rule_sets.items())
    show(view, [*_tested_lines(tested), f"{output}: a lock of", *lines])


def _loaded(references: Sequence[str | Path]) -> list[Scorer]:
    from tallystick.scoring.scorer import load  # as above

    with working("proving the formulas"):
        return [load(name) for name in references]


def _tested(scorers: Sequence[Scorer]) -> dict[str, int]:
    from tallystick.lock.self_test import self_test  # when asked for

    return {scorer.rule_set.reference: self_test(scorer) for scorer in scorers}


def _tested_lines(tested: dict[str, int]) -> list[str]:
    return [
        f"{name}: {rows} rows of the vectors are as they must be" for name, rows in tested.items()
    ]
