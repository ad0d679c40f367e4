"""What commands share in showing values: JSON for machines, tables for people."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from tallystick.errors import RecordError, RefusedError, RuleSetError, TallystickError

if TYPE_CHECKING:
    from rich.console import Console

    from tallystick.diagnostics import Diagnostic

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
"""The option that every command has."""
rules_option = click.option(
    "--rules",
    "reference",
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


def error_dict(error: TallystickError) -> dict[str, Any]:
    """An error as JSON values."""
    found: dict[str, Any] = {"error": type(error).__name__, "message": str(error)}
    if isinstance(error, RuleSetError):
        found["problems"] = [_problem(each) for each in error.problems]
    if isinstance(error, RecordError):
        found |= {name: getattr(error, name) for name in ("code", "path", "value", "expected")}
    if isinstance(error, RefusedError):
        names = "line", "code", "path", "value", "expected"
        found["refusals"] = [{n: getattr(each, n) for n in names} for each in error.refusals]
    return found


def _problem(found: Diagnostic) -> dict[str, Any]:
    return {"file": found.file, "line": found.line, "path": found.path, **found.evidence}


def console() -> Console:
    """A console as wide as the terminal, and wide enough for tables where there is none."""
    from rich.console import Console  # noqa: PLC0415  # 17 ms that not every command needs

    found = Console(highlight=False, markup=False)
    return found if found.is_terminal else Console(highlight=False, markup=False, width=120)
