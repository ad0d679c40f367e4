"""Commands and options that plugins bring by rows, each in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import distribution
from pathlib import Path

import click
import pytest
from cli.command import SKILLS, environment, message_of, run, start, walk
from installed import install

from tallystick.cli.command import first_example, first_sentence
from tallystick.cli.main import cli
from tallystick.plugins.commands import GROUP, CommandRows, installed_commands

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


def beside(site: Path, **changes: str) -> Mapping[str, str]:
    return environment(PYTHONPATH=str(site), TALLYSTICK_PLUGINS="", **changes)


IN_TURN = """
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
    print(json.dumps([out.buffer.getvalue().decode(), sorted({{*loaded}} - {{*{floors!r}}})]))
"""


def in_turn(
    calls: Sequence[tuple[Sequence[str], Mapping[str, str]]], env: Mapping[str, str]
) -> list[tuple[str, list[str]]]:
    """Run commands in one process, one after the other.

    Args:
        calls: the arguments of each, and what its environment has beside that of the process.
        env: the environment of the process.

    Returns:
        The text that each prints, and the modules of floors, but rows, that are loaded by then.
    """
    program = IN_TURN.format(names={*FLOORS, "acme_hail"}, floors=FLOORS)
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def completion(words: str) -> Mapping[str, str]:
    count = len(words.split(" ")) - 1
    return {
        "_TALLYSTICK_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(count),
    }


def test_a_command_of_a_stranger_stands_beside_those_of_the_engine(tmp_path: Path) -> None:
    env = beside(site_of(tmp_path))
    assert start("hail", env=env).out == "hail\n"
    assert start("rules", "hail", env=env).out == "hail\n"
    assert "\nPlugins:\n  hail        Greet a validator.\n\n" in start("--help", env=env).out
    listed = start("rules", "--help", env=env).out
    assert "  hail    Greet a rule set.\n" in listed
    assert "  tallystick rules hail\n" in listed
    helped = start("rules", "hail", "--help", env=env).out
    assert "--log-json" in helped
    assert "--no-settings" in helped


def test_a_stranger_has_a_heading_of_its_own_or_one_of_the_engine(tmp_path: Path) -> None:
    rows = ROWS.replace('a validator."', 'a validator.", heading="greetings"')
    helped = start("--help", env=beside(site_of(tmp_path / "own", rows))).out
    assert "\n\nGreetings:\n  hail        Greet a validator.\n\n" in helped
    rows = ROWS.replace('a validator."', 'a validator.", heading="score"')
    helped = start("--help", env=beside(site_of(tmp_path / "core", rows))).out
    score = helped.partition("\nScore:\n")[2].partition("\n\n")[0]
    assert "  hail        Greet a validator.\n" in score


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


def test_a_stranger_brings_keys_of_the_settings_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = beside(site_of(tmp_path / "site", SETTINGS, SETTABLE))
    (tmp_path / "tallystick.toml").write_text('hall = "west"\ntone = "low"\n')
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert start("hail", env=env).out == f"{tmp_path / 'west'} low\n"
    assert start("hail", env={**env, "TALLYSTICK_TONE": "high"}).out.endswith(" high\n")
    (tmp_path / "tallystick.toml").write_text("tone = 3\n")
    assert message_of(start("hail", env=env)).endswith("found 3 for tone, expected text")
    (tmp_path / "tallystick.toml").unlink()
    rows = SETTINGS.replace('"tone"', '"a tone"')
    refused = start("plugins", "list", env=beside(site_of(tmp_path / "other", rows))).err
    assert "found the key 'a tone', expected one such as state" in refused


@pytest.mark.parametrize("option", ["-v", "--log-json"])
def test_the_log_of_a_stranger_is_below_that_of_the_engine(tmp_path: Path, option: str) -> None:
    told = start("hail", option, env=beside(site_of(tmp_path))).err
    assert "greeted" in told
    if option == "--log-json":
        (event,) = (e for e in map(json.loads, told.splitlines()) if e["event"] == "greeted")
        assert event["logger"] == "tallystick.acme_hail"


def test_the_log_of_a_state_has_the_name_that_it_had(tmp_path: Path) -> None:
    where = str(tmp_path / "state.db")
    run("state", "init", "--state", where, "--rules", "skills@1.1.0")
    found = run("state", "digest", "--state", where, "--log-json")
    events = {each["event"]: each["logger"] for each in map(json.loads, found.err.splitlines())}
    assert events["opened a state"] == "tallystick.state.ledger"


def test_help_and_completion_import_no_floor(tmp_path: Path) -> None:
    helped = ["--help", "--version", *(f"{g} --help" for g in ("rules", "plugins", "records"))]
    helped.append("score --help")
    begun = ("", "st", "-", "rules l", "rules ", "state s", "state -", "score --s")
    completed = [f"tallystick {words}" for words in (*begun, "records generate")]
    calls = [(words.split(), {}) for words in helped]
    calls += [([], completion(words)) for words in completed]
    found = in_turn(calls, beside(site_of(tmp_path)))
    loaded = {words: names for words, (_, names) in zip(helped + completed, found, strict=True)}
    assert {words: names for words, names in loaded.items() if names} == {}


COMPLETED = {
    "tallystick ha": ["hail"],
    "tallystick st": ["state"],
    "tallystick rules l": ["lint", "list"],
    "tallystick score --s": ["--shadow", "--state"],
    "tallystick state s": ["show"],
    "tallystick state proof ": ["consistency", "row"],
    "tallystick state show --st": ["--state"],
    "tallystick plugins ": ["check", "list", "new"],
}


def test_a_shell_is_answered_from_the_rows(tmp_path: Path) -> None:
    found = in_turn([([], completion(words)) for words in COMPLETED], beside(site_of(tmp_path)))
    assert {
        words: [line.removeprefix("plain,") for line in out.splitlines()]
        for words, (out, _) in zip(COMPLETED, found, strict=True)
    } == COMPLETED


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("rules", "lnt"), " Did you mean 'lint'?"),
        (("yumma",), " Did you mean 'yuma'?"),
        (("rules", "lits"), " (Did you mean one of: 'lint', 'list'?)"),
        (("rules", "xyz"), ""),
    ],
)
def test_a_word_that_is_no_command_has_those_of_similar_names(
    words: tuple[str, ...], hint: str
) -> None:
    found = run(*words)
    assert found.status == 2
    assert found.err.endswith(f"Error: No such command {words[-1]!r}.{hint}\n")


RAISES = "raise RuntimeError('no battery')"
LACKS = "tallystick_api = 1"
OTHER = ROWS.replace("tallystick_api = 1", "tallystick_api = 2")
KIND = "tallystick_api = 1\nCOMMANDS = ['hail']"


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (RAISES, "its import failed: RuntimeError: no battery: fix the plugin, or uninstall it"),
        ("import absent_part", "its import failed: ModuleNotFoundError: No module named"),
        (LACKS, "its import failed: AttributeError: "),
        (OTHER, "found tallystick_api = 2 in acme_rows, expected 1: install a version"),
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
    env = beside(site_of(tmp_path, rows))
    listed = start("plugins", "list", env=env)
    assert (listed.status, listed.err.count("\n")) == (1, 1)
    assert listed.err.startswith(f"acme  refused: commands: {reason}")
    unknown = start("hail", env=env)
    assert unknown.status == 2
    assert f"No such command 'hail'; plugin 'acme': {reason}" in one_line(unknown.err)
    if rows in (RAISES, KIND):  # refused as they are imported, and as they are read
        assert start("state", "--help", env=env).status == 0
        assert start("rules", "lint", "skills@1.1.0", "--json", env=env).status == 0
        helped = start("--help", env=env)
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
    env = beside(site_of(tmp_path, hail=hail))
    assert message_of(start("hail", env=env)).startswith(f"plugin 'acme': {reason}")
    assert "Greet a validator." in start("--help", env=env).out
    assert start("rules", "digest", "skills@1.1.0", env=env).status == 0


@pytest.mark.parametrize(
    ("path", "sentence"),
    [(("score",), "Score a file of records."), (("yuma",), "Compute the chain's")],
)
def test_nobody_takes_a_command_of_the_engine(
    tmp_path: Path, path: tuple[str, ...], sentence: str
) -> None:
    rows = ROWS.replace('("hail",)', repr(path))
    env = beside(site_of(tmp_path, rows))
    helped = start("--help", env=env).out
    assert sentence in helped
    assert "Greet a validator." not in helped
    assert "hail" not in start(*path, "--help", env=env).out
    # the other row of the plugin is used
    assert start("rules", "hail", env=env).out == "hail\n"
    listed = start("plugins", "list", env=env)
    assert listed.status == 1
    assert listed.err.startswith("acme  refused: commands: ")
    assert f"command '{' '.join(path)}'" in listed.err


def test_of_two_strangers_with_one_command_neither_is_used(tmp_path: Path) -> None:
    site = site_of(
        site_of(tmp_path), ROWS.replace('"rules", "hail"', '"rules", "greet"'), name="zen"
    )
    env = beside(site)
    found = start("hail", env=env)
    assert found.status == 2
    why = "the plugins 'acme' and 'zen' both offer the command 'hail', and none is used: uninstall"
    assert why in one_line(found.err)
    assert "Greet a validator." not in start("--help", env=env).out
    assert start("rules", "hail", env=env).out == "hail\n"
    assert start("rules", "greet", env=env).out == "hail\n"
    names = [each["name"] for each in start("plugins", "list", "--json", env=env).json()["refused"]]
    assert names == ["acme", "zen"]


def test_a_stranger_that_the_environment_leaves_out_is_not_imported(tmp_path: Path) -> None:
    env = {**beside(site_of(tmp_path, RAISES)), "TALLYSTICK_PLUGINS": "levitation"}
    assert "No such command 'hail'." in start("hail", env=env).err
    env["TALLYSTICK_PLUGINS"] = "acme"
    assert "no battery" in start("hail", env=env).err
    listed = start("plugins", "list", env=env)
    assert listed.err.count("\n") == 1


OPTION = """
from tallystick.plugins.commands import SECOND_PASS, SOURCE, CommandOption, CommandRows
tallystick_api = 1
COMMANDS = CommandRows(
    options=(
        CommandOption(
            ("score",), "--twin", "RULES", "Score by a twin, too.", SECOND_PASS, "acme_hail:twin",
            after="--rejects", paragraph="With --twin all is done twice.",
        ),
        CommandOption(
            ("explain",), "--oracle", "NAME", "Rules of an oracle.", SOURCE, "acme_hail:oracle",
        key="oracle",
        ),
    ),
)
"""
TWIN = """
from contextlib import contextmanager
from tallystick import load
class Twin:
    name, title, heading = "twin", "scoring the twin", "twin:"
    def __init__(self, reference):
        self.rules = load(reference)
    @contextmanager
    def scoring(self):
        yield self.rules
