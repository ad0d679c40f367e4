"""``tallystick plugins new``: a new project of a plugin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import command, examples
from tallystick.cli.options import follow_links_option, output_option
from tallystick.cli.shown import show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tallystick_conformance.project import Project

_NEXT = ("pip install --editable '.[test]'", "pytest", "tallystick plugins check .")
_PARTS = ("tiers", "emission", "allocation", "reputation")
"""A copy of ``conformance.project.PARTS``, whose module is heavy to import."""


@command(
    "new",
    epilog=examples(
        "tallystick plugins new acme-translation",
        "tallystick plugins new acme-translation --type translation -o work/acme",
        "tallystick plugins new acme-translation --with emission,allocation",
    ),
)
@click.argument("name")
@click.option("--type", "skill_type", metavar="T", help="The skill type; by default from NAME.")
@output_option(
    "The folder of the project, new or empty; by default NAME.", required=False, metavar="FOLDER"
)
@click.option(
    "--with",
    "parts",
    metavar="PARTS",
    default=",".join(_PARTS),
    show_default=True,
    help="Parts of its rule set beside scores, separated by commas; none for no other part.",
)
@follow_links_option
def new_command(
    name: str,
    skill_type: str | None,
    output: Path | None,
    parts: str,
    follow_links: bool,
) -> None:
    """Write a plugin project that works: a skill type, formulas, a rule set that pays, tests.

    NAME is that of the plugin and of its distribution, such as acme-translation: lower-case
    letters, digits and hyphens.
    """
    from tallystick_conformance.project import files_of, project

    chosen = [] if parts == "none" else [line.strip() for line in parts.split(",")]
    wanted = project(name, skill_type, chosen)
    _refuse_taken(wanted)
    folder = Path(name) if output is None else output
    files = files_of(wanted)
    with new_folder(folder, follow_links=follow_links) as new:
        write_files(files, new)
    steps = (f"    {line}" for line in _NEXT)
    lines = [f"{name}: {len(files)} files in {folder}", "next, in that folder:", *steps]
    show({"project": str(folder), "files": sorted(files)}, lines)


def _refuse_taken(wanted: Project) -> None:
    from importlib.metadata import packages_distributions

    from tallystick.plugins.entries import GROUP, installed_entries
    from tallystick.plugins.registry import installed
    from tallystick_conformance.project import refuse_taken

    plugins = {entry.name for entry in installed_entries(GROUP)}
    refuse_taken(wanted, installed(), plugins, packages_distributions().keys())


@contextmanager
def new_folder(folder: Path, *, follow_links: bool) -> Iterator[Path]:
    """Yield a folder to fill, which is then there whole or not at all.

    Raises:
        OutputError: it cannot be written, or holds something.
    """
    from tallystick.io.atomic import atomic_folder, output_errors, output_path

    _refuse_place(folder)
    target = output_path(folder, follow_links=follow_links)
    with atomic_folder(target, ()) as new, output_errors(folder):
        yield new


def write_files(files: Mapping[str, str], folder: Path) -> None:
    """Write files by their paths in a folder."""
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")


def _refuse_place(folder: Path) -> None:
    """Refuse a folder that holds something, or that the new one would pull from under the user."""
    from tallystick.errors import OutputError
    from tallystick.io.atomic import output_errors

    with output_errors(folder):
        first = min((p.name for p in folder.iterdir()), default=None) if folder.is_dir() else None
        here = folder.exists() and Path.cwd().is_relative_to(folder.resolve())
    if first is not None:
        raise OutputError(
            f"{folder}: found {first!r} in the folder, expected a new or an empty one: name another"
        )
    if here:
        raise OutputError(
            f"{folder}: found the folder in which you are, expected a new one: name one in it"
        )
