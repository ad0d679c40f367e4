"""Commands and options that plugins bring by rows: which are used, and why others are not."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import distribution
from pathlib import Path

import pytest
from cli.command import HEAVY, SKILLS, environment, message_of, run, walk
from installed import beside, install, without

from tallystick.cli.command import first_example, first_sentence
from tallystick.cli.main import cli
from tallystick.cli.rows import CORE, installed_commands
from tallystick.plugins.commands import GROUP, CommandRows

FLOORS = tuple(
    f"tallystick_{name}"
    for name in ("allocation", "yuma", "consensus", "state", "conformance", "governance")
)
ROWS = """
from tallystick.plugins.commands import Command, CommandRows
tallystick_api = 1
COMMANDS = CommandRows(
    commands=(
        Command(("hail",), "acme_hail:hail", "Greet a validator."),
        Command(("rules", "hail"), "acme_hail:hail", "Greet a rule set.", "tallystick rules hail"),
    ),
)
"""
HAIL = """
import logging
import click
from tallystick.plugins.author import logger_of
@click.command("hail")
def hail():
    logger_of(__name__).info("greeted")
    click.echo("hail")
"""


def site_of(folder: Path, rows: str = ROWS, hail: str = HAIL, name: str = "acme") -> Path:
    """A folder with an installed distribution that brings commands."""
    install(folder, f"{name}-floor", commands={name: f"{name}_rows:COMMANDS"})
    (folder / f"{name}_rows.py").write_text(rows, encoding="utf-8")
    (folder / f"{name}_hail.py").write_text(hail, encoding="utf-8")
    return folder


@pytest.fixture
def offered(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder whose rows and home, by default `ROWS` and `HAIL`, are found as installed ones."""
    texts = getattr(request, "param", (ROWS, HAIL))
    with beside(site_of(tmp_path, *texts)):
        yield tmp_path


def of_acme(rows: str = ROWS, hail: str = HAIL) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("offered", [(rows, hail)], indirect=True, ids=["acme"])


IMPORTED = """
import contextlib, io, json, os, sys
from tallystick.cli.main import main
for arguments, words in json.load(sys.stdin):
    sys.argv = ["tallystick", *arguments]
    os.environ.update(words)
    out = io.TextIOWrapper(io.BytesIO(), write_through=True)  # completion writes bytes
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(out):
        main()
    for name in words:
        del os.environ[name]
    loaded = [m for m in sys.modules if m.partition(".")[0] in {names!r} and m[-5:] != ".rows"]
    print(json.dumps(sorted({{*loaded}} - {{*{floors!r}}})))
"""
"""Runs commands in one process, and tells which heavy modules are loaded by then."""


def completion(words: str) -> Mapping[str, str]:
    count = len(words.split(" ")) - 1
    return {
        "_TALLYSTICK_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(count),
    }


@pytest.mark.usefixtures("offered")
def test_a_command_of_a_stranger_stands_beside_those_of_the_engine() -> None:
    assert run("hail").out == "hail\n"
    assert run("rules", "hail").out == "hail\n"
    assert "\nPlugins:\n  hail        Greet a validator.\n\n" in run("--help").out
    listed = run("rules", "--help").out
    assert "  hail    Greet a rule set.\n" in listed
    assert "  tallystick rules hail\n" in listed
    helped = run("rules", "hail", "--help").out
    assert "--log-json" in helped
    assert "--no-settings" in helped


def test_a_stranger_has_a_heading_of_its_own_or_one_of_the_engine(tmp_path: Path) -> None:
    for heading in ("greetings", "score"):
        rows = ROWS.replace('a validator."', f'a validator.", heading="{heading}"')
        with beside(site_of(tmp_path / heading, rows)):
            helped = run("--help").out
        section = helped.partition(f"\n{heading.capitalize()}:\n")[2].partition("\n\n")[0]
        assert "  hail        Greet a validator." in section


