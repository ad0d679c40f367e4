"""A transaction is whole or nothing, whatever happens to it, and one writes at a time."""

import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from state.store.filled import close_rounds, contents, event, made, record

import tallystick
from tallystick.errors import StoreError
from tallystick_state.store import connection
from tallystick_state.store.connection import Connection
from tallystick_state.store.store import Store, create_schema

TESTS = Path(__file__).parents[2]
ENGINE = Path(tallystick.__file__).parents[1]


class Interrupted(BaseException):
    """Leaves a block as Ctrl-C does."""


def python(program: str, *arguments: str) -> subprocess.Popen[str]:
    """A process that runs a program with the fixtures of these tests."""
    path = f"import sys; sys.path += [{str(ENGINE)!r}, {str(TESTS)!r}]\n"
    return subprocess.Popen(
        [sys.executable, "-c", path + program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("error", [ValueError, StoreError, Interrupted])
def test_a_block_that_raises_leaves_everything_as_it_was(
    where: str, error: type[BaseException]
) -> None:
    store = made(where, [event(1)])
    before = contents(store)
    with pytest.raises(error):
        _write_and_raise(store, error)
    assert contents(store) == before
    with store.writing() as transaction:
        record(transaction, [event(2)])
    assert contents(store) != before


def _write_and_raise(store: Store, error: type[BaseException]) -> None:
    with store.writing() as transaction:
        record(transaction, [event(2)])
        close_rounds(transaction, [(1, None)])
        raise error


def test_a_block_that_raises_makes_no_store(where: str) -> None:
    with suppress(Interrupted), Store.create(where) as (_, transaction):
        record(transaction, [event(1)])
        raise Interrupted
    with pytest.raises(StoreError, match="found no store, expected the store of a state: run"):
        Store.open(where)
    store = made(where, [event(1)])
    assert contents(Store.open(where)) == contents(store)


def test_a_transaction_sees_what_it_wrote_and_others_see_it_once_it_is_done(where: str) -> None:
    store = made(where, [event(1)])
    before = contents(store)
    with store.reading() as early:
        assert early.head()
        with store.writing() as transaction:
            record(transaction, [event(2)])
            assert list(transaction.events(0)) == [event(1), event(2)]
            assert contents(store) == before
        assert contents(store) != before
        assert list(early.events(0)) == [event(1)]


def test_a_second_writer_says_in_the_end_that_the_store_is_locked(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = made(where, [event(1)])
    monkeypatch.setattr(connection, "TIMEOUT", 0)
    impatient = Store.open(where)
    with store.writing() as transaction:
        record(transaction, [event(2)])
        with pytest.raises(StoreError) as found, impatient.writing():
            pass
        assert "found the store locked by another process, expected it to be free within 0 s" in (
            str(found.value)
        )
    with impatient.writing() as transaction:
        record(transaction, [event(3)])
    assert len(_entries(store)) == 3


def _entries(store: Store) -> list[object]:
    with store.reading() as transaction:
        return list(transaction.entries())


@contextmanager
def beginning(path: Path) -> Iterator[sqlite3.Connection]:
    """What another process has that is making a store: the lock of a file that is still empty."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


@pytest.mark.parametrize("makes", [False, True])
def test_who_comes_while_another_makes_a_store_waits_for_what_becomes_of_it(
    tmp_path: Path, makes: bool
) -> None:
    where = str(tmp_path / "s.db")
    with beginning(Path(where)) as other, ThreadPoolExecutor(1) as pool:
        if makes:
            create_schema(Connection(other, "?"))
        waiting = pool.submit(made, where)
        time.sleep(0.2)
        assert not waiting.done()
        (other.commit if makes else other.rollback)()
        if makes:
            with pytest.raises(StoreError, match="found a store, expected none"):
                waiting.result()
        else:
            waiting.result()
    Store.open(where)


def test_who_comes_while_another_makes_a_store_does_not_wait_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.db"
    monkeypatch.setattr(connection, "TIMEOUT", 0.2)
    with (
        beginning(path),
        pytest.raises(StoreError) as found,
        Store.create(str(path)),
    ):
        pass
    assert "found the store locked by another process, expected it to be free within 0.2 s" in (
        str(found.value)
    )
    assert path.read_bytes() == b""


READ_AND_WRITE = """
from state.store.filled import record, event
from tallystick_state.store import connection
from tallystick_state.store.store import Store
connection.TIMEOUT = 0
store = Store.open(sys.argv[1])
# whoever is last to leave a file of SQLite clears up beside it
with store.reading() as transaction:
    print(len(list(transaction.entries())), flush=True)
with store.writing() as transaction:
    record(transaction, [event(n) for n in range(100, 300)])
"""


@pytest.mark.process
@pytest.mark.parametrize("what", [Store.open, made])
def test_a_writer_keeps_its_lock_when_its_process_opens_the_store_once_more(
    tmp_path: Path, what: Callable[[str], Store]
) -> None:
    where = str(tmp_path / "s.db")
    store = made(where, [event(1)])
    with store.writing() as transaction:
        record(transaction, [event(2)])
        with suppress(StoreError):
            what(where)
        with python(READ_AND_WRITE, where) as process:
            said, errors = process.communicate()
    assert said == "1\n"
    assert "StoreError" in errors
    assert "found the store locked by another process" in errors
    assert len(_entries(Store.open(where))) == 2
