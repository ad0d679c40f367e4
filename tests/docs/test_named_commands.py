"""Every command that a page names, in its text or a block, is there, with its options."""

import re
from collections.abc import Iterator

import click
from manual.page import Page, pages

from tallystick.cli.main import cli

# what stands for a word of the reader's: RULES, FILE, …
_PLACEHOLDER = re.compile(r"[A-Z_]+\d*|…|\.\.\.")
_OPTION = re.compile(r"--?[a-z][a-z0-9-]*")
# a command of a block, up to what a shell does with it
_COMMAND = re.compile(r"(?:^|\s|/)(tallystick [^|&;>#)\n]*)")
_PAGES = ("README.md", *pages())
_NO_COMMANDS = {"tallystick 0.1.0"}
"""Spans that begin like a command and are none: the name and version of a distribution."""
_OF_ITS_PLUGIN = {"docs/extending.md": {"reviews", "--agreed"}}
"""Words of the commands and options that a page builds by itself."""


def _named(name: str) -> Iterator[tuple[str, ...]]:
    page = Page.of(name)
    blocks = (block.text for block in page.blocks() if block.language in {"sh", "bash"})
    lines = _COMMAND.findall("\n".join(blocks).replace("\\\n", " "))
    for span in (*page.spans(), *(line.strip() for line in lines)):
        words = tuple(span.split())
        if words[:1] != ("tallystick",) or len(words) == 1 or span in _NO_COMMANDS:
            continue
        yield words[1:]


def _checked(words: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
    """The command that words begin with, and those of its words that it lacks."""
    command: click.Command = cli
    context, path = click.Context(cli, **cli.context_settings), list[str]()
    for word in words:
        if not isinstance(command, click.Group) or word.startswith("-"):
            break
        if _PLACEHOLDER.fullmatch(word):
            break
        inner = command.get_command(context, word)
        if inner is None:
            return tuple(path), [word]
        command, path = inner, [*path, word]
        context = click.Context(command, parent=context)
    known = {name for param in command.get_params(context) for name in param.opts}
    options = [option for word in words for option in _OPTION.findall(word)[:1] if word[0] == "-"]
    return tuple(path), [option for option in options if option not in known | {"-h", "--version"}]


NAMED = sorted({(name, words) for name in _PAGES for words in _named(name)})


def test_a_page_names_commands_and_options_that_are_there() -> None:
    lacking = {
        (name, words): {*_checked(words)[1]} - _OF_ITS_PLUGIN.get(name, set())
        for name, words in NAMED
    }
    assert {place: words for place, words in lacking.items() if words} == {}
