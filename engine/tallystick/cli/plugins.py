"""``tallystick plugins``: what is installed, and what of it is refused."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.command import examples
from tallystick.cli.log import tell_refusal
from tallystick.cli.open_group import OpenGroup
from tallystick.cli.shown import as_json, echo, print_json

if TYPE_CHECKING:
    from tallystick.plugins.registry import Plugin


@click.group(cls=OpenGroup, path=("plugins",))
def plugins() -> None:
    """The installed plugins."""


@plugins.command(
    "list",
    epilog=examples(
        "tallystick plugins list",
    ),
)
@as_json
def list_command(as_json: bool) -> None:
    """Every plugin with what it offers; exit status 1 if one was refused."""
    from tallystick.plugins.code import engine_digest  # noqa: PLC0415  # heavy
    from tallystick.plugins.registry import installed  # noqa: PLC0415  # heavy

    registry = installed()
    rows = [_row(plugin) for plugin in registry.plugins.values()]
    refused = [{"name": name, "reason": why} for name, why in registry.refused.items()]
    if as_json:
        print_json({"engine": engine_digest(), "plugins": rows, "refused": refused})
    else:
        for row in rows:
            echo(f"{row['name']}  ({row['distribution']} {row['version']})")
            echo(f"    code: {row['code'] or 'in no files, so that no digest covers it'}")
            echo(f"    skill types: {', '.join(row['skill_types']) or 'none'}")
            echo(f"    formulas: {', '.join(row['formulas']) or 'none'}")
            echo(f"    requirements: {', '.join(row['requirements']) or 'none'}")
            if "exports" in row:
                echo(f"    exports: {', '.join(row['exports'])}")
        for each in refused:
            tell_refusal(f"{each['name']}  refused: {each['reason']}")
    sys.exit(1 if refused else 0)


def _row(plugin: Plugin) -> dict[str, Any]:
    from tallystick.plugins.code import plugin_digest  # noqa: PLC0415  # as above

    exports = [export.name for export in plugin.exports]
    return {
        "name": plugin.name,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "code": plugin_digest(plugin.module),
        "skill_types": [skill_type.name for skill_type in plugin.skill_types],
        "formulas": [formula.name for formula in plugin.formulas],
        "requirements": [requirement.name for requirement in plugin.requirements],
        **({"exports": exports} if exports else {}),
    }
