"""The entry point: help, wrong use, errors for machines, and odd surroundings."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.command import SKILLS, environment, message_of, paths, run, start

from tallystick.plugins.commands import HEADINGS

GROUPS, COMMANDS = sorted(paths(of_groups=True)), sorted(paths(of_groups=False))


def test_every_command_has_help_and_json() -> None:
    wrong = set[tuple[tuple[str, ...], str]]()
    for command in (*GROUPS, *COMMANDS):
        long, short = run(*command, "--help"), run(*command, "-h")
        expected = {
            "a status of 0 without an error": (long.status, long.err) == (0, ""),
            "the same by -h": long == short,
            "its usage": long.out.startswith(f"Usage: tallystick {' '.join(command)}"),
            "--json": command in GROUPS or "--json" in long.out,
        }
        wrong |= {(command, name) for name, holds in expected.items() if not holds}
    assert wrong == set()


def test_the_help_of_a_group_lists_its_commands() -> None:
    everything = {*GROUPS, *COMMANDS}
    for group in GROUPS:
        inner = {path[-1] for path in everything if path and path[:-1] == group}
        sections = listed(*group)
        assert {name for names in sections.values() for name in names} == inner, group
        assert all(names == sorted(names) for names in sections.values()), group


def listed(*group: str) -> dict[str, list[str]]:
    """Return the commands in the help of a group, by their headings."""
    text = run(*group, "--help").out.partition("\nOptions:")[2].partition("\n  Examples:")[0]
    sections = (section.partition(":\n") for section in text.split("\n\n")[1:])
    return {
        heading: re.findall(r"^ {2}([a-z-]+) ", lines, re.MULTILINE)
        for heading, _, lines in sections
    }


def test_the_help_has_headings_in_their_order() -> None:
    assert list(listed()) == [heading.capitalize() for heading in HEADINGS]
    assert list(listed("rules")) == ["Commands"]


def test_a_group_alone_shows_its_help_as_wrong_use() -> None:
    for group in GROUPS:
        found = run(*group)
        assert found.status == 2, group
        assert found.err == run(*group, "--help").out, group


def test_the_version_is_told() -> None:
    found = run("--version")
    assert (found.status, found.err) == (0, "")
    assert found.out.startswith("tallystick 0.")


def test_an_unknown_command_is_named() -> None:
    for group in GROUPS:
        found = run(*group, "levitate")
        assert (found.status, found.out) == (2, ""), group
        assert "'levitate'" in found.err, group
        assert "--help" in found.err, group


def test_an_unknown_option_is_named() -> None:
    for command in (*GROUPS, *COMMANDS):
        found = run(*command, "--levitate")
        assert (found.status, found.out) == (2, ""), command
        assert "--levitate" in found.err, command


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (("score",), "RECORDS"),
        (("score", "records.jsonl", "-o", "out.jsonl"), "--rules"),
        (("score", "records.jsonl", "--rules", "skills@1.0.0"), "--output"),
        (("explain",), "RECORDS"),
        (("explain", "records.jsonl"), "--rules"),
        (("rules", "show"), "RULES"),
        (("rules", "check"), "RULES"),
        (("rules", "digest"), "RULES"),
    ],
)
def test_a_missing_argument_is_named(arguments: tuple[str, ...], missing: str) -> None:
    found = run(*arguments)
    assert (found.status, found.out) == (2, "")
    assert missing in found.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "absent.jsonl", "--rules", "skills@1.0.0", "-o", "out.xml"),
        ("explain", "absent.jsonl", "--rules", "skills@1.0.0"),
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


def test_an_end_of_data_is_a_defect_and_no_interrupt() -> None:
    """As when bytecode is cut off: it says where, and is not taken for Ctrl-D at a prompt."""
    code = (
        "import importlib, sys; from tallystick.cli import main as entry\n"
        "def load(name): raise EOFError('marshal data too short')\n"
        "entry.import_module = load; sys.argv = ['tallystick', 'demo']; entry.main()"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True
    )
    assert found.returncode == 1
    assert found.stderr.endswith("EOFError: marshal data too short\n")
    assert "stopped" not in found.stderr


def test_help_loads_no_numeric_library() -> None:
    code = (
        "import sys; from tallystick.cli.main import cli; cli(['--help'], standalone_mode=False);"
        "sys.exit(sorted({'numpy', 'pyarrow', 'rich'} & sys.modules.keys()) or 0)"
    )
    found = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert (found.returncode, found.stderr) == (0, b"")


def test_the_module_and_the_script_are_one_command() -> None:
    script = Path(sys.executable).with_name("tallystick")
    found = subprocess.run([script, "rules", "list"], check=True, capture_output=True)
    assert found.stdout.decode() == start("rules", "list").out


@pytest.fixture
def reader_gone() -> Iterator[int]:
    """The writing end of a pipe that nobody reads, as after ``| head``."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


