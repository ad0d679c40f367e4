"""Checksums of rows and tables: what they cover, and what they find."""

import json
from pathlib import Path

import psycopg
import pytest
from cli.command import message_of, run
from state.store.filled import event, made, record

from tallystick.errors import DamagedError, StoreError
from tallystick_state.store import checksums, integrity
from tallystick_state.store.store import Store
from tallystick_state.store.tables import CHECKED


def test_a_checksum_is_the_first_bytes_of_the_hash_of_the_values() -> None:
    # printf '[1,"a",null,1,"AQI="]' | sha256sum
    assert checksums.checksum((1, "a", None, True, b"\x01\x02")) == int.from_bytes(
        bytes.fromhex("e35bdd0db003a5d0"), "big", signed=True
    )


def test_what_a_store_wrote_is_sound(where: str) -> None:
    store = made(where, [event(1), event(2)])
    store.check()
    with store.writing() as transaction:
        record(transaction, [event(3)])
        transaction.put_round(1, "b")
        transaction.put_round(1, "a")
        transaction.put_envelope("s", "one")
        transaction.put_envelope("s", "two")
        transaction.claims.put_counts(b"scope", {(1, 0): 2, (2, 0): 1})
        transaction.claims.put_counts(b"scope", {(2, 0): 3})
        transaction.put_epoch_leaf(0, "{}")
    store.check()
    Store.open(where).check()
    with store.reading() as transaction:
        assert 0 < integrity.size(transaction.connection) < integrity.LIMIT
        connection = transaction.connection
        noted = checksums.totals(connection)
        for table in CHECKED:
            assert noted[table.name][0] == len(list(checksums.rows_of(connection, table)))


CHANGES = {
    "a row that is lost": "DELETE FROM tallystick_rounds WHERE round = 1",
    "the last event": "DELETE FROM tallystick_signals WHERE seq = 2",
    "the last entry": "DELETE FROM tallystick_log WHERE seq = 2",
    "a row that comes twice": "INSERT INTO tallystick_rounds SELECT 2, at, checksum FROM "
    "tallystick_rounds WHERE round = 1",
    "a value": "UPDATE tallystick_signals SET counted_in = 1 WHERE seq = 2",
    "a checksum": "UPDATE tallystick_log SET checksum = checksum + 1 WHERE seq = 2",
    "no checksum": "UPDATE tallystick_log SET checksum = NULL WHERE seq = 2",
    "a total": "UPDATE tallystick_checksums SET total = total + 1 WHERE name = 'tallystick_head'",
    "a number of rows": "UPDATE tallystick_checksums SET rows = 9 WHERE name = 'tallystick_log'",
    "no total": "DELETE FROM tallystick_checksums WHERE name = 'tallystick_epochs'",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_found_before_anything_is_written(where: str, change: str) -> None:
    store = made(where, [event(1), event(2)])
    with store.writing() as transaction:
        transaction.put_round(1, None)
    with store.writing() as transaction:
        transaction.connection.execute(CHANGES[change])
    with pytest.raises(DamagedError) as found, Store.open(where).writing():
        raise AssertionError("a store that is damaged was opened for writing")
    assert str(found.value).startswith(f"{store.shown}: ")
    assert "tallystick state restore" in str(found.value)
    with pytest.raises(StoreError, match="tallystick state restore"):
        store.check()


def test_a_store_is_checked_once_by_who_keeps_it_open(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(where, [event(1)])
    checks = list[int]()
    monkeypatch.setattr("tallystick_state.store.store.check_integrity", lambda _: checks.append(1))
    store = Store.open(where)
    for number in range(3):
        with store.writing() as transaction:
            record(transaction, [event(10 + number)])
    assert len(checks) == 1
    with Store.open(where).writing() as transaction:
        record(transaction, [event(20)])
    assert len(checks) == 2
    with store.writing() as transaction:
        record(transaction, [event(21)])
    assert len(checks) == 3
    with store.writing(whole=True):
        pass
    assert len(checks) == 4


@pytest.mark.nightly
def test_commands_tell_whether_postgresql_has_checksums_of_its_pages(
    database: str, tmp_path: Path
) -> None:
    with psycopg.connect(database) as connection:
        row = connection.execute("SHOW data_checksums").fetchone()
    assert row is not None
    is_on = row[0] == "on"
    begun = run("state", "init", "--rules", "skills@1.0.0", "--state", database)
    assert begun.status == 0
    assert ("without checksums of its pages" in begun.err) is not is_on
    told = run("state", "info", "--state", database)
    assert f"data checksums  {row[0]}\n" in told.out
    info = run("state", "info", "--state", database, "--json").json()
    verified = run("state", "verify", "--state", database, "--json").json()
    assert (info["data_checksums"], verified["data_checksums"]) == (is_on, is_on)
    path = tmp_path / "s.db"
    assert run("state", "init", "--rules", "skills@1.0.0", "--state", path).err == ""
    assert "data_checksums" not in run("state", "info", "--state", path, "--json").json()


def test_a_text_that_is_no_utf8_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    run("state", "init", "--rules", "skills@1.0.0", "--state", path)
    whole = path.read_bytes()
    place = whole.index(b'"rules":[{')
    path.write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
    message = message_of(run("state", "verify", "--state", path))
    assert message.startswith(f"{path}: found a damaged store, expected a sound one: ")
    assert json.dumps(message).isascii()
