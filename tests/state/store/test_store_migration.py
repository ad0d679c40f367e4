"""The schema that migrations lead to is the one that the engine reads, on every database.

`versions` has the schema of each released version, as it was: a change of the tables without a
migration is found by it.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect
from state.store.filled import contents, event, made
from state.store.upcoming import NEXT, upcoming_version

from tallystick.errors import StoreError
from tallystick_state.store import schema
from tallystick_state.store.connection import Connection, place_of
from tallystick_state.store.schema import VERSION_TABLE
from tallystick_state.store.store import Store
from tallystick_state.store.tables import PREFIX, TABLES

FOLDER = Path(__file__).parent / "versions"
VERSIONS = sorted({path.name.partition(".")[0] for path in FOLDER.iterdir()})
NOW = schema.REVISION


def differences(connection: Connection) -> list[object]:
    options = {
        "version_table": VERSION_TABLE,
        "compare_type": True,
        "compare_server_default": True,
    }
    with schema.alchemy(connection) as found:
        return list(
            compare_metadata(MigrationContext.configure(found, opts=options), schema.metadata())
        )


def described(connection: Connection) -> dict[str, str]:
    """Every table of ours, as the database tells of it."""
    with schema.alchemy(connection) as found:
        told = inspect(found)
        parts = (
            *(told.get_columns, told.get_pk_constraint, told.get_unique_constraints),
            *(told.get_check_constraints, told.get_foreign_keys),
        )
        return {
            name: json.dumps(
                # types and conditions of an index are equal to themselves alone
                [*(part(name) for part in parts), by_name(told.get_indexes(name))],
                default=str,
            )
            for name in told.get_table_names()
        }


def by_name(indexes: list[Any]) -> list[Any]:
    return sorted(indexes, key=lambda index: str(index["name"]))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_store_of_each_version_becomes_one_of_the_tables(where: str, version: str) -> None:
    with place_of(where, 30, create=True).transaction("write") as connection:
        kind = "sqlite" if connection.is_sqlite else "postgresql"
        for statement in (FOLDER / f"{version}.{kind}.sql").read_text().split(";\n"):
            if statement.strip():
                connection.execute(statement)
        connection.execute(f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) PRIMARY KEY)")
        connection.execute(f"INSERT INTO {VERSION_TABLE} VALUES ('{version}')")  # noqa: S608  # ours
        schema.migrate(connection)
        assert differences(connection) == []
        migrated = described(connection)
        assert schema.found_version(connection) == NOW
        for name in migrated:
            connection.execute(f"DROP TABLE {name}")
        assert described(connection) == {}
    with made(where).reading() as transaction:
        assert differences(transaction.connection) == []
        new = described(transaction.connection)
    del migrated[VERSION_TABLE], new[VERSION_TABLE]
    assert new == migrated


@pytest.mark.parametrize(
    "change",
    [
        "DROP INDEX tallystick_signals_round",
        "ALTER TABLE tallystick_rounds ADD COLUMN more TEXT",
        "DROP TABLE tallystick_log",
    ],
)
def test_a_schema_that_differs_is_seen(where: str, change: str) -> None:
    with made(where).writing() as transaction:
        transaction.connection.execute(change)
        assert differences(transaction.connection)


def test_the_version_of_the_engine_is_the_newest_migration() -> None:
    assert ScriptDirectory(str(schema.FOLDER)).get_current_head() == schema.REVISION


def test_every_table_of_ours_is_known_by_its_name() -> None:
    assert all(table.name.startswith(PREFIX) for table in TABLES)


@pytest.mark.nightly
def test_opening_a_store_of_this_version_loads_no_alembic(tmp_path: Path) -> None:
    made(str(tmp_path / "s.db"))
    program = (
        "import sys; from tallystick_state.store.store import Store; Store.open('s.db');"
        "print('alembic' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


@pytest.mark.parametrize("version", ["0001", "0002"])
def test_a_store_that_no_release_wrote_is_told_the_way_out(where: str, version: str) -> None:
    store = made(where, [event(1)])
    with store.writing() as transaction:
        transaction.connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '{version}'")  # noqa: S608  # ours
    before = contents(store)
    with pytest.raises(StoreError) as refused:
        Store.open(where)
    message = str(refused.value)
    assert (
        f"found the store version {int(version)}, which no release of tallystick wrote" in message
    )
    for command in ("state export", "state import", "state init"):
        assert f"tallystick {command}" in message
    assert contents(store) == before


def test_an_older_store_is_migrated_and_keeps_everything(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = made(where, [event(1), event(2)])
    before = contents(old)
    upcoming_version(tmp_path, monkeypatch)
    store = Store.open(where)
    assert contents(store) == before
    with store.reading() as transaction:
        rows = transaction.connection.rows("SELECT * FROM tallystick_more")
        assert rows == []
        assert schema.found_version(transaction.connection) == NEXT
    Store.open(where)


def test_a_migration_that_fails_changes_nothing(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = made(where, [event(1)])
    before = contents(old)
    script = upcoming_version(tmp_path, monkeypatch)
    script.write_text(script.read_text() + '    op.drop_table("nowhere")\n')
    with pytest.raises(StoreError, match="found that the database refuses"):
        Store.open(where)
    assert contents(old) == before
    with old.reading() as transaction:
        assert schema.found_version(transaction.connection) == NOW
        assert differences(transaction.connection) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            f"UPDATE tallystick_version SET version_num = '{NEXT}'",  # noqa: S608  # our number
            f"found the store version {int(NEXT)}, expected at most {int(NOW)}: update tallystick",
        ),
        (
            "UPDATE tallystick_version SET version_num = 'ae1027a6acf'",
            f"found the store version 'ae1027a6acf', expected a number such as {NOW!r}",
        ),
        *(
            (
                f"UPDATE tallystick_version SET version_num = '{number}'",  # noqa: S608  # as above
                f"found the store version '{number}', expected a number such as {NOW!r}",
            )
            for number in ("0", "1", "0000")
        ),
        ("DELETE FROM tallystick_version", "found 0 rows in tallystick_version, expected one"),
    ],
)
def test_a_store_of_another_version_is_refused(where: str, change: str, message: str) -> None:
    store = made(where)
    with store.writing() as transaction:
        transaction.connection.execute(change)
    before = contents(store)
    with pytest.raises(StoreError) as refused:
        Store.open(where)
    assert message in str(refused.value)
    assert contents(store) == before
    with pytest.raises(StoreError), Store.create(where):
        pass
