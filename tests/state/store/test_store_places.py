"""Where a store may be, and what is said of every other place; nothing there is ever changed."""

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from state.databases import database_of, drop_database, new_database
from state.store.filled import contents, event, made, record

from tallystick.errors import StoreError
from tallystick_state.store import connection
from tallystick_state.store.connection import TIMEOUT
from tallystick_state.store.store import Store

NOBODY = 65534


def refused(where: str) -> tuple[str, str]:
    """What opening a place says, and what making a store there says."""
    with pytest.raises(StoreError) as opened:
        Store.open(where)
    with pytest.raises(StoreError) as created, Store.create(where):
        pass
    return str(opened.value), str(created.value)


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
@pytest.mark.parametrize("name", ["s.db", "mit leer ß%20?x#y.db"])
def test_a_file_is_named_by_a_path_or_a_url(tmp_path: Path, form: str, name: str) -> None:
    if form != "{}" and "?" in name:
        name = "mit leer ß.db"
    path = tmp_path / name
    store = made(form.format(path), [event(1)])
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert contents(Store.open(str(path))) == contents(store)


@pytest.mark.nightly
def test_a_server_is_named_with_or_without_its_driver(database: str) -> None:
    store = made(database, [event(1)])
    other = Store.open(database.replace("postgresql:", "postgresql+psycopg:", 1))
    assert contents(other) == contents(store)


def test_a_file_is_in_wal_mode_and_commits_are_synced(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    made(str(path))
    # the module as users have it: the tests themselves do not wait for the disk
    spec = find_spec(connection.__name__)
    assert spec is not None
    assert spec.loader is not None
    fresh = module_from_spec(spec)
    spec.loader.exec_module(fresh)
    _, _, connect = fresh.connecting(str(path), create=False)
    with closing(connect("write")) as opened:
        names = ("journal_mode", "synchronous", "busy_timeout")
        found = [opened.execute(f"PRAGMA {name}").fetchone()[0] for name in names]
    assert found == ["wal", 2, 1000 * TIMEOUT]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("mysql://host/x", "mysql://host/x: found no place for a store, expected a path, sqlite:"),
        ("sqlite://", "found no place for a store"),
        ("sqlite:///:memory:", "found no place for a store"),
        ("sqlite:///s.db?mode=memory", "found no place for a store"),
        ("sqlite+aiosqlite:///s.db", "found no place for a store"),
        ("postgresql://host:port/x", "found a URL that cannot be read, expected a path"),
        ("postgresql+asyncpg://u:secret@h/d", "u:***@h/d: found postgresql+asyncpg, expected a"),
        ("postgresql://u:secret@localhost:1/d", "u:***@localhost:1/d: found no connection to the"),
    ],
)
def test_a_place_that_is_none_is_refused(where: str, message: str) -> None:
    for said in refused(where):
        assert message in said
        assert "secret" not in said


def test_a_missing_driver_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallystick_state.store.connection.find_spec", lambda _: None)
    for said in refused("postgresql://host/database"):
        assert "expected it for PostgreSQL: run pip install 'tallystick[postgres]'" in said


@pytest.mark.nightly
def test_a_missing_database_is_told(database: str) -> None:
    missing = urlsplit(database)._replace(path="/missing").geturl()
    for said in refused(missing):
        assert "found no connection to the database (" in said
        assert 'database "missing" does not exist' in said


