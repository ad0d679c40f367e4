"""The entry point: help, wrong use, errors for machines, and odd surroundings."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, suppress
from pathlib import Path

import click
import pytest
from cli.command import SKILLS, Finished, command_of, message_of, paths, run, start, walk
from installed import beside

from tallystick.cli import rows
from tallystick.cli.command import first_sentence
from tallystick.cli.main import cli, main
from tallystick.plugins.commands import HEADINGS, CommandRows

GROUPS, COMMANDS = sorted(paths(of_groups=True)), sorted(paths(of_groups=False))
RULES = ("--rules", "skills@1.0.0")


@pytest.fixture(scope="module")
def helped() -> dict[tuple[str, ...], Finished]:
    """The help of every command and group, on a terminal of 80 columns."""
    return {path: run(*path, "--help", env={"COLUMNS": "80"}) for path in (*GROUPS, *COMMANDS)}


def words(text: str) -> str:
    """A text without white space, which a narrow terminal breaks also after a hyphen."""
    return "".join(text.split())


def is_whole(command: click.Command, shown: str) -> bool:
    """Whether a help has the text of a command and of each of its options, and cuts nothing off."""
    options = (each for each in command.params if isinstance(each, click.Option))
    texts = [command.help or "", *(each.help or "" for each in options if not each.hidden)]
    flat = words(shown).replace("\b", "")
    cut = "..." in re.sub(r"[A-Z]\]?\.\.\.", "", words(shown))
    return not cut and all(words(text) in flat for text in texts)


def test_every_command_has_whole_help_and_json(helped: dict[tuple[str, ...], Finished]) -> None:
    commands, wrong = dict(walk(cli)), set[tuple[tuple[str, ...], str]]()
    for path, found in helped.items():
        expected = {
            "a status of 0 without an error": (found.status, found.err) == (0, ""),
            "its usage": found.out.startswith(f"Usage: tallystick {' '.join(path)}"),
            "--json": path in GROUPS or "--json" in found.out,
            "whole": is_whole(commands[path], found.out),
            "80 columns": max(map(len, found.out.splitlines())) <= 80,
        }
        wrong |= {(path, name) for name, holds in expected.items() if not holds}
    assert wrong == set()
    assert run("rules", "-h") == run("rules", "--help")


@pytest.mark.parametrize("width", ["40", "200"])
def test_no_help_is_cut_off_on_another_terminal(width: str) -> None:
    commands = dict(walk(cli))
    for path in (("score",), ("rules",), ("state", "init")):
        assert is_whole(commands[path], run(*path, "--help", env={"COLUMNS": width}).out)


def of_tallystick(shown: str) -> Iterator[list[str]]:
    """The arguments of each command after "Examples:", also of those in a pipe."""
    for line in shown.partition("Examples:\n")[2].replace("\\\n", " ").splitlines():
        for part in line.strip().split(" | "):
            if part.startswith("tallystick "):
                yield part.split()[1:]


def test_every_help_has_examples_that_are_commands(
    helped: dict[tuple[str, ...], Finished],
) -> None:
    for path, found in helped.items():
        examples = list(of_tallystick(found.out))
        assert any(tuple(each[: len(path)]) == path for each in examples), path
        for arguments in examples:
            command_of(arguments)


def test_no_two_options_of_a_command_have_one_name() -> None:
    for path, command in walk(cli):
        names = [name for param in command.params for name in (*param.opts, *param.secondary_opts)]
        assert len(names) == len(set(names)), path


def test_the_help_of_a_group_lists_its_commands(helped: dict[tuple[str, ...], Finished]) -> None:
    everything, commands = {*GROUPS, *COMMANDS}, dict(walk(cli))
    for group in GROUPS:
        inner = {path[-1] for path in everything if path and path[:-1] == group}
        sections = listed(helped[group].out)
        assert {name for names in sections.values() for name in names} == inner, group
        assert all(names == sorted(names) for names in sections.values()), group
        for name in inner if group else ():
            sentence = first_sentence(commands[*group, name].help or "")
            assert sentence, (group, name)
            assert words(f"{name} {sentence}") in words(helped[group].out), (group, name)
    assert list(listed(helped[()].out)) == [heading.capitalize() for heading in HEADINGS]


def listed(helped: str) -> dict[str, list[str]]:
    """Return the commands in the help of a group, by their headings."""
    text = helped.partition("\nOptions:")[2].partition("\n  Examples:")[0]
    sections = (section.partition(":\n") for section in text.split("\n\n")[1:])
    return {
        heading: re.findall(r"^ {2}([a-z-]+) ", lines, re.MULTILINE)
        for heading, _, lines in sections
    }


def test_a_group_alone_shows_its_help_as_wrong_use(
    helped: dict[tuple[str, ...], Finished],
) -> None:
    for group in GROUPS:
        found = run(*group, env={"COLUMNS": "80"})
        assert (found.status, found.err) == (2, helped[group].out), group


def test_the_version_is_told() -> None:
    found = run("--version")
    assert (found.status, found.err) == (0, "")
    assert found.out.startswith("tallystick 0.")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        *(((*group, "levitate"), "'levitate'") for group in GROUPS),
        *(((*path, "--levitate"), "--levitate") for path in ((), ("rules",), ("score",))),
        (("score",), "RECORDS"),
        (("score", "records.jsonl", "-o", "out.jsonl"), "--rules"),
        (("score", "records.jsonl", *RULES), "--output"),
        (("explain", "records.jsonl"), "--rules"),
        (("rules", "digest"), "RULES"),
        (("rules", "lnt"), "'lnt'. Did you mean 'lint'?"),
        (("yumma",), "'yumma'. Did you mean 'yuma'?"),
        (("rules", "lits"), "'lits'. (Did you mean one of: 'lint', 'list'?)"),
        (("rules", "xyz"), "'xyz'.\n"),
    ],
)
def test_what_is_unknown_or_missing_is_named(arguments: tuple[str, ...], named: str) -> None:
    found = run(*arguments)
    assert (found.status, found.out) == (2, "")
    assert named in found.err
    assert "--help" in found.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "absent.jsonl", *RULES, "-o", "out.xml"),
        ("explain", "absent.jsonl", *RULES),
        ("rules", "digest", "levitation@1.0.0"),
    ],
)
def test_an_error_is_json_for_machines_and_the_same_line_for_people(
    arguments: tuple[str, ...],
) -> None:
    plain, machine = run(*arguments), run(*arguments, "--json")
    assert plain.out == ""
    assert machine.err == plain.err
    assert machine.json()["message"] == message_of(machine)
    assert machine.json()["error"].endswith("Error")


def test_an_end_of_data_is_a_defect_and_no_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when bytecode is cut off: it says where, and is not taken for Ctrl-D at a prompt."""
    (tmp_path / "cut_off.py").write_text("raise EOFError('marshal data too short')")
    monkeypatch.syspath_prepend(tmp_path)
    row = rows.CORE.commands[0]._replace(home="cut_off:demo")
    monkeypatch.setattr(rows, "CORE", CommandRows(commands=(row,)))
    with beside(), pytest.raises(EOFError, match="marshal data too short"):
        run("demo")