def twin(reference, options):
    return Twin(reference)
@contextmanager
def oracle(name, reference, held):
    rules = load(name)
    held.require(rules)
    yield rules
"""


def test_a_stranger_brings_a_second_pass(tmp_path: Path) -> None:
    env = beside(site_of(tmp_path, OPTION, TWIN))
    helped = start("score", "--help", env=env).out
    flags = ["  --rejects", "  --twin", "  --receipt"]
    assert sorted(flags, key=helped.index) == flags
    assert "With --twin all is done twice." in helped
    score = ("score", SKILLS, "--rules", "skills@1.1.0")
    found = start(*score, "-o", tmp_path / "o.jsonl", "--twin", "skills@1.0.0", "--json", env=env)
    assert found.json()["twin"]["rule_set"] == "skills@1.0.0"
    plain = start(*score, "-o", tmp_path / "p.jsonl", "--json", env=env)
    assert found.json()["output_digest"] == plain.json()["output_digest"]
    assert (tmp_path / "o.twin.jsonl").exists()


def test_a_stranger_brings_a_source_of_rules_that_is_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = dict(beside(site_of(tmp_path, OPTION, TWIN)))
    told = start("explain", SKILLS, "--oracle", "skills@1.0.0", "--json", env=env)
    assert told.json() == start("explain", SKILLS, "--rules", "skills@1.0.0", "--json").json()
    assert "By default those of --state or --oracle." in one_line(
        start("explain", "--help", env=env).out
    )
    both = start("explain", SKILLS, "--oracle", "a", "--state", "b", env=env)
    assert (both.status, "found --state and --oracle, expected one" in both.err) == (2, True)
    env["TALLYSTICK_ORACLE"] = "skills@1.0.0"
    assert start("explain", SKILLS, "--json", env=env).json() == told.json()
    del env["TALLYSTICK_ORACLE"]
    folder = tmp_path / "settings"
    folder.mkdir(mode=0o700)
    (folder / "tallystick.toml").write_text('oracle = "skills@1.0.0"\n')
    monkeypatch.chdir(folder)
    found = start("explain", SKILLS, "--json", env=env).json()
    assert found == {**told.json(), "settings": "tallystick.toml"}


def test_an_option_whose_home_cannot_be_imported_stops_those_alone_who_give_it(
    tmp_path: Path,
) -> None:
    env = beside(site_of(tmp_path, OPTION, RAISES))
    score = ("score", SKILLS, "--rules", "skills@1.1.0", "-o", tmp_path / "o.jsonl")
    assert start(*score, env=env).status == 0
    told = message_of(start(*score, "--twin", "skills@1.0.0", env=env))
    assert told.startswith("plugin 'acme': the import of acme_hail:twin failed: RuntimeError: no")


def test_an_option_that_a_command_has_already_is_not_taken(tmp_path: Path) -> None:
    rows = OPTION.replace('"--twin"', '"--state"').replace('"--oracle"', '"--line"')
    env = beside(site_of(tmp_path, rows, TWIN))
    for command in ("score", "explain"):
        assert start(command, "--help", env=env).out == run(command, "--help").out.replace(
            "\n\n  With --twin all is done twice.", ""
        )


@pytest.fixture
def without(tmp_path: Path) -> Path:
    """A folder whose finder hides one floor, as if its package were missing."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in os.environ['HIDDEN'].split(','):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Hidden())\n",
        encoding="utf-8",
    )
    return tmp_path


