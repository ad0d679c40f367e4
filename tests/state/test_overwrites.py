"""Damage of a live store is refused before anything is written over it, or is none."""

import random
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from cli.command import message_of, run
from examples import fast_rows
from psycopg.sql import SQL, Identifier
from state.databases import drop_database, new_database
from state.overwriting import EPOCHS, LONGEST, Live, fill, live, more_lines, outcome, trial
from state.resealed import reseal
from state.subnet import written

from tallystick.errors import DamagedError, StoreError
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_state.store.store import Store
from tallystick_state.store.tables import CHECKED

SEED = 21


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Live:
    return live(tmp_path_factory.mktemp("live"))


def ends_of(store: Live, folder: Path, seeds: Iterable[int]) -> Counter[str]:
    """How often the trials end in which way; a fault is told with its seed."""
    ends, faults = Counter[str](), list[str]()
    for seed in seeds:
        end, message = trial(store, seed, folder / "trial")
        ends[end] += 1
        if end == "fault":
            faults.append(f"seed {seed}, {message}")
    assert faults == []
    return ends


def test_a_store_that_nobody_overwrote_is_sound(store: Live, tmp_path: Path) -> None:
    store.put(tmp_path / "state.db")
    assert outcome(str(tmp_path / "state.db")) == ("sound", "")


@pytest.mark.parametrize("trials", fast_rows([8, 25], 0))
def test_an_overwrite_is_refused_or_changes_nothing(
    store: Live, tmp_path: Path, trials: int
) -> None:
    ends = ends_of(store, tmp_path, range(SEED, SEED + trials))
    assert ends["refused"] > trials // 8


@pytest.mark.nightly
def test_a_thousand_overwrites_are_refused_or_change_nothing(store: Live, tmp_path: Path) -> None:
    ends = ends_of(store, tmp_path, range(1000))
    assert ends["refused"] > 200
    assert sum(ends.values()) == 1000


@pytest.mark.parametrize("command", ["round", "epoch"])
def test_the_refusal_names_the_file_and_the_way_back(
    store: Live, tmp_path: Path, command: str
) -> None:
    """A damaged page that no step of the command reads, but the check before it."""
    path = tmp_path / "state.db"
    whole = bytearray(store.database)
    # the text of the first snapshot, which nothing reads once its epoch is closed
    start = whole.index(b'{"evidence":null,"format":1')
    whole[start + 100 : start + 104] = b"\x00\x01\x02\x03"
    Live(bytes(whole), store.wal).put(path)
    words: tuple[object, ...] = ("epoch", "close", "--epoch", EPOCHS - 1)
    if command == "round":
        words = ("round", "close", written(tmp_path / "r.jsonl", more_lines()))
    found = run(*words, "--state", path)
    assert (found.status, found.out) == (2, "")
    assert found.err.startswith(f"error: {path}: row 0 of tallystick_snapshots: found ")
    assert "tallystick state restore" in found.err


