"""``tallystick plugins new``: a complete plugin project to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.shown import as_json, print_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tallystick.conformance.project import Project

_NEXT = ("pip install --editable '.[test]'", "pytest", "tallystick plugins check .")


@click.command("new")
@click.argument("name")
@click.option("--type", "skill_type", metavar="T", help="The skill type; by default from NAME.")
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="The folder of the project, new or empty; by default NAME.",
)
@as_json
def new_command(name: str, skill_type: str | None, output: Path | None, as_json: bool) -> None:
    """Write a plugin project that works: a skill type, formulas, a rule set and tests.

    NAME is that of the plugin and of its distribution, such as acme-translation: lower-case
    letters, digits and hyphens.
    """
    from tallystick.conformance.project import files_of, project  # noqa: PLC0415  # heavy

    wanted = project(name, skill_type)
    _refuse_taken(wanted)
    folder = Path(name) if output is None else output
    files = files_of(wanted)
    _write(files, folder)
    if as_json:
        print_json({"project": str(folder), "files": sorted(files)})
    else:
        click.echo(f"{name}: {len(files)} files in {folder}")
        click.echo("\n".join(["next, in that folder:", *(f"    {each}" for each in _NEXT)]))


def _refuse_taken(wanted: Project) -> None:
    from importlib.metadata import entry_points, packages_distributions  # noqa: PLC0415  # heavy

    from tallystick.conformance.project import refuse_taken  # noqa: PLC0415  # as above
    from tallystick.plugins.registry import GROUP, installed  # noqa: PLC0415  # as above

    plugins = {entry.name for entry in entry_points(group=GROUP)}
    refuse_taken(wanted, installed(), plugins, packages_distributions().keys())


def _write(files: Mapping[str, str], folder: Path) -> None:
    """Write a folder, whole or not at all."""
    from tallystick.io.atomic import atomic_folder, output_errors  # noqa: PLC0415  # heavy

    _refuse_place(folder)
    with atomic_folder(folder, ()) as new, output_errors(folder):
        for path, text in files.items():
            place = new / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8", newline="\n")


def _refuse_place(folder: Path) -> None:
    """Refuse a folder that holds something, or that the new one would pull from under the user."""
    from tallystick.errors import OutputError  # noqa: PLC0415  # as above
    from tallystick.io.atomic import output_errors  # noqa: PLC0415  # as above

    with output_errors(folder):
        first = min((p.name for p in folder.iterdir()), default=None) if folder.is_dir() else None
        here = folder.exists() and Path.cwd().is_relative_to(folder.resolve())
    if first is not None:
        raise OutputError(
            f"{folder}: found {first!r} in the folder, expected a new or an empty one: name "
            "another with --output"
        )
    if here:
        raise OutputError(
            f"{folder}: found the folder in which you are, expected a new one: name one in it"
        )
