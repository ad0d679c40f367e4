"""The chain of the log, and the digests of documents: what they cover, and what they find."""

import json
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from cli.command import run
from state.store.filled import event, made, record
from state.store.test_store_contents import Undone
from work import calls

from tallystick.errors import DamagedError
from tallystick_state.chain import GENESIS_HASH, chained
from tallystick_state.store.connection import Connection
from tallystick_state.store.store import LIMIT, Store


def test_an_event_whose_row_says_otherwise_than_its_entry_is_found(where: str) -> None:
    store = made(where, [event(1), event(2)])
    for change in ("counted_in = 1", "hotkey = '5B'", "rank = 9", "epoch = 7"):
        with suppress(Undone), store.writing() as transaction:
            head = transaction.head()
            assert head is not None
            assert len(transaction.counting(0, head.entries, head.hash)) == 2
            transaction.connection.execute(f"UPDATE tallystick_claims SET {change} WHERE seq = 2")  # noqa: S608  # ours
            with pytest.raises(DamagedError, match=r"row 2 of tallystick_claims: found "):
                transaction.counting(0, head.entries, head.hash)
            raise Undone


@pytest.mark.parametrize("size", [0, LIMIT])
def test_the_pages_of_a_small_file_are_checked_once_before_it_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    where, checks = str(tmp_path / "s.db"), list[int]()
    made(where, [event(1)])
    monkeypatch.setattr("tallystick_state.store.store.LIMIT", size)
    monkeypatch.setattr(Connection, "check_pages", lambda _: checks.append(1))
    store = Store.open(where)
    for number in range(3):
        with store.writing() as transaction:
            record(transaction, [event(10 + number)])
    assert len(checks) == bool(size)


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
    found = run("state", "verify", "--state", path)
    message = found.err.removeprefix("error: ")
    assert found.status == 1
    assert message.startswith(f"{path}: found a damaged store, expected a sound one: ")
    assert json.dumps(message).isascii()


def test_no_kind_makes_the_line_of_another_entry() -> None:
    body = '1,"kind":"a","seq":1}'
    split = chained(GENESIS_HASH, 2, "b", body)
    assert split.hash != chained(GENESIS_HASH, 2, 'a","seq":1},"kind":"b', "1").hash


def test_chaining_is_little_work() -> None:
    """An entry is one hash of its line; the body is text already, and is not made again."""
    body = "x" * 400

    def chain() -> None:
        previous = GENESIS_HASH
        for seq in range(1, 1001):
            previous = chained(previous, seq, "signal", body).hash

    assert calls(chain) < 12_000
