"""What commands share in showing values: JSON for machines, tables for people."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from tallystick.cli.settings import Setting

if TYPE_CHECKING:
    from rich.console import Console

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
"""The option that every command has."""
rules_option = click.option(
    "--rules",
    "reference",
    cls=Setting,
    key="rules",
    required=True,
    metavar="RULES",
    help="name@version, a path or a digest; pin one with @sha256:…",
)
"""The option that names a rule set."""


def print_json(value: object) -> None:
    """Print a JSON value, indented; where the output is not Unicode, in ASCII."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    narrow = not encoding.lower().startswith("utf")
    click.echo(json.dumps(value, indent=2, ensure_ascii=narrow))


def console() -> Console:
    """A console as wide as the terminal, and wide enough for tables where there is none."""
    from rich.console import Console  # noqa: PLC0415  # 17 ms that not every command needs

    found = Console(highlight=False, markup=False)
    return found if found.is_terminal else Console(highlight=False, markup=False, width=120)