SETTINGS = """
from tallystick.plugins.commands import Command, CommandRows, SettingRow
tallystick_api = 1
COMMANDS = CommandRows(
    commands=(Command(("hail",), "acme_hail:hail", "Greet a validator."),),
    settings=(SettingRow("hall", is_path=True), SettingRow("tone")),
)
"""
SETTABLE = """
import click
from tallystick.cli.settings import Setting
@click.command("hail")
@click.option("--hall", cls=Setting, key="hall")
@click.option("--tone", cls=Setting, key="tone")
def hail(hall, tone):
    click.echo(f"{hall} {tone}")
"""


@of_acme(SETTINGS, SETTABLE)
def test_a_stranger_brings_keys_of_the_settings_file(
    offered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offered
    (tmp_path / "tallystick.toml").write_text('hall = "west"\ntone = "low"\n')
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    monkeypatch.setenv("TALLYSTICK_SETTINGS", str(tmp_path / "tallystick.toml"))
    assert run("hail").out == f"{tmp_path / 'west'} low\n"
    assert run("hail", env={"TALLYSTICK_TONE": "high"}).out.endswith(" high\n")
    (tmp_path / "tallystick.toml").write_text("tone = 3\n")
    assert message_of(run("hail")).endswith("found 3 for tone, expected text")


@pytest.mark.usefixtures("offered")
def test_the_log_of_a_stranger_is_below_that_of_the_engine() -> None:
    assert "greeted" in run("hail", "-v").err
    events = map(json.loads, run("hail", "--log-json").err.splitlines())
    (event,) = (each for each in events if each["event"] == "greeted")
    assert event["logger"] == "tallystick.acme_hail"


@pytest.mark.process
def test_help_and_completion_import_no_floor_and_no_numeric_library(tmp_path: Path) -> None:
    helped = ["--help", "--version", *(f"{g} --help" for g in ("rules", "plugins", "records"))]
    begun = ("", "st", "-", "rules l", "rules ")
    calls = [(words.split(), {}) for words in helped]
    calls += [([], completion(f"tallystick {words}")) for words in begun]
    names = {*FLOORS, *HEAVY, "acme_hail"}
    found = subprocess.run(
        [sys.executable, "-c", IMPORTED.format(names=names, floors=FLOORS)],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        check=False,
        env=environment(PYTHONPATH=str(site_of(tmp_path)), TALLYSTICK_PLUGINS=""),
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert [*map(json.loads, found.stdout.splitlines())] == [[]] * len(calls)


COMPLETED = {
    "tallystick ha": ["hail"],
    "tallystick miner re": ["register"],
    "tallystick st": ["state"],
    "tallystick rules l": ["lint", "list"],
    "tallystick score --s": ["--state", "--settings"],
    "tallystick state s": ["show"],
    "tallystick audit ": ["folder", "records", "states"],
    "tallystick state show --st": ["--state"],
    "tallystick plugins ": ["check", "list", "new"],
}


@pytest.mark.usefixtures("offered")
def test_a_shell_is_answered_from_the_rows() -> None:
    found = {words: run(env=completion(words)).out for words in COMPLETED}
    assert {
        words: [line.removeprefix("plain,") for line in out.splitlines()]
        for words, out in found.items()
    } == COMPLETED


RAISES = "raise RuntimeError('no battery')"
KIND = "tallystick_api = 1\nCOMMANDS = ['hail']"


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (RAISES, "its import failed: RuntimeError: no battery: fix the plugin, or uninstall it"),
        (KIND, "found ['hail'] at acme_rows:COMMANDS, expected a CommandRows"),
        (ROWS.replace('("hail",)', '"hail"'), "found the path 'hail', expected one word"),
        (
            ROWS.replace('("rules", "hail")', '("state", "hail")'),
            "found the path ('state', 'hail'), expected",
        ),
        (
            ROWS.replace('a validator."', 'a validator.", heading="Say: hail"'),
            "found the heading 'Say: hail', expected a word such as score",
        ),
        (
            ROWS.replace("acme_hail:hail", "acme_hail"),
            "found the home 'acme_hail', expected module",
        ),
        (ROWS.replace("Greet a validator.", ""), "found the sentence '', expected one line"),
    ],
)
def test_rows_that_cannot_be_used_are_named_and_the_rest_works(
    tmp_path: Path, rows: str, reason: str
) -> None:
    with beside(site_of(tmp_path, rows)):
        listed = run("plugins", "list")
        assert (listed.status, listed.err.count("\n")) == (1, 1)
        assert listed.err.startswith(f"acme  refused: commands: {reason}")
        unknown = run("hail")
        assert unknown.status == 2
        assert f"No such command 'hail'; plugin 'acme': {reason}" in one_line(unknown.err)
        if rows in (RAISES, KIND):  # refused as they are imported, and as they are read
            assert run("state", "--help").status == 0
            assert run("rules", "digest", "skills@1.1.0").status == 0
            helped = run("--help")
            assert (helped.status, helped.err) == (0, "")


