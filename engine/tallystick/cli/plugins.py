"""``tallystick plugins``: what is installed, and what was refused."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.plugin_check import check_command
from tallystick.cli.plugin_new import new_command
from tallystick.cli.shown import as_json, print_json

if TYPE_CHECKING:
    from tallystick.plugins.registry import Plugin


@click.group()
def plugins() -> None:
    """The installed plugins."""


plugins.add_command(check_command)
plugins.add_command(new_command)


@plugins.command("list")
@as_json
def list_command(as_json: bool) -> None:
    """Every plugin with what it offers; exit status 1 if one was refused."""
    from tallystick.plugins.registry import installed  # noqa: PLC0415  # heavy

    registry = installed()
    rows = [_row(plugin) for plugin in registry.plugins.values()]
    refused = [{"name": name, "reason": why} for name, why in registry.refused.items()]
    if as_json:
        print_json({"plugins": rows, "refused": refused})
    else:
        for row in rows:
            click.echo(f"{row['name']}  ({row['distribution']} {row['version']})")
            click.echo(f"    skill types: {', '.join(row['skill_types']) or 'none'}")
            click.echo(f"    formulas: {', '.join(row['formulas']) or 'none'}")
            click.echo(f"    requirements: {', '.join(row['requirements']) or 'none'}")
        for each in refused:
            click.echo(f"{each['name']}  refused: {each['reason']}", err=True)
    sys.exit(1 if refused else 0)


def _row(plugin: Plugin) -> dict[str, Any]:
    return {
        "name": plugin.name,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "skill_types": [skill_type.name for skill_type in plugin.skill_types],
        "formulas": [formula.name for formula in plugin.formulas],
        "requirements": [requirement.name for requirement in plugin.requirements],
    }
