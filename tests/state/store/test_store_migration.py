"""The schema that migrations make is the one that the engine reads, on every database."""

import json
import shutil
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

from tallystick.errors import StoreError
from tallystick_state.store import migration
from tallystick_state.store.checksums import COLUMNS
from tallystick_state.store.connection import Connection, place_of
from tallystick_state.store.migration import PREFIX, VERSION_TABLE
from tallystick_state.store.store import Store
from tallystick_state.store.tables import METADATA

NOW = migration.REVISION
NEXT = f"{int(NOW) + 1:04}"
SCRIPT = f"""
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{NOW}"


def upgrade() -> None:
    op.create_table("tallystick_more", sa.Column("id", sa.Integer, primary_key=True))
"""


def differences(connection: Connection) -> list[object]:
    options = {
        "version_table": VERSION_TABLE,
        "compare_type": True,
        "compare_server_default": True,
    }
    with migration.alchemy(connection) as found:
        return list(compare_metadata(MigrationContext.configure(found, opts=options), METADATA))


def described(connection: Connection) -> dict[str, str]:
    """Every table of ours, as the database tells of it."""
    with migration.alchemy(connection) as found:
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


def test_a_new_schema_is_that_of_the_tables_and_of_all_migrations(where: str) -> None:
    with place_of(where, 30, create=True).transaction("write") as connection:
        migration.migrate(connection)
        assert differences(connection) == []
        migrated = described(connection), migration.found_version(connection)
        for name in migrated[0]:
            connection.execute(f"DROP TABLE {name}")
        assert described(connection) == {}
    with made(where).reading() as transaction:
        assert differences(transaction.connection) == []
        new = described(transaction.connection), migration.found_version(transaction.connection)
    assert new == migrated
    assert migration.VERSION_TABLE in new[0]


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
    assert ScriptDirectory(str(migration.FOLDER)).get_current_head() == migration.REVISION


def test_every_table_of_ours_is_known_by_its_name() -> None:
    assert all(name.startswith(PREFIX) for name in METADATA.tables)


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


@pytest.fixture
def newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The engine of a version that is to come; gives its newest migration."""
    # a percent sign, since configuration files give it a meaning
    folder = tmp_path / "50% migrations"
    shutil.copytree(migration.FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / f"v{NEXT}_more.py").write_text(SCRIPT)
    monkeypatch.setattr(migration, "FOLDER", folder)
    monkeypatch.setattr(migration, "REVISION", NEXT)
    return folder / "versions" / f"v{NEXT}_more.py"


def as_the_first_version(store: Store) -> None:
    """Take from a store what the second version and the third brought."""
    with store.writing() as transaction:
        for change in (
            "DROP TABLE tallystick_checksums",
            *(f"ALTER TABLE {table} DROP COLUMN checksum" for table in COLUMNS),
            "DROP INDEX tallystick_log_kinds",
            "DROP TABLE tallystick_envelopes",
            "DROP TABLE tallystick_epochs",
            "ALTER TABLE tallystick_signals DROP COLUMN epoch",
            "UPDATE tallystick_version SET version_num = '0001'",
        ):
            transaction.connection.execute(change)


def test_a_store_of_the_first_version_has_all_that_one_of_this_has(where: str) -> None:
    now = made(where, [event(1), event(2)])
    before = contents(now)
    as_the_first_version(now)
    store = Store.open(where)
    assert contents(store) == before
    with store.reading() as transaction:
        assert differences(transaction.connection) == []


def test_a_store_of_the_first_version_that_is_damaged_stays_as_it_is(where: str) -> None:
    now = made(where, [event(1), event(2)])
    as_the_first_version(now)
    with now.writing() as transaction:
        transaction.connection.execute("UPDATE tallystick_log SET body = '[]' WHERE seq = 2")
    with pytest.raises(StoreError, match="an event in the log that cannot be read"):
        Store.open(where)
    with now.reading() as transaction:
        assert migration.found_version(transaction.connection) == "0001"


def test_an_older_store_is_migrated_and_keeps_everything(
    where: str, request: pytest.FixtureRequest
) -> None:
    old = made(where, [event(1), event(2)])
    before = contents(old)
    request.getfixturevalue("newer")
    store = Store.open(where)
    assert contents(store) == before
    with store.reading() as transaction:
        rows = transaction.connection.rows("SELECT * FROM tallystick_more")
        assert rows == []
        assert migration.found_version(transaction.connection) == NEXT
    Store.open(where)


def test_a_migration_that_fails_changes_nothing(where: str, request: pytest.FixtureRequest) -> None:
    old = made(where, [event(1)])
    before = contents(old)
    script: Path = request.getfixturevalue("newer")
    script.write_text(SCRIPT + '    op.drop_table("nowhere")\n')
    with pytest.raises(StoreError, match="found that the database refuses"):
        Store.open(where)
    assert contents(old) == before
    with old.reading() as transaction:
        assert migration.found_version(transaction.connection) == NOW
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