def one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("hail", "reason"),
    [
        (RAISES, "the import of acme_hail:hail failed: RuntimeError: no battery: fix the plugin"),
        ("raise SystemExit(0)", "the import of acme_hail:hail failed: SystemExit: 0: fix the"),
        ("hail = 1", "found 1 at acme_hail:hail, expected a command of click: fix the plugin"),
    ],
)
def test_a_command_whose_home_cannot_be_used_says_so(
    tmp_path: Path, hail: str, reason: str
) -> None:
    with beside(site_of(tmp_path, hail=hail)):
        assert message_of(run("hail")).startswith(f"plugin 'acme': {reason}")
        assert "Greet a validator." in run("--help").out


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        (("score",), "Score a file of records."),
        (("yuma",), "Compute the chain's"),
        (("rules", "show"), "The rule set with the formulas that it uses, as text."),
    ],
)
def test_nobody_takes_a_command_of_the_engine(
    tmp_path: Path, path: tuple[str, ...], sentence: str
) -> None:
    rows = ROWS.replace('("hail",)', repr(path))
    with beside(site_of(tmp_path, rows)):
        helped = one_line(run(*path[:-1], "--help").out)
        assert sentence in helped
        assert "Greet a validator." not in helped
        assert "hail" not in run(*path, "--help").out
        # the other row of the plugin is used
        assert run("rules", "hail").out == "hail\n"
        listed = run("plugins", "list")
    assert listed.status == 1
    assert listed.err.startswith("acme  refused: commands: ")
    assert f"command {' '.join(path)}" in listed.err.replace("'", "")


def test_of_two_strangers_with_one_command_neither_is_used(tmp_path: Path) -> None:
    other = ROWS.replace('"rules", "hail"', '"rules", "greet"').replace("acme_hail", "zen_hail")
    with beside(site_of(tmp_path / "acme"), site_of(tmp_path / "zen", other, name="zen")):
        found = run("hail")
        assert found.status == 2
        why = "the plugins 'acme' and 'zen' both offer the command 'hail', and none is used"
        assert f"{why}: uninstall" in one_line(found.err)
        assert "Greet a validator." not in run("--help").out
        assert run("rules", "hail").out == "hail\n"
        assert run("rules", "greet").out == "hail\n"
        refused = run("plugins", "list", "--json").json()["refused"]
    assert [each["name"] for each in refused] == ["acme", "zen"]


OPTION = """
from tallystick.plugins.commands import SOURCE, CommandOption, CommandRows
tallystick_api = 1
COMMANDS = CommandRows(
    options=(
        CommandOption(
            ("explain",), "--oracle", "NAME", "Rules of an oracle.", SOURCE, "acme_hail:oracle",
            paragraph="With --oracle somebody else knows.",
        ),
    ),
)
"""
ORACLE = """
from contextlib import contextmanager
from tallystick import load
@contextmanager
def oracle(name, reference, held):
    rules = load(name)
    held.require(rules)
    yield rules
"""
EXPLAIN = ("explain", SKILLS, "--json")


