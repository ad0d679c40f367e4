"""Every command is on a page, and every page is in the README."""

import re
from collections.abc import Iterator

import click
import pytest
from manual.page import Page, pages

from tallystick.cli.main import LazyGroup


def _commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))
        else:
            yield " ".join((*path, name))


@pytest.mark.parametrize("command", list(_commands(LazyGroup(name="tallystick"))))
def test_every_command_is_documented(command: str) -> None:
    text = "\n".join(Page.of(name).text for name in pages())
    assert re.search(rf"\btallystick {command}\b", text)


def test_there_are_commands_of_every_group() -> None:
    found = {command.split()[0] for command in _commands(LazyGroup(name="tallystick"))}
    assert found == LazyGroup.homes.keys()


@pytest.mark.parametrize("name", pages())
def test_every_page_is_in_the_readme(name: str) -> None:
    assert name in {link.partition("#")[0] for link in Page.of("README.md").links()}
