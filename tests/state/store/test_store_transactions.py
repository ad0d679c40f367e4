"""A transaction is whole or nothing, whatever happens to it, and one writes at a time."""

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Barrier, Timer

import pytest
from state.store.filled import contents, event, made, record

import tallystick
from tallystick.errors import StoreError
from tallystick_state.chain import check
from tallystick_state.store.connection import Connection
from tallystick_state.store.schema import create_schema
from tallystick_state.store.store import Store
from tallystick_state.store.tables import EVENTS

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
        transaction.put_round(1, None)
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


def test_a_reader_sees_one_instant_also_of_what_it_reads_late(where: str) -> None:
    store = made(where, [event(n) for n in range(150)])
    with store.reading() as transaction:
        entries = transaction.entries()
        first = next(entries)
        with store.writing() as other:
            record(other, [event(n) for n in range(150, 200)])
        assert len([first, *entries]) == 150
        assert len(list(transaction.rows(EVENTS))) == 150


def test_reading_cannot_write(where: str) -> None:
    store = made(where)
    before = contents(store)
    refused = pytest.raises(StoreError, match="found a store that can only be read")
    with refused, store.reading() as transaction:
        record(transaction, [event(1)])
    assert contents(store) == before


def test_a_second_writer_waits_and_then_says_that_the_store_is_locked(where: str) -> None:
    store = made(where, [event(1)])
    impatient = Store.open(where, timeout=0.2)
    with store.writing() as transaction:
        record(transaction, [event(2)])
        start = time.monotonic()
        with pytest.raises(StoreError) as found, impatient.writing():
            pass
        assert time.monotonic() - start > 0.1
        assert "found the store locked by another process, expected it to be free within 0.2 s" in (
            str(found.value)
        )
    with impatient.writing() as transaction:
        record(transaction, [event(3)])
    assert len(_entries(store)) == 3


def _entries(store: Store) -> list[object]:
    with store.reading() as transaction:
        return list(transaction.entries())


def test_writers_take_turns(where: str) -> None:
    made(where)
    start = Barrier(4, timeout=600)

    def write(worker: int) -> None:
        store = Store.open(where)
        start.wait()
        for number in range(5):
            with store.writing() as transaction:
                record(transaction, [event(10 * worker + number)])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    with Store.open(where).reading() as transaction:
        head = transaction.head()
        assert head is not None
        assert head.entries == 20
        assert len(list(check(transaction.entries(), count=20, last=head.hash))) == 20


def test_of_several_that_make_a_store_one_does(where: str) -> None:
    start = Barrier(4, timeout=600)

    def make(worker: int) -> str:
        start.wait()
        try:
            made(where, [event(worker)])
        except StoreError as error:
            return str(error)
        return "made"

    with ThreadPoolExecutor(4) as pool:
        said = sorted(pool.map(make, range(4)))
    assert said.count("made") == 1
    assert [each for each in said if "found a store, expected none" not in each] == ["made"]
    assert len(_entries(Store.open(where))) == 1


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
    with beginning(Path(where)) as other:
        if makes:
            create_schema(Connection(other, "?"))
        end = Timer(0.3, other.commit if makes else other.rollback)
        end.start()
        try:
            if makes:
                with pytest.raises(StoreError, match="found a store, expected none"):
                    made(where)
            else:
                made(where)
        finally:
            end.join()
    Store.open(where)


def test_who_comes_while_another_makes_a_store_does_not_wait_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with beginning(path):
        start = time.monotonic()
        with pytest.raises(StoreError) as found, Store.create(str(path), timeout=0.2):
            pass
        assert time.monotonic() - start > 0.1
    assert "found the store locked by another process, expected it to be free within 0.2 s" in (
        str(found.value)
    )
    assert path.read_bytes() == b""


READ_AND_WRITE = """
from state.store.filled import record, event
from tallystick_state.store.store import Store
store = Store.open(sys.argv[1], timeout=0.2)
# whoever is last to leave a file of SQLite clears up beside it
with store.reading() as transaction:
    print(len(list(transaction.entries())), flush=True)
with store.writing() as transaction:
    record(transaction, [event(n) for n in range(100, 300)])
"""


@pytest.mark.parametrize("what", [Store.open, made])
def test_a_writer_keeps_its_lock_when_its_process_opens_the_store_once_more(
    where: str, what: Callable[[str], Store]
) -> None:
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


WRITE_AND_WAIT = """
from state.store.filled import record, event
from tallystick_state.store.store import Store
with Store.open(sys.argv[1]).writing() as transaction:
    record(transaction, [event(n) for n in range(100, 3000)])
    print("written", flush=True)
    sys.stdin.read()
    import time; time.sleep(60)
"""

MAKE_AND_WAIT = """
from state.store.filled import record, event
from tallystick_state.store.store import Store
with Store.create(sys.argv[1]) as (store, transaction):
    record(transaction, [event(n) for n in range(3000)])
    print("written", flush=True)
    import time; time.sleep(60)
"""


def kill_when_written(program: str, where: str) -> None:
    with python(program, where) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
    assert line == "written\n", errors


def test_a_process_that_is_killed_leaves_everything_as_it_was(where: str) -> None:
    store = made(where, [event(1)])
    before = contents(store)
    kill_when_written(WRITE_AND_WAIT, where)
    assert contents(store) == before
    with store.writing() as transaction:
        record(transaction, [event(2)])
    assert len(_entries(store)) == 2


def test_a_process_that_is_killed_makes_no_store(where: str) -> None:
    kill_when_written(MAKE_AND_WAIT, where)
    with pytest.raises(StoreError, match="found no store"):
        Store.open(where)
    assert len(_entries(made(where, [event(1)]))) == 1


FILL = """
import resource
from pathlib import Path
from state.store.filled import made, record, event
from tallystick.errors import StoreError
from tallystick_state.store.store import Store
room = int(sys.argv[2])
many = 20_000 if room > 1_000_000 else 5_000
sys.dont_write_bytecode = True
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
try:
    if sys.argv[3] == "make":
        made(sys.argv[1], [event(n) for n in range(many)])
    with Store.open(sys.argv[1]).writing() as transaction:
        record(transaction, [event(n) for n in range(100, many)])
except StoreError as error:
    print(error)
"""


@pytest.mark.parametrize(
    "room", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (40_000, 5_000_000)), 500_000]
)
@pytest.mark.parametrize("how", ["make", "open"])
def test_a_full_disk_leaves_everything_as_it_was(tmp_path: Path, room: int, how: str) -> None:
    path = tmp_path / "s.db"
    before = contents(made(str(path), [event(1)])) if how == "open" else None
    with python(FILL, str(path), str(room), how) as process:
        said, errors = process.communicate()
    assert "found no room to write, expected some on the disk" in said, said + errors
    assert len(said.splitlines()) == 1
    if before is not None:
        assert contents(Store.open(str(path))) == before
    else:
        with pytest.raises(StoreError, match="found no store"):
            Store.open(str(path))
        made(str(path))


def test_a_store_is_closed_at_the_end_of_a_block(where: str) -> None:
    made(where)
    with Store.open(where).reading() as transaction:
        assert transaction.head()
