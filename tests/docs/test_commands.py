"""Every command is on a page, and every page is on the front page, which the README links."""

import re
from collections.abc import Iterator

import click
from manual.options import OF_EVERY_COMMAND
from manual.page import Page, pages

from tallystick.cli.main import cli


def _commands(
    group: click.Group, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group, **cli.context_settings)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


_COMMANDS = dict(_commands(cli))


_OF_EVERY_COMMAND = [list(names) for names in OF_EVERY_COMMAND]


_PAGES = {name: Page.of(name).text for name in pages()}


_NAMED = {
    name: {*re.findall(r"\btallystick (?=((?:[a-z-]+\b ?)+))", text)}
    for name, text in _PAGES.items()
}
"""Words behind the name of the program on each page, as far as they look like commands."""


def _text_about(command: str) -> str:
    """Return the text of the pages that name a command."""
    return "\n".join(
        text
        for name, text in _PAGES.items()
        if any(f"{words.rstrip()} ".startswith(f"{command} ") for words in _NAMED[name])
    )


def test_every_command_is_documented() -> None:
    assert [command for command in _COMMANDS if not _text_about(command)] == []


def test_every_option_of_a_command_is_documented() -> None:
    lacking = {}
    for name, command in _COMMANDS.items():
        text = _text_about(name)
        options = [p.opts for p in command.params if isinstance(p, click.Option)]
        own = [flags for flags in options if flags not in _OF_EVERY_COMMAND]
        lacking[name] = [flags for flags in own if not _names_one(text, flags)]
    assert {name: flags for name, flags in lacking.items() if flags} == {}


def _names_one(text: str, options: list[str]) -> bool:
    """Whether a text has an option under one of its names."""
    return any(re.search(rf"(?<![\w-]){name}(?![\w-])", text) for name in options)


def test_the_options_that_every_command_takes_are_documented() -> None:
    for name, command in _COMMANDS.items():
        found = [each.opts for each in command.params]
        assert all(each in found for each in _OF_EVERY_COMMAND if each[1:] != ["--verbose"]), name
        assert any("--verbose" in each for each in found), name
    assert "Every command takes `--json`" in Page.of("docs/records.md").prose
    for options in _OF_EVERY_COMMAND:
        assert all(f"`{name}`" in Page.of("docs/command-line.md").prose for name in options)


def test_every_page_is_on_the_front_page() -> None:
    links = {link.partition("#")[0] for link in Page.of("docs/index.md").links()}
    assert {name.removeprefix("docs/") for name in pages()} - links == {"index.md"}


def test_the_readme_leads_to_the_front_page_and_the_quick_starts() -> None:
    doors = [name for name in pages() if name.startswith("docs/quick-start-")]
    assert {"docs/index.md", *doors} <= set(Page.of("README.md").links())
