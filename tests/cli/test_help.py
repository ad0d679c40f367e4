"""The help of every command: whole, with examples that are commands."""

import re
import shlex
from collections.abc import Iterator

import click
import pytest
from cli.command import command_of, run, walk

from tallystick.cli.command import first_sentence
from tallystick.cli.main import cli

COMMANDS = dict(walk(cli))


def words(text: str) -> str:
    """A text without white space, which a narrow terminal breaks also after a hyphen."""
    return "".join(text.split())


@pytest.mark.parametrize("width", ["40", "80", "200"])
def test_no_help_is_cut_off(width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what a command says of itself, nor what a group says of it, nor an option."""
    monkeypatch.setenv("COLUMNS", width)
    for path, command in COMMANDS.items():
        shown = words(run(*path, "--help").out)
        assert "..." not in re.sub(r"[A-Z]\]?\.\.\.", "", shown), path
        assert words(command.help or "") in shown.replace("\b", ""), path
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert words(option.help or "") in shown, (path, option.name)


def test_a_group_says_the_first_sentence_of_each_command() -> None:
    for path, command in COMMANDS.items():
        group = COMMANDS[path[:-1]]
        if not path or group is cli:
            continue
        shown = words(run(*path[:-1], "--help").out)
        sentence = first_sentence(command.help or "")
        assert sentence, path
        assert words(f"{path[-1]} {sentence}") in shown, path


def test_the_first_sentence_is_one_of_several() -> None:
    text = "\n    Score the file\n    of records. Then stop.\n\n    More."
    assert first_sentence(text) == "Score the file of records."
    assert first_sentence("One; version 1.1 too") == "One; version 1.1 too"


def examples_in(shown: str) -> list[str]:
    """The commands after "Examples:", each on one line."""
    text = shown.partition("Examples:\n")[2].replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if line.strip()]


def of_tallystick(example: str) -> Iterator[list[str]]:
    """The arguments of tallystick, in each part of a pipe."""
    for part in example.split(" | "):
        arguments = shlex.split(part)
        if arguments[0] == "tallystick":
            yield arguments[1:]


def test_every_help_has_examples_that_are_commands() -> None:
    for path in COMMANDS:
        shown = run(*path, "--help").out
        examples = examples_in(shown)
        assert examples, path
        for example in examples:
            parts = list(of_tallystick(example))
            assert any(tuple(each[: len(path)]) == path for each in parts), example
            for arguments in parts:
                command_of(arguments)
        assert max(map(len, shown.splitlines())) <= 80, path


def test_no_two_options_of_a_command_have_one_name() -> None:
    for path, command in COMMANDS.items():
        names = [name for param in command.params for name in (*param.opts, *param.secondary_opts)]
        assert len(names) == len(set(names)), path
