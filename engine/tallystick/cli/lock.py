"""``tallystick lock``: write what results are made with, or compare with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import examples
from tallystick.cli.shown import as_json, echo, follow_links_option, print_json
from tallystick.lock.lock_file import FILE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tallystick.scoring.scorer import Scorer


@click.command(
    epilog=examples(
        "tallystick lock --rules skills@1.1.0",
        "tallystick lock --rules skills@1.1.0 --self-test -o subnet.lock",
        "tallystick lock --check",
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
@click.option("--self-test", "tests", is_flag=True, help="Score the vectors of the engine first.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help=f"The file to write, else {FILE}."
)
@follow_links_option
@as_json
def lock(  # noqa: PLR0913, PLR0917  # one argument for each option
    file: Path | None,
    references: tuple[str, ...],
    checks: bool,
    tests: bool,
    output: Path | None,
    follow_links: bool,
    as_json: bool,
) -> None:
    """Write a lock of rule sets, or check one: what results are made with, by digest.

    A lock holds the rule sets with their formulas, requirements and schemas, every file of their
    plugins and of the engine, the versions of what decides which records are valid, and the
    vectors. With --check FILE, or the nearest tallystick.lock in the working folder or above, is
    compared with what is installed; the exit status is 1 when something differs, each by its name.

    With --self-test the vectors that ship with the engine are scored under each rule set before
    anything is written or compared; the exit status is 1 when a row is another.
    """
    if checks:
        if references or output is not None:
            raise click.UsageError("found --check with --rules or -o, expected one of them")
        _check(file, tests, as_json)
    elif file is not None or not references:
        raise click.UsageError("found no --rules to write a lock of, and no --check")
    else:
        _write(references, output or Path(FILE), tests, follow_links, as_json)


def _check(file: Path | None, tests: bool, as_json: bool) -> None:
    from tallystick.cli.locked import HeldLock  # noqa: PLC0415  # as below

    held = HeldLock.nearest() if file is None else HeldLock.read(file)
    tested = {}
    if tests:
        references = held.references()
        tested = _tested(_loaded(references))
    held.check()
    if as_json:
        rule_sets = {name: rules.digest for name, rules in held.lock.rule_sets.items()}
        told = {"valid": True, "file": str(held.path)}
        print_json({**told, "rule_sets": rule_sets, "tested": tested})
    else:
        echo(*_tested_lines(tested), f"{held.path}: everything is as it is locked")


def _write(
    references: Sequence[str], output: Path, tests: bool, follow_links: bool, as_json: bool
) -> None:
    from tallystick.lock.write import lock_of, write  # noqa: PLC0415  # heavy

    scorers = _loaded(references)
    tested = _tested(scorers) if tests else {}
    found = lock_of(scorers, output.parent)
    write(found, output, follow_links=follow_links)
    if as_json:
        rule_sets = {name: rules.digest for name, rules in found.rule_sets.items()}
        plugins = {name: each.digest for name, each in found.plugins.items()}
        told = {"file": str(output), "rule_sets": rule_sets, "plugins": plugins}
        print_json({**told, "engine": found.engine, "vectors": found.vectors, "tested": tested})
    else:
        lines = [f"{name} {rules.digest}" for name, rules in found.rule_sets.items()]
        echo(*_tested_lines(tested), f"{output}: a lock of", *(f"  {line}" for line in lines))


def _loaded(references: Sequence[str | Path]) -> list[Scorer]:
    from tallystick.cli.progress import working  # noqa: PLC0415  # as below
    from tallystick.scoring.scorer import load  # noqa: PLC0415  # heavy

    with working("proving the formulas"):
        return [load(each) for each in references]


def _tested(scorers: Sequence[Scorer]) -> dict[str, int]:
    from tallystick.lock.self_test import self_test  # noqa: PLC0415  # when asked for

    return {scorer.rule_set.reference: self_test(scorer) for scorer in scorers}


def _tested_lines(tested: dict[str, int]) -> list[str]:
    return [
        f"{name}: {rows} rows of the vectors are as they must be" for name, rows in tested.items()
    ]
