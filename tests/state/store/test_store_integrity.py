"""The chain of the log, and the digests of documents: what they cover, and what they find."""

import json
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from cli.command import run
from state.store.filled import close_rounds, event, made, record
from state.store.test_store_contents import Undone

from tallystick.errors import DamagedError
from tallystick_state.store.connection import Connection
from tallystick_state.store.store import LIMIT, Store


def filled(where: str) -> Store:
    """A store with something in each table that a change may be made of."""
    store = made(where, [event(1), event(2)])
    with store.writing() as transaction:
        close_rounds(transaction, [(1, "b"), (1, "a")])
        for counts in ({(1, 0): 2, (2, 0): 1}, {(2, 0): 3}):
            transaction.claims.put_counts(b"scope", counts)
        transaction.put_epoch_leaf(0, "{}")
        assert transaction.claims.counts(b"scope") == {(2, 0): 3}
    return store


def test_what_a_store_wrote_is_sound(where: str) -> None:
    store = filled(where)
    check(store)
    with store.writing() as transaction:
        record(transaction, [event(3)])
    check(Store.open(where))


def check(store: Store) -> None:
    """Look for damage in all of a store."""
    with store.reading() as transaction:
        transaction.check()


CHANGES = {
    "an entry that is lost": "DELETE FROM tallystick_log WHERE seq = 2",
    "the last entry": "DELETE FROM tallystick_log WHERE seq = 4",
    "the text of an entry": "UPDATE tallystick_log SET body = '{}' WHERE seq = 2",
    "the hash of an entry": "UPDATE tallystick_log SET hash = previous WHERE seq = 2",
    "the hash before an entry": "UPDATE tallystick_log SET previous = hash WHERE seq = 2",
    "an entry that comes twice": "INSERT INTO tallystick_log SELECT 5, kind, body, previous, hash "
    "FROM tallystick_log WHERE seq = 4",
    "a digest": "UPDATE tallystick_head SET digest = 'x'",
    "no head": "DELETE FROM tallystick_head",
    "a leaf": "UPDATE tallystick_epochs SET body = '[]'",
    "a count": "UPDATE tallystick_claim_counts SET body = replace(body, '3', '4')",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_found(where: str, change: str) -> None:
    store = filled(where)
    with store.writing() as transaction:
        transaction.connection.execute(CHANGES[change])
    with pytest.raises(DamagedError) as found:
        check(store)
    assert str(found.value).startswith(f"{store.shown}: ")


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
