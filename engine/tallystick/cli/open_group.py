"""Groups whose commands are rows, of the engine and of plugins, imported when they are used.

Help and completion are written from the rows.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli import log
from tallystick.cli.command import CommandGroup
from tallystick.cli.plugin_options import ExtensibleCommand
from tallystick.cli.rows import installed_commands
from tallystick.errors import PluginError
from tallystick.plugins.commands import GROUP, HEADINGS, OTHER_HEADING, Command, value_of
from tallystick.plugins.entries import PROJECT

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class OpenGroup(CommandGroup):
    """A group of the engine to which plugins add commands; none takes one of its own.

    Args:
        path: the words of the group; none of the whole command line.
        attributes: as of ``click.Group``.
    """

    def __init__(self, *arguments: Any, path: tuple[str, ...] = (), **attributes: Any) -> None:  # noqa: ANN401  # click's own
        super().__init__(*arguments, **attributes)
        self.path = path

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """Return the names of the commands."""
        return [*self.rows()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        """Return the command of a name, with the options that every one has.

        Raises:
            PluginError: what a plugin has for it cannot be used.
        """
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        entry = installed_commands().find((*self.path, cmd_name))
        if entry is None:
            return None
        name, row = entry
        return finished(_imported(name, row), row.path)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that arguments begin with.

        Raises:
            UsageError: there is none; with those of similar names, and with the plugins that cannot
                be used, which may have it.
        """
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(self._unknown(args[0], error.message, ctx), ctx) from error

    def rows(self) -> dict[str, Command]:
        """Return what help says of each command; those of plugins are not imported."""
        rows = {**installed_commands().below(self.path), **super().rows()}
        return dict(sorted(rows.items()))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sentence of each command, of the whole line below headings in their order."""
        if self.path:
            super().format_commands(ctx, formatter)
            return
        rows = self.rows()
        width = max(map(len, rows))
        sections = dict[str, list[tuple[str, str]]]()
        for name, row in rows.items():
            sections.setdefault(row.heading, []).append((name.ljust(width), row.sentence))
        of_strangers = sorted(sections.keys() - {*HEADINGS, OTHER_HEADING})
        for heading in (*HEADINGS, *of_strangers, OTHER_HEADING):
            if heading in sections:
                with formatter.section(heading.capitalize()):
                    formatter.write_dl(sections[heading])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that complete a word, without importing commands."""
        from click.shell_completion import CompletionItem  # for a shell alone

        rows = self.rows().items()
        words = [
            CompletionItem(n, help=row.sentence) for n, row in rows if n.startswith(incomplete)
        ]
        return words + click.Command.shell_complete(self, ctx, incomplete)

    def _unknown(self, word: str, message: str, ctx: click.Context) -> str:
        """Return the error for a word that is no command; click's hints know none of the rows."""
        from difflib import get_close_matches  # for a mistake alone

        if objections := installed_commands().objections():
            return "; ".join([message.rstrip("."), *objections])
        close = sorted(map(repr, get_close_matches(word, self.list_commands(ctx))))
        if len(close) > 1:
            return f"{message} (Did you mean one of: {', '.join(close)}?)"
        return f"{message} Did you mean {close[0]}?" if close else message


records = OpenGroup("records", path=("records",), help="Generate records.")
"""The commands on records, all of which plugins bring."""


def finished(command: click.Command, path: tuple[str, ...]) -> click.Command:
    """Return a command with the options of plugins and with those of every command."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            finished(inner, (*path, name))
        return command
    if isinstance(command, ExtensibleCommand):
        command.extend(path)
    # a command is one object however often it is asked for; its own options count more
    if not any(option.name == "log_json" for option in command.params):
        own = {name for param in command.params for name in param.opts}
        command.params += [option for option in log.options() if own.isdisjoint(option.opts)]
    return command


def _imported(name: str, row: Command) -> click.Command:
    # what fails in the engine itself is told as such
    own = name == PROJECT
    command = EntryPoint(name, row.home, GROUP).load() if own else value_of(name, row.home)
    if not isinstance(command, click.Command):
        raise PluginError(
            f"plugin {name!r}: found {command!r} at {row.home}, expected a command of click: fix "
            "the plugin, or uninstall it"
        )
    return command