@pytest.mark.parametrize(
    ("floor", "lost", "option"),
    [
        ("tallystick_state", ("weights",), ("explain", "--state")),
        ("tallystick_governance", ("rules", "lint", "skills@1.1.0"), ("score", "--shadow")),
        ("tallystick_conformance", ("records", "generate"), None),
        ("tallystick_yuma", ("yuma",), None),
    ],
)
def test_a_floor_that_is_missing_is_named_and_the_rest_works(
    without: Path, floor: str, lost: tuple[str, ...], option: tuple[str, str] | None
) -> None:
    env = beside(without, HIDDEN=floor)
    name = floor.removeprefix("tallystick_")
    found = start(*lost, env=env)
    assert found.status == 2
    word = next(w for w in reversed(lost) if w in {"weights", "lint", "generate", "yuma"})
    text = one_line(found.err)
    assert f"No such command '{word}'; plugin '{name}': its import failed: " in text
    assert f"No module named '{floor}" in text
    if option is not None:
        command, flag = option
        assert flag not in start(command, "--help", env=env).out
    listed = start("plugins", "list", env=env)
    assert f"{name}  refused: commands: its import failed" in listed.err
    # takes no rule set, whose sections a floor may bring
    assert start("facts", SKILLS, "-o", without / "facts.parquet", env=env).status == 0
    assert start("--help", env=env).status == 0


