"""``tallystick yuma``: what the chain makes of the weights of all validators."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from tallystick.cli.command import command, examples
from tallystick.cli.progress import working
from tallystick.cli.shown import show, table_lines
from tallystick.io.text import visible
from tallystick.numbers.text import numbered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tallystick_yuma.vectors import Check, VectorDifference

_COLUMNS = ("stake_weight", "consensus", "validator_trust", "incentive", "dividends", "emission")
_TOLD = 20
"""Maximum number of differences that are printed in full; the rest are counted."""


@command(
    epilog=examples(
        "tallystick yuma case.json",
        "tallystick yuma case.json --json",
        "tallystick yuma vectors.json --check",
    ),
)
@click.argument("case", type=click.Path(path_type=Path))
@click.option(
    "--check", "checks", is_flag=True, help="Compare with what the file expects; 1 if it differs."
)
def yuma(case: Path, checks: bool) -> None:
    """Compute the epochs of the subnet in the file CASE as the chain does, bit for bit.

    CASE is JSON: params, and steps that each have an input; values that a step leaves out continue
    from the step before. A file of vectors has many cases, and values of functions. Without --json
    the last step of each case is shown, proportions of 65535. CASE can be -, the standard input.
    """
    from tallystick_yuma import vectors  # NumPy

    with working("reading"):
        document = vectors.read(case)
    if checks:
        with working("computing"):
            comparison = vectors.check(document, str(case))
        _tell(comparison)
    with working("computing"):
        answers = vectors.computed(document, str(case))
        values = vectors.values(document, str(case))
    if vectors.is_vectors(document):
        view = {"cases": answers, **({"functions": values} if values else {})}
    else:
        view = {"steps": answers[0]["steps"]}
    lines = [line for answer in answers for line in _lines(answer)]
    if values:
        rows = [[name, str(row), str(x)] for name, of in values.items() for row, x in enumerate(of)]
        lines += table_lines(("function", "row", "value"), rows)
    show(view, lines)


def _tell(found: Check) -> None:
    """Tell a check, and end with its exit status."""
    compared = (
        f"{numbered(found.cases, 'case')}, {numbered(found.steps, 'step')}, "
        f"{numbered(found.values, 'value')} of functions"
    )
    many = len(found.differences)
    lines = [
        *map(_line, found.differences[:_TOLD]),
        *([f"and {many - _TOLD} more"] if many > _TOLD else []),
        f"{compared}: {numbered(many, 'difference') if many else 'all as expected'}",
    ]
    show(attrs.asdict(found), lines)
    sys.exit(1 if found.differences else 0)


def _line(found: VectorDifference) -> str:
    values = ("nothing" if value is None else str(value) for value in (found.found, found.expected))
    one, other = (visible(value[:80]) for value in values)
    return f"{visible(found.case)}: {visible(found.path)}: found {one}, expected {other}"


def _lines(answer: dict[str, Any]) -> list[str]:
    steps = answer["steps"]
    name = f"{visible(answer['name'])}, " if "name" in answer else ""
    heads = ["uid", "permit", "active", *(column.replace("_", " ") for column in _COLUMNS)]
    title = f"{name}step {len(steps)} of {len(steps)}"
    return [title, *table_lines(heads, _rows(steps[-1])), ""]


def _rows(step: dict[str, Any]) -> Iterator[list[str]]:
    for uid, (permit, active) in enumerate(zip(step["permits"], step["active"], strict=True)):
        flags = ["yes" if flag else "no" for flag in (permit, active)]
        yield [str(uid), *flags, *(str(step[column][uid]) for column in _COLUMNS)]
