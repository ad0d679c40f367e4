"""The entry point: help, wrong use, errors for machines, and odd surroundings."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.command import SKILLS, environment, message_of, run, start

from tallystick.plugins.commands import HEADINGS

GROUPS = [
    (),
    ("epoch",),
    ("events",),
    ("groups",),
    ("keys",),
    ("miner",),
    ("plugins",),
    ("quarantine",),
    ("records",),
    ("round",),
    ("rules",),
    ("shadow",),
    ("sign",),
    ("state",),
    ("state", "proof"),
    ("trust",),
]
COMMANDS = [
    ("allocate",),
    ("audit",),
    ("backtest",),
    ("consensus",),
    ("demo",),
    ("dispute",),
    ("facts",),
    ("lock",),
    ("score",),
    ("explain",),
    ("rules", "list"),
    ("rules", "show"),
    ("rules", "check"),
    ("rules", "diff"),
    ("rules", "digest"),
    ("rules", "lint"),
    ("rules", "paths"),
    ("rules", "prove"),
    ("rules", "set"),
    ("plugins", "check"),
    ("plugins", "list"),
    ("plugins", "new"),
    ("epoch", "close"),
    ("epoch", "list"),
    ("epoch", "show"),
    ("events", "import"),
    ("groups", "select"),
    ("miner", "clear"),
    ("miner", "list"),
    ("miner", "register"),
    ("miner", "sync"),
    ("quarantine", "accept"),
    ("quarantine", "drop"),
    ("quarantine", "list"),
    ("records", "generate"),
    ("round", "close"),
    ("round", "list"),
    ("round", "show"),
    ("state", "adopt"),
    ("shadow", "report"),
    ("state", "backup"),
    ("state", "board"),
    ("state", "checkpoint"),
    ("state", "digest"),
    ("state", "evidence"),
    ("state", "export"),
    ("state", "import"),
    ("state", "info"),
    ("state", "init"),
    ("state", "proof", "consistency"),
    ("state", "proof", "row"),
    ("state", "restore"),
    ("state", "rules"),
    ("state", "show"),
    ("state", "verify"),
    ("state", "withdraw"),
    ("keys", "new"),
    ("keys", "show"),
    ("sign", "add"),
    ("sign", "adoption"),
    ("sign", "checkpoint"),
    ("sign", "events"),
    ("sign", "join"),
    ("sign", "pools"),
    ("sign", "receipt"),
    ("sign", "rule-set"),
    ("sign", "trust"),
    ("sign", "withdrawal"),
    ("trust", "new"),
    ("trust", "check"),
    ("trust", "rotate"),
    ("verify",),
    ("weights",),
    ("yuma",),
]


@pytest.mark.parametrize("command", [*GROUPS, *COMMANDS], ids=" ".join)
def test_every_command_has_help(command: tuple[str, ...]) -> None:
    long, short = run(*command, "--help"), run(*command, "-h")
    assert (long.status, long.err) == (0, "")
    assert long == short
    assert long.out.startswith(f"Usage: tallystick {' '.join(command)}")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_speaks_json(command: tuple[str, ...]) -> None:
    assert "--json" in run(*command, "--help").out


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_the_help_of_a_group_lists_its_commands(group: tuple[str, ...]) -> None:
    inner = {path[len(group)] for path in COMMANDS if path[: len(group)] == group}
    sections = listed(*group)
    assert sorted(name for names in sections.values() for name in names) == sorted(inner)
    assert all(names == sorted(names) for names in sections.values())


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


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_a_group_alone_shows_its_help_as_wrong_use(group: tuple[str, ...]) -> None:
    found = run(*group)
    assert found.status == 2
    assert found.err == run(*group, "--help").out


def test_the_version_is_told() -> None:
    found = run("--version")
    assert (found.status, found.err) == (0, "")
    assert found.out.startswith("tallystick 0.")


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_an_unknown_command_is_named(group: tuple[str, ...]) -> None:
    found = run(*group, "levitate")
    assert (found.status, found.out) == (2, "")
    assert "'levitate'" in found.err
    assert "--help" in found.err


@pytest.mark.parametrize("command", [*GROUPS, *COMMANDS], ids=" ".join)
def test_an_unknown_option_is_named(command: tuple[str, ...]) -> None:
    found = run(*command, "--levitate")
    assert (found.status, found.out) == (2, "")
    assert "--levitate" in found.err


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