def test_verify_names_the_users_own_file(store: Live, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    for seed in range(5):
        _, message = trial(store, seed, tmp_path / "trial")
        assert "replayed" not in message
    whole = bytearray(store.database)
    for start in range(4096, len(whole), 4096):
        whole[start : start + LONGEST] = bytes(LONGEST)
    Live(bytes(whole), b"").put(path)
    message = message_of(run("state", "verify", "--state", path))
    assert message.startswith(f"{path}: found ")


def test_damage_of_one_of_two_stores_is_named(store: Live, tmp_path: Path) -> None:
    """Whichever is opened first, and by whomever it is found."""
    sound, damaged = tmp_path / "sound.db", tmp_path / "damaged.db"
    for path in (sound, damaged):
        store.put(path)
    with closing(sqlite3.connect(damaged)) as connection, connection:
        connection.execute("UPDATE tallystick_head SET epoch = 1")
    for pair in ((sound, damaged), (damaged, sound)):
        stores = [Store.open(str(path)) for path in pair]
        with (
            pytest.raises(DamagedError, match=f"^{damaged}: row 1 of tallystick_head: ") as found,
            stores[0].reading() as first,
            stores[1].reading() as second,
        ):
            assert first.head() != second.head()
        assert str(found.value).count(str(damaged)) == 1
        assert str(sound) not in str(found.value)


def test_damage_that_verify_finds_in_an_index_is_refused(store: Live, tmp_path: Path) -> None:
    """An index answers with other rows than its table has, which `quick_check` does not see."""
    path = tmp_path / "state.db"
    store.put(path)
    with Ledger.open(str(path)) as ledger:
        ledger.clear("hk-1")
        with ledger.store.writing() as transaction:
            transaction.connection.execute("PRAGMA writable_schema = ON")
            transaction.connection.execute(
                "UPDATE sqlite_master SET sql = replace(sql, ?, ?) "
                "WHERE name = 'tallystick_log_clear'",
                ("= 'clear'", "= 'klear'"),
            )
    with Ledger.open(str(path)) as ledger:
        with pytest.raises(StoreError, match="damaged or changed"):
            ledger.close_epoch()
        with pytest.raises(StoreError, match="damaged or changed"):
            verify(ledger)


def cells(url: str) -> list[tuple[str, str, tuple[object, ...]]]:
    """Every cell of every table of a state in PostgreSQL: table, column, key."""
    found = list[tuple[str, str, tuple[object, ...]]]()
    with psycopg.connect(url) as connection:
        for table in CHECKED:
            names = SQL(", ").join(map(Identifier, table.keys))
            query = SQL("SELECT {} FROM {}").format(names, Identifier(table.name))
            found += [
                (table.name, name, key)
                for key in connection.execute(query).fetchall()
                for name in (*table.names, "checksum")
            ]
    return found


def change_cell(url: str, rng: random.Random, cell: tuple[str, str, tuple[object, ...]]) -> str:
    """Change a cell by SQL, or take its row out; gives what was done, empty where nothing was."""
    table, column, key = cell
    keys = {each.name: each.keys for each in CHECKED}
    where = SQL(" AND ").join(SQL("{} = %s").format(Identifier(name)) for name in keys[table])
    with psycopg.connect(url) as connection:
        row = connection.execute(
            SQL("SELECT {} FROM {} WHERE {}").format(Identifier(column), Identifier(table), where),
            key,
        ).fetchone()
        assert row is not None
        other = _other(row[0], rng)
        if rng.random() < 0.1:
            change = SQL("DELETE FROM {} WHERE {}").format(Identifier(table), where)
            connection.execute(change, key)
            return f"{table} {key} deleted"
        change = SQL("UPDATE {} SET {} = %s WHERE {}").format(
            Identifier(table), Identifier(column), where
        )
        connection.execute(change, (other, *key))
    return f"{table}.{column} {key}: {row[0]!r:.60} became {other!r:.60}"


def _other(value: object, rng: random.Random) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value ^ (1 << rng.randrange(20))
    if isinstance(value, bytes):
        place = rng.randrange(len(value))
        return value[:place] + bytes([value[place] ^ 1]) + value[place + 1 :]
    text = str(value or "")
    place = rng.randrange(len(text) + 1)
    return text[:place] + rng.choice("0aZ~") + text[place + 1 :] + ("" if text else "x")


def changed_cells(server: str, seeds: Iterable[int]) -> Counter[str]:
    """What closing a round and an epoch comes to after a random change by SQL, by how it ends."""
    ends, faults = Counter[str](), list[str]()
    url = new_database(server)
    try:
        fill(url)
        every = cells(url)
        for seed in seeds:
            copy = new_database(server, template=url)
            try:
                rng = random.Random(seed)
                done = change_cell(copy, rng, rng.choice(every))
                end, message = outcome(copy)
            except psycopg.IntegrityError:
                # a key that is there already, or one that is none
                ends["refused by PostgreSQL"] += 1
                continue
            finally:
                drop_database(server, copy)
            ends[end] += 1
            if end == "fault":
                faults.append(f"seed {seed}: {done}: {message}")
    finally:
        drop_database(server, url)
    assert faults == []
    return ends


@pytest.mark.nightly
def test_a_cell_that_sql_changed_is_refused_or_changes_nothing(server: str) -> None:
    assert changed_cells(server, range(SEED, SEED + 12))["refused"] > 6


@pytest.mark.nightly
def test_two_hundred_cells_that_sql_changed_are_refused_or_change_nothing(server: str) -> None:
    assert changed_cells(server, range(200))["refused"] > 180


def test_a_ledger_that_stays_open_checks_what_others_changed(store: Live, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    store.put(path)
    with Ledger.open(str(path)) as ledger:
        ledger.clear("hk-0")
        whole = bytearray(path.read_bytes())
        start = whole.index(b'{"evidence":null,"format":1')
        whole[start + 100 : start + 104] = b"\x00\x01\x02\x03"
        path.write_bytes(whole)
        with pytest.raises(StoreError, match=f"^{path}: "):
            ledger.close_round(more_lines())


@pytest.mark.parametrize("end", ["clean", "killed"])
def test_above_the_limit_what_is_not_read_is_checked_as_an_epoch_closes_and_after_a_kill(
    store: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr("tallystick_state.store.store.LIMIT", 0)
    path = tmp_path / "state.db"
    whole = bytearray(store.database)
    start = whole.index(b'{"evidence":null,"format":1')
    whole[start + 100 : start + 104] = b"\x00\x01\x02\x03"
    store.put(path)
    if end == "clean":
        # whoever writes takes over what stands in the WAL
        with Ledger.open(str(path)) as ledger:
            ledger.clear("hk-0")
        assert not path.with_name("state.db-wal").exists()
    path.write_bytes(whole)
    if end == "killed":
        # reading leaves the WAL to who writes next
        run("state", "info", "--state", path)
        with Ledger.open(str(path)) as ledger, pytest.raises(DamagedError):
            ledger.close_round(more_lines())
        return
    with Ledger.open(str(path)) as ledger:
        ledger.close_round(more_lines())
        with pytest.raises(DamagedError, match="row 0 of tallystick_snapshots"):
            ledger.close_epoch()


FORGED = {
    "a kind": "UPDATE tallystick_log SET kind = x'ff' WHERE seq = 2",
    "a snapshot": "UPDATE tallystick_snapshots SET body = 7 WHERE epoch = 0",
    "a number": "UPDATE tallystick_head SET entries = 'many'",
}


@pytest.mark.parametrize("change", FORGED)
def test_a_forger_who_made_the_checksums_anew_meets_an_error(
    store: Live, tmp_path: Path, change: str
) -> None:
    path = tmp_path / "state.db"
    store.put(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(FORGED[change]).rowcount == 1
    reseal(path)
    lines = written(tmp_path / "r.jsonl", more_lines())
    for words in (("round", "close", lines), ("state", "backup", tmp_path / "backup.db")):
        found = run(*words, "--state", path)
        assert (found.status, found.out) == (2, "")
        assert found.err.startswith(f"error: {path}: ")
