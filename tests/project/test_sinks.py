"""Text goes to the standard streams at one place, which makes it printable."""

import ast
from collections.abc import Iterator

import pytest
from packages import CORE, PACKAGES, folder_of, sources

SHOWN = "cli/shown.py"
OF_CLICK = {
    "echo",
    "secho",
    "echo_via_pager",
    "prompt",
    "confirm",
    "get_text_stream",
    "progressbar",
}
ALLOWED = {
    "click": {SHOWN},
    "rich": {SHOWN, "cli/progress.py"},
    "print": set[str](),
    "stream": {
        SHOWN,
        # data that was asked for on a stream, as bytes
        "io/streams.py",
        # sets the streams up, and gives them up
        "cli/main.py",
        # asks whether there is an error output
        "cli/log.py",
        # answers its parent process, as bytes
        "tallystick_governance/prove/process.py",
        # keep what a plugin prints out of what is shown
        "plugins/registry.py",
        "plugins/entries.py",
        "plugins/commands.py",
        "tallystick_conformance/loading.py",
    },
}
"""What can write text, and the modules that may have it."""


def writes(source: str) -> Iterator[str]:
    """What a source has of ``ALLOWED``."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                yield from _of(module, {name.strip("_")})
            case ast.ImportFrom(module=str(module), names=names):
                yield from _of(module, {each.name for each in names})
            case ast.Import(names=names):
                yield from (what for each in names for what in _of(each.name, set()))
            case ast.Call(func=ast.Name(id="print")):
                yield "print"


def _of(module: str, names: set[str]) -> Iterator[str]:
    if module == "click" and names & OF_CLICK:
        yield "click"
    if module == "sys" and names & {"stdout", "stderr"}:
        yield "stream"
    if module.partition(".")[0] == "rich":
        yield "rich"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_other_module_writes_text_to_a_stream(package: str) -> None:
    folder = folder_of(package) if package == CORE else folder_of(package).parent
    past = {
        (module, what)
        for path in sources(package)
        for what in writes(path.read_text())
        if (module := path.relative_to(folder).as_posix()) not in ALLOWED[what]
    }
    assert not past, f"write by echo, print_json or print_table of {SHOWN}"


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import click\nclick.echo('x')", "click"),
        ("from click import secho", "click"),
        ("print('x')", "print"),
        ("import sys\nsys.stderr.write('x')", "stream"),
        ("import sys\nsys.__stdout__.write('x')", "stream"),
        ("from sys import stdout", "stream"),
        ("from rich.console import Console", "rich"),
        ("import rich", "rich"),
    ],
)
def test_a_write_is_seen(source: str, what: str) -> None:
    assert list(writes(source)) == [what]
