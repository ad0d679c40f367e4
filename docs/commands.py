"""The page of the commands, from the commands themselves.

Where a page has the line `<!-- commands -->`, every command stands in its place, as its `--help`
says it: usage, text, arguments and options, examples.
"""  # noqa: INP001  # an extension of Sphinx, found beside its configuration

from __future__ import annotations

import re
from collections.abc import Iterator

import click
from sphinx.application import Sphinx

from tallystick.cli.main import cli

_MARK = "<!-- commands -->"
# what every command takes; the page says it once
_EVERYWHERE = ("json", "log_json", "help")
_SPAN = re.compile(r"(`[^`]*`)")
_SPECIAL = re.compile(r"([\\*_<>\[\]{}|#~$@])")


def pages_of(
    command: click.Command, path: str = "tallystick", parent: click.Context | None = None
) -> Iterator[str]:
    """A section for a command, and one for each command below it."""
    context = click.Context(command, info_name=path.rpartition(" ")[2], parent=parent)
    yield "\n\n".join(_section(command, path, context))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from pages_of(below, f"{path} {name}", context)


def _section(command: click.Command, path: str, context: click.Context) -> Iterator[str]:
    yield f"## {path}"
    yield f"```text\n{path} {' '.join(command.collect_usage_pieces(context))}\n```"
    yield from _prose(command.help or "")
    own = [param for param in command.get_params(context) if not _is_everywhere(param)]
    records = [record for param in own if (record := param.get_help_record(context))]
    rows = [(names.replace("|", "\\|"), text) for names, text in records if text]
    if rows:
        cells = [f"| `{names}` | {_escaped(text)} |" for names, text in rows]
        yield "\n".join(["| option | does |", "|---|---|", *cells])
    yield from _prose(command.epilog or "")


def _is_everywhere(param: click.Parameter) -> bool:
    """Return whether every command has the parameter; `verbose` of one may have its own value."""
    return param.name in _EVERYWHERE or (param.name == "verbose" and not param.expose_value)


def _prose(text: str) -> Iterator[str]:
    r"""The paragraphs of a help text; one behind a `\b` keeps its lines, as in a terminal."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if paragraph.lstrip().startswith("\b"):
            kept = "\n".join(line.rstrip() for line in paragraph.strip("\b\n ").splitlines())
            yield f"```text\n{kept}\n```"
        elif paragraph:
            yield _escaped(" ".join(paragraph.split()))


def _escaped(text: str) -> str:
    """A text in which nothing but code in backticks is Markdown."""
    parts = _SPAN.split(text)
    return "".join(part if part.startswith("`") else _SPECIAL.sub(r"\\\1", part) for part in parts)


def _insert(_app: Sphinx, _page: str, source: list[str]) -> None:
    if _MARK in source[0]:
        source[0] = source[0].replace(_MARK, "\n\n".join(pages_of(cli)))


def setup(app: Sphinx) -> None:
    """Insert the commands when a page is read."""
    app.connect("source-read", _insert)
