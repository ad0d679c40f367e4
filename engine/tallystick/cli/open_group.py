"""Groups of the core that also have the commands of plugins, by rows, imported when they are used.

The core's own commands are looked up first, before anything is searched for. Help and completion
are written from the rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.command import CommandGroup, complete, first_example, first_sentence
from tallystick.cli.plugin_options import ExtensibleCommand
from tallystick.errors import PluginError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from tallystick.plugins.commands import Command


class OpenGroup(CommandGroup):
    """A group of the core to which plugins add commands.

    Args:
        path: the words of the group; none of the whole command line.
        attributes: as of ``click.Group``.
    """

    def __init__(self, *arguments: Any, path: tuple[str, ...] = (), **attributes: Any) -> None:  # noqa: ANN401  # click's own
        super().__init__(*arguments, **attributes)
        self.path = path

    def own_names(self) -> Collection[str]:
        """Return the names of the core's own commands."""
        return self.commands.keys()

    def own_command(self, name: str) -> click.Command | None:
        """Return the core's own command of a name."""
        return self.commands.get(name)

    def own_sentence(self, name: str) -> str:
        """Return the first sentence of an own command."""
        return first_sentence(self.commands[name].help or "")

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """Return the names of the commands."""
        return sorted({*self.own_names(), *self.rows()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, with the options that every one has.

        Raises:
            PluginError: what a plugin has for it cannot be used.
        """
        path = (*self.path, cmd_name)
        command = self.own_command(cmd_name)
        if command is not None:
            return finished(command, path)
        # the core's own commands need none of it
        from tallystick.plugins.commands import installed_commands, own_commands

        entry = own_commands().find(path) or installed_commands().find(path)
        if entry is None:
            return None
        name, row = entry
        if ctx.resilient_parsing and row.below:
            return _Offered(name, row)
        return finished(_imported(name, row), path)

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

    def sentences(self, ctx: click.Context) -> Iterator[tuple[str, str]]:
        """Yield the commands with their first sentences, without importing those of plugins."""
        rows = self.rows()
        for name in self.list_commands(ctx):
            yield name, rows[name].sentence if name in rows else self.own_sentence(name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the options and commands that complete a word, without importing commands."""
        return _completed(dict(self.sentences(ctx)), self, ctx, incomplete)

    def _unknown(self, word: str, message: str, ctx: click.Context) -> str:
        """Return the error for a word that is no command; click's hints know own commands alone."""
        from difflib import get_close_matches  # for a mistake alone

        from tallystick.plugins.commands import installed_commands

        objections = installed_commands().objections((*self.path, word))
        if objections:
            return "; ".join([message.rstrip("."), *objections])
        close = sorted(map(repr, get_close_matches(word, self.list_commands(ctx))))
        if len(close) > 1:
            return f"{message} (Did you mean one of: {', '.join(close)}?)"
        return f"{message} Did you mean {close[0]}?" if close else message

    def own_paths(self) -> Iterator[tuple[str, ...]]:
        """Yield the words of the core's own commands here and below."""
        for name in self.own_names():
            yield (*self.path, name)
            command = self.own_command(name)
            if isinstance(command, OpenGroup):
                yield from command.own_paths()

    def rows(self) -> dict[str, Command]:
        """Return the rows of the commands of plugins, by name."""
        from tallystick.plugins.commands import installed_commands

        own = self.own_names()
        rows = installed_commands().below(self.path)
        return {name: row for name, row in rows.items() if name not in own}

    def _first_examples(self) -> Iterator[str]:
        rows = self.rows()
        for name in sorted({*self.commands, *rows}):
            if name in rows:
                yield from rows[name].example.splitlines()
            else:
                yield from first_example(self.commands[name])


class _Offered(click.Group):
    """A group of a plugin as completion shows it: by the row, until a word below it is resolved."""

    def __init__(self, name: str, row: Command) -> None:
        super().__init__(row.path[-1])
        self._name, self._row = name, row

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return [*self._row.below]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        group = finished(_imported(self._name, self._row), self._row.path)
        return group.get_command(ctx, cmd_name) if isinstance(group, click.Group) else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return _completed(dict.fromkeys(self._row.below, ""), self, ctx, incomplete)


def finished(command: click.Command, path: tuple[str, ...]) -> click.Command:
    """Return a command with the options of plugins and with those of every command."""
    if isinstance(command, ExtensibleCommand):
        command.extend(path)
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            finished(inner, (*path, name))
    return complete(command)


def _completed(
    sentences: Mapping[str, str], group: click.Group, ctx: click.Context, incomplete: str
) -> list[CompletionItem]:
    """Return the commands and the options of a group that complete a word."""
    from click.shell_completion import CompletionItem  # for a shell alone

    words = [
        CompletionItem(name, help=sentence or None)
        for name, sentence in sentences.items()
        if name.startswith(incomplete)
    ]
    return words + click.Command.shell_complete(group, ctx, incomplete)


def _imported(name: str, row: Command) -> click.Command:
    from tallystick.plugins.commands import value_of

    command = value_of(name, row.home)
    if not isinstance(command, click.Command):
        raise PluginError(
            f"plugin {name!r}: found {command!r} at {row.home}, expected a command of click: fix "
            "the plugin, or uninstall it"
        )
    return command
