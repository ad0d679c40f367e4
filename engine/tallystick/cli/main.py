"""The entry point: commands by name, loaded when they are used, and errors as one line each.

Exit status: 0 done; 1 something was rejected or found; 2 wrong use, or nothing could be done.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

import click

from tallystick.errors import TallystickError

if TYPE_CHECKING:
    from collections.abc import Mapping


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for, so that help starts fast."""

    homes: Mapping[str, tuple[str, str]] = {
        "demo": ("tallystick.cli.demo:demo", "Score the bundled examples of every skill type."),
        "explain": ("tallystick.cli.explain:explain", "Show every step behind one score."),
        "plugins": ("tallystick.cli.plugins:plugins", "The installed plugins."),
        "rules": ("tallystick.cli.rules:rules", "Rule sets: list, show, check, digest."),
        "score": ("tallystick.cli.score:score", "Score a file of records."),
    }

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """The names of the commands."""
        return sorted(self.homes)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        """The command of a name."""
        if cmd_name not in self.homes:
            return None
        module, _, attribute = self.homes[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # click's signature
        """The commands with their help, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.homes[name][1]) for name in sorted(self.homes)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("tallystick"), message="tallystick %(version)s")
def cli() -> None:
    """Exact, explainable scoring rules for decentralised subnets."""


def main() -> None:
    """Run the command line; a user's mistake is a message and an exit status, never a traceback."""
    try:
        cli(prog_name="tallystick")
    except TallystickError as error:
        _complain(error)
        sys.exit(2)


def _complain(error: TallystickError) -> None:
    if "--json" in sys.argv:
        from tallystick.cli.shown import error_dict, print_json  # noqa: PLC0415

        print_json(error_dict(error))
    click.echo(f"error: {error}", err=True)
