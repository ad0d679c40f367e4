"""Any change of a store that is not made by the ledger is found by replaying its log."""

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path

import pytest
from cli.command import run
from examples import fast_rows
from state.overwriting import fill
from state.resealed import reseal
from state.subnet import record, written

from tallystick.errors import TallystickError
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.store.store import Store

TABLES = ("head", "log", "claims", "snapshots", "epochs", "claim_counts")
Statement = tuple[str, tuple[object, ...]]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose log has an entry of every kind; its one file holds everything."""
    path = tmp_path_factory.mktemp("filled") / "state.db"
    fill(str(path))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture(scope="module")
def filled_rules(filled: Path) -> RulesInForce:
    with Ledger.open(str(filled)) as ledger:
        return ledger.in_force


def changed(filled: Path, folder: Path, statement: Statement) -> Path:
    """A copy of the store with one change."""
    path = folder / "changed.db"
    shutil.copy(filled, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # a copy that a power failure may take
        connection.execute("PRAGMA synchronous = OFF")
        assert connection.execute(*statement).rowcount == 1
    if not re.search("SET (hash|digest) ", statement[0]):
        reseal(path)
    return path


def outcome(path: Path, rules: RulesInForce) -> str:
    """What verifying a store comes to, without loading its rule set again."""
    try:
        with Ledger(Store.open(str(path)), rules) as ledger:
            verify(ledger)
    except TallystickError:
        return "found"
    except Exception as error:  # noqa: BLE001  # told by the test
        return f"{error!r:.60}"
    return "valid"


def statements(path: Path) -> Iterator[Statement]:
    """Every value of every row changed in some ways, and every row left out."""
    with closing(sqlite3.connect(path)) as connection:
        for table in TABLES:
            name = f"tallystick_{table}"
            cursor = connection.execute(f"SELECT rowid, * FROM {name}")  # noqa: S608  # our names
            columns = [each[0] for each in cursor.description]
            for rowid, *row in cursor.fetchall():
                # a leaf that is lost is computed again
                if table != "epochs":
                    yield f"DELETE FROM {name} WHERE rowid = ?", (rowid,)  # noqa: S608  # our names
                for column, value in zip(columns[1:], row, strict=True):
                    for other in others(value):
                        text = f"UPDATE {name} SET {column} = ? WHERE rowid = ?"  # noqa: S608
                        yield text, (other, rowid)


def others(value: object) -> Iterator[object]:
    """Values beside one."""
    if value is None:
        yield "primary"
    elif isinstance(value, int):
        yield from (value + 1, value + 1000)
    elif isinstance(value, bytes):
        yield bytes([value[0] ^ 1]) + value[1:]
    elif isinstance(value, str):
        digits = [place for place, each in enumerate(value) if each.isdigit()]
        for place in digits[:1] + digits[-1:]:
            yield value[:place] + str((int(value[place]) + 1) % 10) + value[place + 1 :]
        yield value[:-1]
        yield value + " "


def test_the_log_has_every_kind(filled: Path) -> None:
    with closing(sqlite3.connect(filled)) as connection:
        kinds = {row[0] for row in connection.execute("SELECT kind FROM tallystick_log")}
        counts = [
            connection.execute(f"SELECT count(*) FROM tallystick_{table}").fetchone()[0]  # noqa: S608
            for table in TABLES
        ]
    assert kinds == {
        *("genesis", "miner", "signal", "own", "accept", "drop"),
        *("round", "group", "epoch", "clear"),
    }
    assert min(counts) > 0


@pytest.mark.parametrize("step", fast_rows([8, 1], 0))
def test_every_change_of_every_row_is_found(
    filled: Path, filled_rules: RulesInForce, tmp_path: Path, step: int
) -> None:
    ends = list[tuple[str, Statement]]()
    for each in islice(statements(filled), 0, None, step):
        # the database itself refuses a second row of one key
        with suppress(sqlite3.IntegrityError):
            ends.append((outcome(changed(filled, tmp_path, each), filled_rules), each))
    assert len(ends) > 200 // step
    assert [f"{end}: {text} {v!r:.150}" for end, (text, v) in ends if end != "found"] == []


ADDED = {
    "a snapshot": "INSERT INTO tallystick_snapshots SELECT 9, digest, body FROM "
    "tallystick_snapshots WHERE epoch = 1",
    "an entry": "INSERT INTO tallystick_log SELECT 29, kind, body, previous, hash FROM "
    "tallystick_log WHERE seq = 28",
    "an entry before": "INSERT INTO tallystick_log SELECT 0, kind, body, previous, hash FROM "
    "tallystick_log WHERE seq = 1",
    "an entry below 0": "INSERT INTO tallystick_log SELECT -5, kind, body, previous, hash FROM "
    "tallystick_log WHERE seq = 1",
    "a signal": "INSERT INTO tallystick_claims SELECT 29, x'00', rank, counted_in, round, "
    "hotkey, skill_type, role, is_record, epoch, task, scope, reason FROM tallystick_claims "
    "LIMIT 1",
    "an event below 0": "INSERT INTO tallystick_claims SELECT -5, x'00', rank, counted_in, "
    "round, hotkey, skill_type, role, is_record, epoch, task, scope, reason FROM tallystick_claims "
    "LIMIT 1",
    "a head": "INSERT INTO tallystick_head SELECT 2, digest, body FROM tallystick_head",
}


@pytest.mark.parametrize("case", ADDED)
def test_every_row_that_is_added_is_found(
    filled: Path, filled_rules: RulesInForce, tmp_path: Path, case: str
) -> None:
    assert outcome(changed(filled, tmp_path, (ADDED[case], ())), filled_rules) == "found"


COMMANDS = {
    "log body": "UPDATE tallystick_log SET body = replace(body, 'hk-1', 'hk-2') WHERE seq = 3",
    "last entry": "DELETE FROM tallystick_log WHERE seq = 28",
    "genesis JSON": "UPDATE tallystick_log SET body = '{' WHERE seq = 1",
    "snapshot body": "UPDATE tallystick_snapshots SET body = replace(body, '0.5', '0.6') "
    "WHERE epoch = 1",
    "head gone": "DELETE FROM tallystick_head",
    "claims": "UPDATE tallystick_claims SET hotkey = 'hk-2' WHERE seq = 6",
}


@pytest.mark.parametrize("case", COMMANDS)
def test_the_command_finds_a_change_and_no_other_ends_in_a_traceback(
    filled: Path, tmp_path: Path, case: str
) -> None:
    path = changed(filled, tmp_path, (COMMANDS[case], ()))
    found = run("state", "verify", "--state", path)
    assert (found.status, found.out) == (1, "")
    assert found.err.startswith("error: ")
    shown = run("state", "verify", "--state", path, "--json").json()
    assert shown["valid"] is False
    assert f"error: {shown['message']}\n" == found.err
    lines = written(tmp_path / "more.jsonl", [record("t9", round=1, epoch=1)])
    for command in (
        ("state", "show", "hk-1"),
        ("state", "info"),
        ("weights",),
        ("round", "close", lines),
        ("epoch", "close", "--epoch", "1"),
        ("state", "export", tmp_path / "export.jsonl"),
    ):
        assert run(*command, "--state", path).status in {0, 1, 2}


def test_a_schema_that_is_no_utf8_is_told(filled: Path, tmp_path: Path) -> None:
    path, table = tmp_path / "changed.db", b"ON tallystick_claims"
    whole = filled.read_bytes()
    assert table in whole
    path.write_bytes(whole.replace(table, b"ON tallystick_cla\x80ms", 1))
    found = run("state", "verify", "--state", path)
    assert (found.status, "found a damaged store" in found.err) == (1, True)


def test_a_valid_state_in_the_command(filled: Path) -> None:
    found = run("state", "verify", "--state", filled)
    assert (found.status, found.out) == (0, "28 entries lead to 2 snapshots: valid\n")
    shown = run("state", "verify", "--state", filled, "--json").json()
    assert shown == {"valid": True, "entries": 28, "snapshots": 2}