@pytest.mark.parametrize("arguments", [("rules", "list"), ("demo", "--json")])
def test_a_reader_that_is_gone_is_no_crash(arguments: tuple[str, ...], reader_gone: int) -> None:
    found = start(*arguments, stdout=reader_gone)
    assert (found.status, found.err) == (1, "")


def test_an_output_that_is_full_is_an_error() -> None:
    with Path("/dev/full").open("wb") as full:
        found = start("rules", "list", stdout=full)
    assert "no space left on device" in message_of(found)


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_an_error_output_that_is_full_is_no_crash(more: tuple[str, ...]) -> None:
    filled = ["sh", "-c", 'exec "$@" 2>/dev/full', "sh"]
    assert start("rules", "digest", "levitation@1.0.0", *more, through=filled).status == 2


def test_machines_get_json_in_every_encoding() -> None:
    wide = start("demo", "--json", env=environment(PYTHONIOENCODING="utf-8"))
    narrow = start("demo", "--json", env=environment(PYTHONIOENCODING="latin-1"))
    assert narrow.out.isascii()
    assert narrow.json() == wide.json()


def test_greek_symbols_are_shown_in_the_plainest_locale() -> None:
    found = start("demo", env=environment(LC_ALL="C"))
    assert found.status == 0
    assert "α 1" in found.out


@pytest.mark.parametrize(
    ("encoding", "arguments"),
    [("ascii", ("demo",)), ("latin-1", ("rules", "show", "workflow@1.0.0"))],
)
def test_an_encoding_without_greek_is_no_crash(encoding: str, arguments: tuple[str, ...]) -> None:
    found = start(*arguments, env=environment(PYTHONIOENCODING=encoding))
    assert (found.status, found.err) == (0, "")


def test_an_output_whose_name_is_no_utf8_is_no_crash(tmp_path: Path) -> None:
    output = bytes(tmp_path) + b"/\xff.jsonl"
    utf8 = environment(PYTHONIOENCODING="utf-8")
    found = start("score", SKILLS, "--rules", "skills@1.0.0", "-o", output, env=utf8)
    assert found.status == 0
    assert Path(os.fsdecode(output)).exists()


@pytest.mark.parametrize("machine", [(), ("--json",)])
def test_an_error_about_a_name_that_is_no_utf8_is_no_crash(machine: tuple[str, ...]) -> None:
    utf8 = environment(PYTHONIOENCODING="utf-8")
    found = start("explain", b"\xff.jsonl", "--rules", "skills@1.0.0", *machine, env=utf8)
    assert message_of(found) == "\\udcff.jsonl: no such file: check the name"


def test_a_closed_error_output_is_no_crash(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    closing = ["sh", "-c", 'exec "$@" 2>&-', "sh"]
    found = start("score", SKILLS, "--rules", "skills@1.0.0", "-o", output, through=closing)
    assert found.status == 0
    assert output.exists()
