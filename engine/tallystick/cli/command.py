"""Commands and groups: examples, and help that is whole."""

from __future__ import annotations

from collections.abc import Iterator

import click

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


class CommandGroup(click.Group):
    """A group whose help has the whole first sentence of each command."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write `sentences`, wrapped and never cut."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.sentences(ctx)))

    def sentences(self, ctx: click.Context) -> Iterator[tuple[str, str]]:
        """Yield the commands, each with its first sentence."""
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None:
                yield name, first_sentence(command.help or "")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write its own examples, or the first of each command."""
        own = self.epilog or examples(*self._first_examples())
        click.Command(self.name, epilog=own).format_epilog(ctx, formatter)

    def _first_examples(self) -> Iterator[str]:
        for _, command in sorted(self.commands.items()):
            yield from first_example(command)


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
