"""Every command is on a page with its options in its help, and every page is on the front page."""

import re

import click
from cli.command import walk
from manual.page import Page, pages

from tallystick.cli.main import cli

_COMMANDS = {
    " ".join(path): command for path, command in walk(cli) if not isinstance(command, click.Group)
}
_OF_EVERY_COMMAND = [
    *(["--json"], ["--memory"], ["-v", "--verbose"]),
    *(["--log-json"], ["--no-settings"], ["--settings"]),
]


_NAMED = {
    words.rstrip()
    for name in pages()
    for words in re.findall(r"\btallystick (?=((?:[a-z-]+\b ?)+))", Page.of(name).text)
}
"""Words behind the name of the program on the pages, as far as they look like commands."""


def test_every_command_is_documented() -> None:
    named = [f"{words} " for words in _NAMED]
    assert [c for c in _COMMANDS if not any(w.startswith(f"{c} ") for w in named)] == []


def test_every_option_has_a_help_text() -> None:
    """The command reference is made of these texts, so that pages need not list options again."""
    lacking = {
        (name, *option.opts)
        for name, command in _COMMANDS.items()
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden and not option.help
    }
    assert lacking == set()


def test_the_options_that_every_command_takes_are_documented() -> None:
    for name, command in _COMMANDS.items():
        found = [each.opts for each in command.params]
        assert all(each in found for each in _OF_EVERY_COMMAND if each[1:] != ["--verbose"]), name
        assert any("--verbose" in each for each in found), name
    for options in _OF_EVERY_COMMAND:
        assert all(f"`{name}`" in Page.of("docs/command-line.md").prose for name in options)


def test_every_page_is_on_the_front_page() -> None:
    links = {link.partition("#")[0] for link in Page.of("docs/index.md").links()}
    assert {name.removeprefix("docs/") for name in pages()} - links == {"index.md"}


def test_the_readme_leads_to_the_front_page_and_the_first_pages_of_each_role() -> None:
    doors = {"index", "quick-start-validator", "governance", "tutorial"}
    assert {f"docs/{name}.md" for name in doors} <= set(Page.of("README.md").links())
