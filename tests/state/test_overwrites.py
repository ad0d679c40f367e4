"""Damage of a live store is refused, harmless or found by a replay, and never written over."""

import random
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from cli.command import message_of, run
from examples import fast_rows
from state.overwriting import EPOCHS, Live, ends, live, outcome, trial
from state.test_verification import statements

from tallystick.errors import DamagedError, StoreError
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_state.store.store import LIMIT, Store

SEED = 21


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Live:
    return live(tmp_path_factory.mktemp("live"))


@pytest.fixture(scope="module")
def sound(store: Live, tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    return ends(store, tmp_path_factory.mktemp("sound"))


def ends_of(store: Live, sound: frozenset[str], folder: Path, seeds: Iterable[int]) -> Counter[str]:
    """How often the trials end in which way; a fault is told with its seed."""
    found, faults = Counter[str](), list[str]()
    for seed in seeds:
        end, message = trial(store, seed, folder / "trial", sound)
        found[end] += 1
        if end == "fault":
            faults.append(f"seed {seed}, {message}")
    assert faults == []
    return found


@pytest.mark.parametrize("limit", [LIMIT, 0])
@pytest.mark.parametrize("trials", fast_rows([8, 1000], 0))
def test_nothing_is_written_over_an_overwrite(  # noqa: PLR0913, PLR0917  # three are fixtures
    store: Live,
    sound: frozenset[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trials: int,
    limit: int,
) -> None:
    """With the pages of a small file checked before its first change, and without."""
    monkeypatch.setattr("tallystick_state.store.store.LIMIT", limit)
    found = ends_of(store, sound, tmp_path, range(SEED, SEED + trials))
    assert found["refused"] > trials // 8


def test_what_follows_from_the_log_is_rebuilt(store: Live, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    store.put(path)
    with Ledger.open(path) as ledger, ledger.queries() as queries:
        digest, hash_before = queries.digest(), queries.head.hash
    for change in (
        "UPDATE tallystick_head SET body = 'x'",
        "DELETE FROM tallystick_claims WHERE round = 1",
        "UPDATE tallystick_snapshots SET body = replace(body, '0', '1')",
        "DELETE FROM tallystick_claims WHERE reason IS NOT NULL",
        "UPDATE tallystick_epochs SET body = 'x'",
        "DROP INDEX tallystick_claims_identity",
    ):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(change)
    assert run("state", "verify", "--state", path).status != 0
    done = run("state", "rebuild", "--state", path)
    assert done.out.endswith(f" entries that end in {hash_before}: rebuilt\n")
    with Ledger.open(path) as ledger, ledger.queries() as queries:
        assert queries.digest() == digest
        verify(ledger)
    with closing(sqlite3.connect(path)) as connection, connection:
        last = "(SELECT max(seq) FROM tallystick_log)"
        connection.execute(f"DELETE FROM tallystick_log WHERE seq = {last}")  # noqa: S608  # ours
    before = path.read_bytes()
    assert "entries are lost" in message_of(run("state", "rebuild", "--state", path))
    assert path.read_bytes() == before


def test_the_refusal_names_the_file_and_the_way_back(store: Live, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    store.put(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE tallystick_head SET body = replace(body, '0.5', '0.6')")
    found = run("epoch", "close", "--epoch", EPOCHS - 1, "--state", path)
    assert (found.status, found.out) == (2, "")
    assert found.err.startswith(f"error: {path}: row 1 of tallystick_head: found ")
    assert "tallystick state rebuild" in found.err
    assert "tallystick state import" in found.err


def test_damage_of_one_of_two_stores_is_named(store: Live, tmp_path: Path) -> None:
    """Whichever is opened first, and by whomever it is found."""
    sound, damaged = tmp_path / "sound.db", tmp_path / "damaged.db"
    for path in (sound, damaged):
        store.put(path)
    with closing(sqlite3.connect(damaged)) as connection, connection:
        connection.execute("UPDATE tallystick_head SET body = '{}'")
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


@pytest.mark.parametrize("trials", fast_rows([16, 200], 0))
def test_nothing_is_written_over_a_row_that_sql_changed(
    store: Live, sound: frozenset[str], tmp_path: Path, trials: int
) -> None:
    path, found, faults = tmp_path / "state.db", Counter[str](), list[str]()
    store.put(path)
    for statement, values in random.Random(SEED).sample([*statements(path)], trials):
        store.put(path)
        with suppress(sqlite3.IntegrityError), closing(sqlite3.connect(path)) as connection:
            with connection:
                connection.execute(statement, values)
            end, message = outcome(str(path), sound)
            found[end] += 1
            if end == "fault":
                faults.append(f"{statement} {values}: {message}")
    assert faults == []
    assert found["refused"] > trials // 8
