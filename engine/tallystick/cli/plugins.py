"""``tallystick plugins``: what is installed, a new project, whether to trust one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.log import tell_refusal
from tallystick.cli.progress import working
from tallystick.cli.shown import as_json, echo, follow_links_option, print_json
from tallystick.errors import MOST_TOLD
from tallystick.numbers.text import numbered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tallystick.plugins.registry import Plugin
    from tallystick_conformance.project import Project
    from tallystick_conformance.report import Report

_NEXT = ("pip install --editable '.[test]'", "pytest", "tallystick plugins check .")
_PARTS = ("tiers", "emission", "allocation", "reputation")
"""As ``conformance.project.PARTS``, which is heavy to import."""
_OF_PLUGIN = (
    *("name", "distribution", "version", "code"),
    *("skill_types", "formulas", "requirements"),
)
"""What is listed of a plugin; what else its distribution offers stands after it, by group."""
_LONGEST = 400
"""The longest example that is shown in full."""


@click.group(cls=CommandGroup)
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
            for kind in (key for key in row if key not in _OF_PLUGIN):
                echo(f"    {kind}: {', '.join(row[kind])}")
        for each in refused:
            tell_refusal(f"{each['name']}  refused: {each['reason']}")
    sys.exit(1 if refused else 0)


def _row(plugin: Plugin) -> dict[str, Any]:
    from tallystick.plugins.code import plugin_digest  # noqa: PLC0415  # as above
    from tallystick.plugins.entries import offers_beside_plugins  # noqa: PLC0415  # as above

    row = {
        "name": plugin.name,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "code": plugin_digest(plugin.module),
        "skill_types": [skill_type.name for skill_type in plugin.skill_types],
        "formulas": [formula.name for formula in plugin.formulas],
        "requirements": [requirement.name for requirement in plugin.requirements],
    }
    beside = offers_beside_plugins(plugin.distribution)
    return row | {kind: list(names) for kind, names in beside.items() if kind not in row}


@plugins.command(
    "new",
    epilog=examples(
        "tallystick plugins new acme-translation",
        "tallystick plugins new acme-translation --type translation -o work/acme",
        "tallystick plugins new acme-translation --with emission,allocation",
    ),
)
@click.argument("name")
@click.option("--type", "skill_type", metavar="T", help="The skill type; by default from NAME.")
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="The folder of the project, new or empty; by default NAME.",
)
@click.option(
    "--with",
    "parts",
    metavar="PARTS",
    default=",".join(_PARTS),
    show_default=True,
    help="What its rule set has beside scores, separated by commas; none: nothing.",
)
@follow_links_option
@as_json
def new_command(  # noqa: PLR0913, PLR0917  # click passes each option by name
    name: str,
    skill_type: str | None,
    output: Path | None,
    parts: str,
    follow_links: bool,
    as_json: bool,
) -> None:
    """Write a plugin project that works: a skill type, formulas, a rule set that pays, tests.

    NAME is that of the plugin and of its distribution, such as acme-translation: lower-case
    letters, digits and hyphens.
    """
    from tallystick_conformance.project import files_of, project  # noqa: PLC0415  # heavy

    chosen = [] if parts == "none" else [each.strip() for each in parts.split(",")]
    wanted = project(name, skill_type, chosen)
    _refuse_taken(wanted)
    folder = Path(name) if output is None else output
    files = files_of(wanted)
    _write(files, folder, follow_links)
    if as_json:
        print_json({"project": str(folder), "files": sorted(files)})
    else:
        echo(f"{name}: {len(files)} files in {folder}")
        echo("next, in that folder:", *(f"    {each}" for each in _NEXT))


def _refuse_taken(wanted: Project) -> None:
    from importlib.metadata import entry_points, packages_distributions  # noqa: PLC0415  # heavy

    from tallystick.plugins.entries import GROUP  # noqa: PLC0415  # as above
    from tallystick.plugins.registry import installed  # noqa: PLC0415  # as above
    from tallystick_conformance.project import refuse_taken  # noqa: PLC0415  # as above

    plugins = {entry.name for entry in entry_points(group=GROUP)}
    refuse_taken(wanted, installed(), plugins, packages_distributions().keys())


def _write(files: Mapping[str, str], folder: Path, follow_links: bool) -> None:
    """Write a folder, whole or not at all."""
    from tallystick.io.atomic import (  # noqa: PLC0415  # heavy
        atomic_folder,
        output_errors,
        output_path,
    )

    _refuse_place(folder)
    place = output_path(folder, follow_links=follow_links)
    with atomic_folder(place, ()) as new, output_errors(folder):
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


@plugins.command(
    "check",
    epilog=examples(
        "tallystick plugins check acme-translation",
        "tallystick plugins check . --record",
        "tallystick plugins check . --reset-unreleased",
    ),
)
@click.argument("target", metavar="PATH-OR-NAME")
@click.option("--record", is_flag=True, help="Add new formulas to released.json, if all is well.")
@click.option(
    "--reset-unreleased",
    "reset",
    is_flag=True,
    help="Record again what was recorded under the version that the project still has.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=300,
    show_default=True,
    help="How long it may take.",
)
@as_json
def check_command(target: str, record: bool, reset: bool, seconds: float, as_json: bool) -> None:
    """Check an installed plugin, or the project in a folder, in a process of its own.

    --record keeps every line of released.json that is there. --reset-unreleased also replaces or
    removes those of formulas that no published version of the project has. The exit status is 1 if
    something was found, and 2 if there is no such plugin.
    """
    from tallystick_conformance.process import check  # noqa: PLC0415  # heavy

    with working("checking"):
        report = check(target, seconds=seconds, record=record, reset=reset)
    if as_json:
        print_json(report.to_dict())
    else:
        echo(*lines(report, record=record or reset))
    sys.exit(0 if report.passed else 1)


def lines(report: Report, *, record: bool = False) -> Iterator[str]:
    """A report as text: a block for each finding, and a line in the end."""
    from tallystick_conformance.report import lines_of  # noqa: PLC0415  # only when it is used

    for found in report.findings[:MOST_TOLD]:
        yield from lines_of(found, _LONGEST)
        yield ""
    if len(report.findings) > MOST_TOLD:
        yield f"and {len(report.findings) - MOST_TOLD} more: --json has all of them"
        yield ""
    for name in report.recorded:
        yield f"recorded {name}"
    for name in report.removed:
        yield f"removed {name}"
    count = len(report.findings)
    if count:
        yield f"{report.plugin} fails: {numbered(count, 'finding')}"
        if record:
            yield "nothing was recorded: fix the findings first"
        return
    yield (
        f"{report.plugin} passes: {numbered(len(report.checked), 'check')}, "
        f"{numbered(report.formulas, 'formula')}, {numbered(report.skill_types, 'skill type')}"
    )