@pytest.mark.process
def test_the_module_and_the_script_are_one_command_that_shows_no_traceback() -> None:
    script = Path(sys.executable).with_name("tallystick")
    for arguments, status in (
        (("rules", "list"), 0),
        (("rules", "digest", "levitation@1.0.0"), 2),
        (("rules", "check", os.devnull), 1),
    ):
        found = subprocess.run([script, *arguments], check=False, capture_output=True, text=True)
        assert found.returncode == status
        module = start(*arguments)
        assert (module.status, module.out, module.err) == (status, found.stdout, found.stderr)
        assert "Traceback" not in found.stderr


@pytest.fixture
def reader_gone() -> Iterator[int]:
    """The writing end of a pipe that nobody reads, as after ``| head``."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


@pytest.mark.process
def test_python_says_nothing_at_its_end_of_a_reader_that_is_gone(reader_gone: int) -> None:
    found = start("demo", "--json", stdout=reader_gone)
    assert (found.status, found.err) == (1, "")


@pytest.mark.parametrize("arguments", [("rules", "list"), ("score", SKILLS, *RULES, "-o", "-")])
def test_a_reader_that_is_gone_is_no_crash(
    arguments: tuple[str | Path, ...], reader_gone: int
) -> None:
    output = os.fdopen(os.dup(reader_gone), "w")
    found = run(*arguments, stdout=output)
    with suppress(BrokenPipeError):  # of what is left in it
        output.close()
    assert (found.status, found.err) == (1, "")


def test_an_output_that_is_full_is_an_error() -> None:
    with Path("/dev/full").open("w") as full:
        found = run("rules", "list", stdout=full)
    assert "no space left on device" in message_of(found)


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_an_error_output_that_is_full_is_no_crash(more: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        found = run("rules", "digest", "levitation@1.0.0", *more, stderr=full)
    assert found.status == 2


def test_a_closed_error_output_is_no_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "out.jsonl"
    monkeypatch.setattr(
        sys, "argv", ["tallystick", "score", str(SKILLS), *RULES, "-o", str(output)]
    )
    with redirect_stderr(None), pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    assert output.exists()


def test_machines_get_json_in_every_encoding() -> None:
    wide, narrow = (run("demo", "--json", encoding=each) for each in ("utf-8", "latin-1"))
    assert narrow.out.isascii()
    assert narrow.json() == wide.json()


@pytest.mark.parametrize(
    ("encoding", "arguments"),
    [("ascii", ("demo",)), ("latin-1", ("rules", "show", "workflow@1.0.0"))],
)
def test_an_encoding_without_greek_is_no_crash(encoding: str, arguments: tuple[str, ...]) -> None:
    found = run(*arguments, encoding=encoding)
    assert (found.status, found.err) == (0, "")


def test_a_name_that_is_no_utf8_is_no_crash(tmp_path: Path) -> None:
    output = os.fsdecode(bytes(tmp_path) + b"/\xff.jsonl")
    assert run("score", SKILLS, *RULES, "-o", output).status == 0
    assert Path(output).exists()
    for machine in ((), ("--json",)):
        found = run("explain", os.fsdecode(b"\xff.jsonl"), *RULES, *machine)
        assert message_of(found) == "\\udcff.jsonl: no such file: check the name"
