"""Commands and groups: examples, and help that is whole."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import click

from tallystick.cli.shown import json_option
from tallystick.plugins.commands import Command

DEFECT = 3
"""The exit status of a run that is complete, but for records on which the engine fails."""


def status_of(rejected: int, internal_errors: int) -> int:
    """Return the exit status of a command that judges records; see docs/errors.md."""
    if internal_errors:
        return DEFECT
    return 1 if rejected else 0


def examples(*commands: str) -> str:
    """Return the end of a help: commands as they are typed, one a line or over several."""
    return "\n".join(["\b", "Examples:", *(f"  {command}" for command in commands)])


class AnswerCommand(click.Command):
    """A command with ``--json``, which prints its answer by `tallystick.cli.shown.show`."""

    def __init__(self, *arguments: Any, **attributes: Any) -> None:  # noqa: ANN401  # click's own
        super().__init__(*arguments, **attributes)
        self.params.append(json_option())


command = partial(click.command, cls=AnswerCommand)
"""The decorator of a function that is a command of the engine's own distribution."""


class CommandGroup(click.Group):
    """A group whose help has the whole first sentence of each command."""

    command_class = AnswerCommand

    def rows(self) -> dict[str, Command]:
        """Return what help says of each command, by its name and in order."""
        return {
            name: Command(
                (name,),
                home="",
                sentence=first_sentence(command.help or ""),
                example="\n".join(first_example(command)),
            )
            for name, command in sorted(self.commands.items())
        }

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # click's signature
        """Write the sentence of each command, wrapped and never cut."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, row.sentence) for name, row in self.rows().items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write its own examples, or the first of each command."""
        first = (line for row in self.rows().values() for line in row.example.splitlines())
        own = self.epilog or examples(*first)
        click.Command(self.name, epilog=own).format_epilog(ctx, formatter)


def first_example(command: click.Command) -> Iterator[str]:
    """Yield the lines of the first example of a command."""
    for line in (command.epilog or "").splitlines()[2:]:
        yield line.removeprefix("  ")
        if not line.endswith("\\"):
            break


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, on one line."""
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    head, stop, _ = paragraph.partition(". ")
    return head + stop.strip()
