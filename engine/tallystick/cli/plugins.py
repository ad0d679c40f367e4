"""``tallystick plugins``: what is installed, and what of it is refused."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.command import examples
from tallystick.cli.log import tell_refusal
from tallystick.cli.open_group import OpenGroup, records
from tallystick.cli.plugin_options import ExtensibleCommand, PluginOption
from tallystick.cli.rows import installed_commands
from tallystick.cli.shown import echo, print_json, wants_json
from tallystick.errors import PluginError
from tallystick.plugins.entries import (
    GROUP,
    PROJECT,
    SECTIONS,
    Extensions,
    distribution_of,
    every_installed_entry,
    imported,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from importlib.metadata import EntryPoint

    from tallystick.plugins.commands import CommandOption
    from tallystick.plugins.registry import Plugin

_ABOUT = ("name", "distribution", "version", "code")
"""Keys of a plugin that are about it; the others list what it offers, by kind."""


@click.group(cls=OpenGroup, path=("plugins",))
def plugins() -> None:
    """List, start and check plugins."""


@plugins.command(
    "list",
    epilog=examples(
        "tallystick plugins list",
    ),
)
def list_command() -> None:
    """List every plugin with what it offers; exit status 1 if one was refused."""
    from tallystick.plugins.code import engine_digest
    from tallystick.plugins.registry import installed

    registry = installed()
    rows = [_row(plugin) for plugin in registry.plugins.values()]
    reasons = [*registry.refused.items(), *_refused_beside()]
    refused = [{"name": name, "reason": why} for name, why in reasons]
    if wants_json():
        print_json({"engine": engine_digest(), "plugins": rows, "refused": refused})
    else:
        for row in rows:
            echo(f"{row['name']}  ({row['distribution']} {row['version']})")
            echo(f"    code: {row['code'] or 'in no files, so that no digest covers it'}")
            for kind in (key for key in row if key not in _ABOUT):
                echo(f"    {kind.replace('_', ' ')}: {', '.join(row[kind]) or 'none'}")
        for refusal in refused:
            tell_refusal(f"{refusal['name']}  refused: {refusal['reason']}")
    sys.exit(1 if refused else 0)


def _refused_beside() -> Iterator[tuple[str, str]]:
    """Yield why commands, sections, lints and the like are not used, by their names."""
    from tallystick.plugins import commands
    from tallystick.rules.section import load_section
    from tallystick.scoring import lint

    loaders: Mapping[str, Callable[[EntryPoint], object]] = {
        SECTIONS: load_section,
        lint.GROUP: lint.load_lints,
    }
    for group in sorted({entry.group for entry in every_installed_entry()} - {GROUP}):
        if group == commands.GROUP:
            reasons = _refused_commands()
        else:
            load = loaders.get(group, imported)
            reasons = Extensions[object].installed(group, load).loaded()[1].items()
        yield from ((name, f"{_kind(group)}: {why}") for name, why in reasons)


def _refused_commands() -> Iterable[tuple[str, str]]:
    """Return the reasons why rows of commands are not used, by the names of their plugins."""
    from tallystick.cli.rules import rules

    whole, table = click.get_current_context().find_root().command, installed_commands()
    yield from table.refused.items()
    for group in (plugins, records, rules):
        for path in ((*group.path, name) for name in group.commands):
            if (taken := table.find(path)) is not None:
                words = " ".join(path)
                yield (
                    taken[0],
                    f"found the command {words} of the engine: rename yours",
                )
    for name, row in table.options():
        if not table.is_own(name) and (why := _refused_option(row, whole)):
            yield name, why


def _refused_option(row: CommandOption, whole: click.Command) -> str:
    """Return why an option of a plugin is not used; empty where it is."""
    words, command = " ".join(row.command), whole
    for word in row.command:
        context = click.Context(command)
        try:
            below = command.get_command(context, word) if isinstance(command, click.Group) else None
        except PluginError:
            return ""  # the plugin of the command is told by itself
        if below is None:
            return f"found the option {row.flag} of {words}, expected one of a command that exists"
        command = below
    if not isinstance(command, ExtensibleCommand):
        return f"found the option {row.flag} of {words}, which takes no options of plugins"
    others = (p for p in command.params if not (isinstance(p, PluginOption) and p.row == row))
    if any(row.flag in param.opts for param in others):
        return f"found the option {row.flag} of {words} itself, which is used: rename yours"
    return ""


def _row(plugin: Plugin) -> dict[str, Any]:
    from tallystick.plugins.code import plugin_digest

    row = {
        "name": plugin.name,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "code": plugin_digest(plugin.module),
        "skill_types": [skill_type.name for skill_type in plugin.skill_types],
        "formulas": [formula.name for formula in plugin.formulas],
        "requirements": [requirement.name for requirement in plugin.requirements],
    }
    beside: dict[str, list[str]] = {}
    for entry in every_installed_entry():
        # what the engine's own distribution offers is of no plugin
        if entry.group != GROUP and distribution_of(entry) == plugin.distribution != PROJECT:
            beside.setdefault(_kind(entry.group), []).append(entry.name)
    return row | {kind: sorted(beside[kind]) for kind in sorted(beside)}


def _kind(group: str) -> str:
    return group.removeprefix(f"{PROJECT}.")