@pytest.mark.parametrize("arguments", [("rules", "lint"), ("rules", "diff", "workflow@1.0.0")])
def test_a_floor_that_others_stand_on_is_named_where_it_is_missed(
    without: Path, arguments: tuple[str, ...]
) -> None:
    found = start(*arguments, "workflow@1.1.0", env=beside(without, HIDDEN="tallystick_state"))
    assert found.status == 2
    assert found.err.startswith("error: tallystick_state"), found.err
    assert found.err.rstrip().endswith("install tallystick again")


def of_the_project() -> list[CommandRows]:
    entries = distribution("tallystick").entry_points.select(group=GROUP)
    return [entry.load() for entry in entries]


def test_rows_of_the_project_say_what_its_commands_say() -> None:
    """Help is written from the rows, so they must not part from the commands."""
    commands = dict(walk(cli))
    for rows in of_the_project():
        for row in rows.commands:
            command = commands[row.path]
            if isinstance(command, click.Group):
                assert row.below == tuple(sorted(command.commands)), row.path
            else:
                assert row.below == ()
            if len(row.path) > 1:
                assert row.sentence == first_sentence(command.help or ""), row.path
                assert row.example == "\n".join(first_example(command)), row.path
    assert installed_commands().refused(()) == {}


def test_options_of_the_project_stand_where_their_rows_say() -> None:
    commands = dict(walk(cli))
    for rows in of_the_project():
        for row in rows.options:
            flags = [param.opts[-1] for param in commands[row.command].params]
            assert row.after in flags, row
            assert row.flag in flags, row
