"""Writers of the standard streams: the one place that writes text to them.

What is shown may hold text of strangers. It is made printable here, so that no command can forget
to; the linter refuses another module that writes to a stream. Only data that was asked for on the
standard output, such as results, goes past, as bytes (`tallystick.io.streams`).
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from tallystick.cli.settings import in_force
from tallystick.errors import on_one_line
from tallystick.io.text import escaped, json_pieces, masked, printable
from tallystick.numbers.text import numbered

if TYPE_CHECKING:
    from tallystick.scoring.receipt import Counts


_JSON = f"{__name__}.json"


def echo(*lines: str, err: bool = False) -> None:
    """Write some lines; what would act, or begin another line, is shown by its code."""
    text = "\n".join(map(on_one_line, lines))
    click.echo(printable(text), err=err)


def print_text(text: str, *, err: bool = False) -> None:
    """Write a text whose lines are known to be what they seem."""
    click.echo(printable(text), err=err, nl=not text.endswith("\n"))


def print_json(value: object, *, is_closed: bool = False) -> None:
    """Print a JSON value, indented; where the output is not Unicode, in ASCII.

    Args:
        value: an object names the settings file that counted, if one did, as ``settings``.
        is_closed: whether its format has no room for that.
    """
    name = in_force()
    if name is not None and isinstance(value, dict) and not is_closed:
        value = {**value, "settings": name}
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    narrow = not encoding.lower().startswith("utf")
    for piece in json_pieces(value, indent=2, ascii_only=narrow):
        click.echo(piece, nl=False)
    click.echo()


def json_option() -> click.Option:
    """Return the option by which a command prints JSON."""
    return click.Option(
        ["--json"],
        is_flag=True,
        expose_value=False,
        callback=_remember,
        help="Print JSON for machines.",
    )


def _remember(context: click.Context, _option: click.Parameter, is_wanted: bool) -> None:
    context.meta[_JSON] = is_wanted


def wants_json() -> bool:
    """Return whether the command that runs is to print JSON."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_JSON))


def show(answer: object, lines: Iterable[str]) -> None:
    """Print an answer, as JSON if the command is asked for it, else as lines.

    Args:
        answer: a value that has a form in JSON.
        lines: the same for people; an iterator makes them when they are printed.
    """
    if wants_json():
        from tallystick.json_values import json_value  # help needs none

        print_json(json_value(answer))
    else:
        echo(*lines)


def print_usage(error: click.ClickException) -> None:
    """Write what is wrong with a command line, without the passwords that it may hold."""
    buffer = io.StringIO()
    error.show(buffer)
    usage, mark, message = buffer.getvalue().partition("Error: ")
    # a help, which has many lines, is no message
    print_text(usage + mark + (escaped(masked(message.rstrip())) if mark else ""), err=True)


def counts_line(counts: Counts, scored: str, missed: str, rejects: object) -> str:
    """Return the line that tells what became of the records of a file.

    Args:
        counts: of the run.
        scored: what became of those with a submission.
        missed: what the others are.
        rejects: where the rejected ones are.
    """
    parts = [f"{counts.scored} {scored}"]
    if counts.missed:
        parts.append(f"{counts.missed} {missed}")
    if counts.rejected:
        parts.append(f"{counts.rejected} rejected, see {rejects}")
    if counts.internal_errors:
        parts.append(f"of them {counts.internal_errors} by a defect in the engine")
    return f"{numbered(counts.records, 'record')}: {', '.join(parts)}"


def table_lines(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table as lines: a heading above each column, each as wide as its widest cell.

    Lines are never broken, so that a row can be found by what it holds.
    """
    cells = [list(headings), *([on_one_line(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