def test_a_missing_file_is_told_and_not_made(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with pytest.raises(StoreError) as found:
        Store.open(str(path))
    expected = "found no such file, expected the store of a state: run tallystick state init"
    assert str(found.value) == f"{path}: {expected}"
    assert list(tmp_path.iterdir()) == []


def test_a_store_is_not_made_in_a_folder_that_is_missing(tmp_path: Path) -> None:
    refused = pytest.raises(StoreError, match="found no folder ")
    with refused, Store.create(str(tmp_path / "missing" / "s.db")):
        pass


def _books(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE books (title TEXT)")


PLANTED: dict[str, Callable[[Path], object]] = {
    "a folder, expected the file of a store: name a file in it": Path.mkdir,
    "a file that is not a database, expected the store": lambda path: path.write_bytes(b"x"),
    "a database with the table books, expected": _books,
}


@pytest.mark.parametrize("message", PLANTED)
def test_what_is_no_store_is_told_and_left_alone(tmp_path: Path, message: str) -> None:
    path = tmp_path / "s.db"
    PLANTED[message](path)
    before = path.read_bytes() if path.is_file() else b""
    for said in refused(str(path)):
        assert said.startswith(f"{path}: found {message}")
    assert (path.read_bytes() if path.is_file() else b"") == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", ["empty", "database"])
def test_an_empty_file_is_no_store_but_may_become_one(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "s.db"
    path.touch()
    if kind == "database":
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.close()
        assert path.stat().st_size
    with pytest.raises(StoreError, match="found no store, expected the store of a state: run"):
        Store.open(str(path))
    made(str(path))
    Store.open(str(path))


@pytest.mark.nightly
def test_a_database_of_postgresql_may_hold_something_else_too(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE TABLE books (title TEXT)")
    with pytest.raises(StoreError, match="found no store, expected the store of a state: run"):
        Store.open(database)
    made(database)
    Store.open(database)


def test_a_store_is_made_once(where: str) -> None:
    store = made(where, [event(1)])
    before = contents(store)
    with pytest.raises(StoreError, match="found a store, expected none"), Store.create(where):
        pass
    assert contents(store) == before


@pytest.mark.nightly
def test_a_database_that_is_not_unicode_is_refused(server: str) -> None:
    url = new_database(server, "SQL_ASCII")
    try:
        for said in refused(url):
            assert "found a database in SQL_ASCII, expected UTF8" in said
    finally:
        drop_database(server, url)


@pytest.mark.nightly
def test_a_database_that_may_only_be_read_can_be_read(database: str) -> None:
    store = made(database, [event(1)])
    before = contents(store)
    name = database_of(database)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    refused = pytest.raises(StoreError, match="found a store that can only be read, expected one")
    with refused, store.writing() as transaction:
        record(transaction, [event(2)])
    assert contents(Store.open(database)) == before


@pytest.mark.nightly
def test_a_user_without_rights_is_told(database: str) -> None:
    store = made(database, [event(1)])
    with store.writing() as transaction:
        transaction.connection.execute("REVOKE ALL ON tallystick_log FROM postgres")
        transaction.connection.execute("DROP ROLE IF EXISTS stranger")
        transaction.connection.execute("CREATE ROLE stranger LOGIN")
    stranger = urlsplit(database)
    address = stranger._replace(netloc=f"stranger@{stranger.netloc.rpartition('@')[2]}").geturl()
    with pytest.raises(StoreError, match="found no right to do this in the database"):
        Store.open(address)


READER = """
import os, sys
from tallystick.errors import StoreError
from tallystick_state.store.store import Store

if os.getuid() == 0:
    os.setgid({nobody})
    os.setuid({nobody})
store = Store.open("s.db")
try:
    with store.reading() as transaction:
        print(transaction.head().entries, flush=True)
        sys.stdin.readline()
    with store.writing() as transaction:
        transaction.put_epoch_leaf(0, "{{}}")
except StoreError as error:
    print(error)
"""
"""Reads, goes on reading until it is told to, then writes."""


@contextmanager
def reader(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process of a user who may only read a folder and what is in it."""
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    command = [sys.executable, "-c", READER.format(nobody=NOBODY)]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    pipe = subprocess.PIPE
    try:
        with subprocess.Popen(
            command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment
        ) as process:
            yield process
    finally:
        folder.chmod(0o755)


@pytest.mark.nightly
@pytest.mark.parametrize("is_open", [True, False])
def test_a_store_that_may_only_be_read_can_be_read(is_open: bool) -> None:
    """Where nobody has the store open, SQLite would have to make its files beside it."""
    # not below the folder of the tests, which is closed to others
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        store = made(str(Path(folder) / "s.db"), [event(1)])
        if is_open:
            assert stack.enter_context(store.reading()).head()
        with reader(Path(folder)) as process:
            out, err = process.communicate()
        assert is_open or [path.name for path in Path(folder).iterdir()] == ["s.db"]
    entries, refusal = out.splitlines()
    assert (entries, err) == ("1", "")
    assert refusal.startswith("s.db: found a store that can only be read, expected one that can be")


@pytest.mark.nightly
def test_a_wal_that_a_folder_keeps_from_being_read_is_told() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        store = made(str(path), [event(1)])
        with store.reading() as transaction:
            assert transaction.head()
            with store.writing() as writing:
                record(writing, [event(2)])
            wal = path.with_name("s.db-wal").read_bytes()
        path.with_name("s.db-wal").write_bytes(wal)
        with reader(Path(folder)) as process:
            out, err = process.communicate()
    assert out == ""
    assert (
        "s.db: found a store in a folder that cannot be written, whose last changes stand in "
        in err
    )
    assert "s.db-wal, expected one that was closed" in err


@pytest.mark.nightly
def test_a_store_that_is_written_while_it_is_read_without_locks_is_told() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        store = made(str(path), [event(1)])
        with reader(Path(folder)) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "1\n"
            path.parent.chmod(0o755)
            path.chmod(0o644)
            with store.writing() as transaction:
                record(transaction, [event(2)])
            out, err = process.communicate("go on\n")
    assert err == ""
    assert out.startswith("s.db: found that the store was written while it was read")
