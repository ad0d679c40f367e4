"""Commands that are held to a lock: refused before anything is scored or written."""

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import attrs
import click
import pytest
from cli.command import SKILLS, message_of, run, walk
from examples import fast_rows

from tallystick.cli.main import cli
from tallystick.lock.installed import VECTORS
from tallystick.lock.lock_file import Lock
from tallystick.lock.write import write
from tallystick_state.ledger import Ledger
from tallystick_state.transfer import export_state

D = "sha256:" + "0" * 64
RULES = ("--rules", "skills@1.1.0")
STATE = ("--state", "state.db")
HELD: tuple[tuple[str, ...], ...] = (
    ("score", str(SKILLS), *RULES, "-o", "out.jsonl"),
    ("explain", str(SKILLS), *RULES),
    ("facts", str(SKILLS), "-o", "out.jsonl"),
    ("backtest", str(SKILLS), *RULES, "--rules", "skills@1.2.0", "-o", "out.jsonl"),
    ("audit", "records", str(SKILLS), *RULES, "--results", "theirs.jsonl", "--all", "out.jsonl"),
    ("audit", "folder", "tried", *RULES, "--format", "nobody/hour"),
    ("allocate", "miners.csv", *RULES, "-o", "out.json"),
    ("consensus", str(SKILLS), *RULES, "-o", "out.jsonl"),
    ("weights", *STATE),
    ("round", "close", str(SKILLS), *STATE),
    ("events", "import", str(SKILLS), *STATE),
    ("epoch", "close", "--epoch", "0", *STATE),
    ("groups", "select", "mcp_server", "--round", "1", "--seed", "a", *STATE),
    ("miner", "register", "hk-9", "--uid", "9", "--types", "mcp_server", *STATE),
    ("miner", "sync", "miners.csv", *STATE),
    ("miner", "clear", "hk-1", *STATE),
    ("quarantine", "accept", "--round", "1", *STATE),
    ("quarantine", "drop", "--round", "1", *STATE),
    ("trust", "rotate", "trust.toml", *STATE),
    ("state", "adopt", "skills@1.2.0", "--at-epoch", "2", *STATE),
    ("state", "withdraw", *STATE),
    ("state", "init", *RULES, "--state", "out.db"),
    ("new", "validator", "out.d", *RULES, "--netuid", "7", "--simulated"),
    ("state", "import", "state.jsonl", "--state", "out.db"),
    ("state", "rebuild", *STATE),
    ("state", "prune", "--keep", "1", *STATE),
)
ALONE = {"allocate", "consensus", "score", "explain", "facts", "backtest", "weights"}
NAMES = [" ".join(words[: 1 if words[0] in ALONE else 2]) for words in HELD]
DAEMON = {"run", "chain weights"}
"""Commands that need a chain; `tests/validator/test_validator.py` tries that a daemon is held."""
NO_RULES = ("facts", "trust")
COMMANDS = {
    " ".join(path): command for path, command in walk(cli) if not isinstance(command, click.Group)
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a state, an export of it and a list of miners."""
    at = tmp_path_factory.mktemp("made")
    with Ledger.create(at / STATE[1], RULES[1]) as ledger:
        ledger.register("hk-1", 1, ["mcp_server"])
        export_state(ledger, at / "state.jsonl")
    (at / "tried").mkdir()
    (at / "weights.json").write_text("{}")
    (at / "miners.csv").write_text("uid,hotkey,types\n2,hk-2,mcp_server\n")
    return at


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in which the test runs."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stored() -> list[str]:
    with closing(sqlite3.connect("state.db")) as connection:
        return list(connection.iterdump())


@pytest.fixture(scope="module")
def refusing(made: Path, lock: Lock, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of it, with locks of something else."""
    at = tmp_path_factory.mktemp("refusing")
    shutil.copytree(made, at, dirs_exist_ok=True)
    write(attrs.evolve(lock, files={**lock.files, VECTORS: D}), at / "tallystick.lock")
    rule_sets = {name: each for name, each in lock.rule_sets.items() if "skills" not in name}
    write(attrs.evolve(lock, rule_sets=rule_sets), at / "my.lock")
    return at


@pytest.fixture
def untouched(refusing: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The copy as the working folder, in which nothing is done."""
    for path in refusing.glob("out.db*"):
        path.unlink()
    monkeypatch.chdir(refusing)
    return refusing


@pytest.mark.parametrize(
    "command", fast_rows(map(pytest.param, HELD), 0, 2, 5, 7, 9, 12), ids=NAMES
)
def test_what_differs_is_refused_and_nothing_is_done(
    untouched: Path, command: tuple[str, ...]
) -> None:
    before = stored()
    found = run(*command, "--locked")
    assert (found.status, found.out) == (1, "")
    assert f"\nthe file {VECTORS}: found sha256:" in found.err
    assert stored() == before
    assert not list(untouched.glob("out.*"))


@pytest.mark.parametrize(
    "command",
    fast_rows([pytest.param(each) for each in HELD if each[0] not in NO_RULES], 0, 2, 5, 8, 12),
    ids=lambda each: each[0],
)
def test_rules_that_are_not_locked_are_refused_and_nothing_is_done(
    untouched: Path, command: tuple[str, ...]
) -> None:
    before = stored()
    found = run(*command, "--lock", "my.lock", "--json")
    assert found.status == 1
    assert found.json()["code"] == "rules-not-locked"
    assert "found the rule set skills@1." in found.err
    assert stored() == before
    assert not [path for path in untouched.glob("out.*") if not path.name.startswith("out.db")]
    # an empty database may remain, which is no state
    assert run("state", "info", "--state", "out.db").status == 2


def test_what_is_locked_is_done_as_without(folder: Path, lock: Lock) -> None:
    write(lock, folder / "tallystick.lock")
    plain = run("score", SKILLS, *RULES, "-o", "plain.jsonl")
    held = run("score", SKILLS, *RULES, "--locked", "-o", "out.jsonl")
    assert (plain.status, held.status) == (0, 0)
    assert Path("out.jsonl").read_bytes() == Path("plain.jsonl").read_bytes()
    receipts = [Path(f"{name}.jsonl.receipt.json").read_bytes() for name in ("plain", "out")]
    assert receipts[0] == receipts[1]
    assert run("epoch", "close", "--epoch", "0", *STATE, "--locked").status == 0
    assert run("state", "import", "state.jsonl", "--state", "copy.db", "--locked").status == 0


def test_the_environment_and_the_settings_hold_a_command(
    folder: Path, lock: Lock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    digest = ("weights", "--state", "state.db")
    assert run(*digest).status == 0
    write(attrs.evolve(lock, files={**lock.files, VECTORS: D}), folder / "tallystick.lock")
    assert run(*digest).status == 0
    monkeypatch.setenv("TALLYSTICK_LOCKED", "1")
    assert run(*digest).status == 1
    monkeypatch.setenv("TALLYSTICK_LOCKED", "0")
    assert run(*digest).status == 0
    write(lock, folder / "other.lock")
    monkeypatch.setenv("TALLYSTICK_LOCK", "tallystick.lock")
    assert run(*digest).status == 1
    assert run(*digest, "--lock", "other.lock").status == 0
    monkeypatch.delenv("TALLYSTICK_LOCK")
    (folder / "tallystick.toml").write_text("locked = true\n")
    monkeypatch.delenv("TALLYSTICK_LOCKED")
    assert run(*digest).status == 1
    (folder / "tallystick.toml").write_text('lock = "other.lock"\n')
    assert run(*digest).status == 0


def test_without_a_lock_a_held_command_does_nothing(folder: Path) -> None:
    found = run("score", SKILLS, *RULES, "--locked", "-o", "out.jsonl")
    assert found.status == 2
    assert "found no tallystick.lock" in message_of(found)
    assert not list(folder.glob("out.*"))


def test_a_command_that_scores_or_writes_a_state_can_be_held() -> None:
    """A new one is listed here, or below with what it does instead."""
    taking = {name for name, command in COMMANDS.items() if "--locked" in _options(command)}
    assert taking == {*NAMES, *DAEMON}


def _options(command: click.Command) -> set[str]:
    return {option for param in command.params for option in param.opts}


READ_ONLY = re.compile(
    r"rules |plugins |records |sign |keys |trust (new|check)$|"
    r"(lock|demo|verify|audit states|yuma|simulate)$|"
    r"state (info|show|board|digest|export|backup|verify|rules|proof|checkpoint)\b|"
    r"(epoch|round|miner|quarantine) (list|show)$|chain |serve$"
)


def test_a_command_that_cannot_be_held_writes_no_state_and_scores_nothing_of_a_user() -> None:
    held = {*NAMES, *DAEMON}
    free = {name for name in COMMANDS if name not in held and not READ_ONLY.match(name)}
    assert free == set()