@of_acme(OPTION, ORACLE)
def test_a_stranger_brings_a_source_of_rules(offered: Path) -> None:
    assert offered
    told = run(*EXPLAIN, "--oracle", "skills@1.0.0").json()
    assert told == run(*EXPLAIN, "--rules", "skills@1.0.0").json()
    helped = run("explain", "--help").out
    assert "By default those of --state or --oracle." in one_line(helped)
    assert "With --oracle somebody else knows." in helped
    assert helped.index("  --locked") < helped.index("  --oracle") < helped.index("  --log-json")
    both = run("explain", SKILLS, "--oracle", "a", "--state", "b")
    assert (both.status, "found --state and --oracle, expected one" in both.err) == (2, True)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("@contextmanager\n", "", "found <generator object oracle"),
        (
            "    yield rules",
            "    yield 5",
            "found 5 from acme_hail:oracle, expected one",
        ),
        (
            "    yield rules",
            "    raise SystemExit(0)\n    yield rules",
            "acme_hail:oracle failed: SystemExit: 0: fix the plugin",
        ),
    ],
)
def test_a_source_of_another_kind_or_of_none_is_told_by_name(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in ORACLE
    with beside(site_of(tmp_path, OPTION, ORACLE.replace(old, new))):
        told = message_of(run(*EXPLAIN, "--oracle", "skills@1.0.0"))
    assert told.startswith(f"plugin 'acme': {message}")


@of_acme(OPTION, RAISES)
def test_an_option_whose_home_cannot_be_imported_stops_those_alone_who_give_it(
    offered: Path,
) -> None:
    assert offered
    assert run(*EXPLAIN, "--rules", "skills@1.0.0").status == 0
    told = message_of(run(*EXPLAIN, "--oracle", "skills@1.0.0"))
    assert told.startswith("plugin 'acme': the import of acme_hail:oracle failed: RuntimeError: no")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("--oracle", "--line", "--line of explain itself, which is used: rename yours"),
        ("explain", "demo", "--oracle of demo, which takes no options of plugins"),
        ("explain", "explane", "--oracle of explane, expected one of a command that exists"),
    ],
)
def test_an_option_that_no_command_takes_is_told(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    helped = run("explain", "--help").out
    with beside(site_of(tmp_path, OPTION.replace(f'"{old}"', f'"{new}"'), ORACLE)):
        assert run("explain", "--help").out == helped
        listed = run("plugins", "list")
    assert listed.status == 1
    assert listed.err == f"acme  refused: commands: found the option {reason}\n"


@pytest.mark.parametrize(
    ("floor", "lost", "option"),
    [
        ("state", ("weights",), ("explain", "--state")),
        ("conformance", ("records", "generate"), None),
    ],
)
def test_a_floor_that_is_missing_is_named_and_the_rest_works(
    tmp_path: Path, floor: str, lost: tuple[str, ...], option: tuple[str, str] | None
) -> None:
    with without(f"tallystick_{floor}"):
        found = run(*lost)
        assert found.status == 2
        text = one_line(found.err)
        assert f"No such command '{lost[-1]}'; plugin '{floor}': its import failed: " in text
        assert f"No module named 'tallystick_{floor}" in text
        if option is not None:
            command, flag = option
            assert flag not in run(command, "--help").out
        listed = run("plugins", "list")
        assert f"{floor}  refused: commands: its import failed" in listed.err
        # takes no rule set, whose sections a floor may bring
        assert run("facts", SKILLS, "-o", tmp_path / "facts.parquet").status == 0
        assert run("--help").status == 0


def test_a_floor_that_others_stand_on_is_named_where_it_is_missed() -> None:
    with without("tallystick_state", "tallystick_governance"):
        found = run("rules", "lint", "workflow@1.1.0")
    assert found.status == 2
    assert found.err.startswith("error: tallystick_state"), found.err
    assert found.err.rstrip().endswith("install tallystick again")


def of_the_project() -> list[CommandRows]:
    entries = distribution("tallystick").entry_points.select(group=GROUP)
    return [CORE, *(entry.load() for entry in entries)]


def test_rows_of_the_project_say_what_its_commands_say() -> None:
    """Help is written from the rows, so they must not part from the commands."""
    commands = dict(walk(cli))
    for rows in of_the_project():
        for row in rows.commands:
            command = commands[row.path]
            if len(row.path) > 1:
                assert row.sentence == first_sentence(command.help or ""), row.path
                assert row.example == "\n".join(first_example(command)), row.path
    assert installed_commands().refused == {}


def test_options_of_the_project_are_of_the_commands_that_their_rows_name() -> None:
    commands = dict(walk(cli))
    for rows in of_the_project():
        for row in rows.options:
            assert row.flag in [param.opts[-1] for param in commands[row.command].params], row
