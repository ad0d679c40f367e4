"""The schema of a store: made from the tables, recorded with a version, and migrated by Alembic.

A new store has the tables of `tables` and the version `REVISION`. A store of an earlier release is
migrated when it is opened. SQLAlchemy and Alembic are loaded only to make or change a schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallystick.errors import StoreError
from tallystick_state.store.checksums import begin, renew
from tallystick_state.store.connection import Connection
from tallystick_state.store.tables import PREFIX, TABLES, StoreTable

if TYPE_CHECKING:
    import sqlalchemy

VERSION_TABLE = f"{PREFIX}version"
"""Table in which Alembic keeps the version of the schema."""
REVISION = "0004"
"""Version that this engine reads and writes: the newest migration."""
FIRST = "0003"
"""Version of the first release; older stores were made by unreleased engines."""
FOLDER = Path(__file__).parent / "migrations"
"""Folder of the migrations."""

_TABLES_OF_SQLITE = "SELECT name FROM sqlite_master WHERE type = 'table'"
_TABLES_OF_POSTGRESQL = (
    "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = current_schema()"
)


def create_schema(connection: Connection) -> None:
    """Make the schema of a new store, in the transaction that the connection is in."""
    for statement in schema_statements(connection.is_sqlite):
        connection.execute(statement)
    connection.execute(
        f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL, "
        f"CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num))"
    )
    insert = f"INSERT INTO {VERSION_TABLE} (version_num) VALUES (?)"  # noqa: S608  # our name
    connection.execute(insert, [REVISION])
    begin(connection)


@cache
def schema_statements(is_sqlite: bool) -> tuple[str, ...]:
    """Return the statements that make every table with its indexes.

    Args:
        is_sqlite: whether they are for SQLite; else for PostgreSQL.
    """
    from sqlalchemy.dialects import postgresql, sqlite
    from sqlalchemy.schema import CreateIndex, CreateTable

    dialect = (sqlite if is_sqlite else postgresql).dialect()
    statements: list[CreateTable | CreateIndex] = []
    for table in metadata().sorted_tables:
        statements.append(CreateTable(table))
        statements += map(CreateIndex, sorted(table.indexes, key=lambda index: str(index.name)))
    return tuple(str(statement.compile(dialect=dialect)) for statement in statements)


@cache
def metadata() -> sqlalchemy.MetaData:
    """Return the tables as SQLAlchemy describes them."""
    import sqlalchemy as sa

    types: dict[str, sa.types.TypeEngine[Any]] = {
        "integer": sa.Integer(),
        "count": sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
        "big": sa.BigInteger(),
        "text": sa.Text(),
        "bytes": sa.LargeBinary(),
        "boolean": sa.Boolean(),
    }

    def columns(table: StoreTable) -> Iterator[sa.Column[Any]]:
        for column in table.columns:
            is_key = column.name in table.keys
            yield sa.Column(
                column.name,
                types[column.type],
                primary_key=is_key,
                autoincrement=False,
                nullable=column.nullable,
            )
        if table.has_checksums:
            yield sa.Column("checksum", sa.BigInteger())

    def indexes(table: StoreTable) -> Iterator[sa.Index | sa.UniqueConstraint]:
        for index in table.indexes:
            name = f"{table.name}_{index.name}"
            if index.unique:
                yield sa.UniqueConstraint(*index.columns, name=name)
            else:
                where = sa.text(index.where) if index.where else None
                yield sa.Index(name, *index.columns, sqlite_where=where, postgresql_where=where)

    described = sa.MetaData()
    for table in TABLES:
        sa.Table(table.name, described, *columns(table), *indexes(table))
    return described


def found_version(connection: Connection) -> str | None:
    """Return the version of the store in a database; None where there is no store.

    Raises:
        StoreError: the table of the version has no row, or several.
    """
    if VERSION_TABLE not in _tables(connection):
        return None
    versions = connection.rows(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608  # ours
    if len(versions) != 1:
        raise StoreError(
            f"found {len(versions)} rows in {VERSION_TABLE}, expected one: the store is damaged, "
            "so take it back from a copy"
        )
    return str(versions[0][0])


def foreign_table(connection: Connection) -> str | None:
    """Return the name of a table that no store has; None where there is none."""
    # SQLite keeps some of its own
    own = (PREFIX, "sqlite_") if connection.is_sqlite else (PREFIX,)
    return next((name for name in _tables(connection) if not name.startswith(own)), None)


def is_older(version: str) -> bool:
    """Return whether a store of a version must be migrated before it can be used.

    Raises:
        StoreError: the version is newer than this engine, of an engine that never went out, or no
            version at all.
    """
    # every version has four digits, and the first was 1
    if not re.fullmatch(r"[0-9]{4}", version) or not int(version):
        raise StoreError(
            f"found the store version {version[:40]!r}, expected a number such as {REVISION!r}: "
            "this is not a store of tallystick"
        )
    if int(version) > int(REVISION):
        raise StoreError(
            f"found the store version {int(version)}, expected at most {int(REVISION)}: "
            "update tallystick"
        )
    if int(version) < int(FIRST):
        raise StoreError(
            f"found the store version {int(version)}, which no release of tallystick wrote, "
            f"expected at least {int(FIRST)}: run tallystick state export with the tallystick that "
            "made the store and tallystick state import with this one, or begin anew with "
            "tallystick state init"
        )
    return int(version) < int(REVISION)


def migrate(connection: Connection) -> None:
    """Bring the schema to this version, in the transaction that the connection is in."""
    from alembic import command  # heavy, and seldom needed
    from alembic.config import Config

    config = Config()
    # the parser of configuration files reads a percent sign as the start of a reference
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    with alchemy(connection) as connected:
        config.attributes["connection"] = connected
        command.upgrade(config, "head")
    # what a migration fills in has other values than before
    renew(connection)


@contextmanager
def alchemy(connection: Connection) -> Iterator[sqlalchemy.Connection]:
    """Give the connection as one of SQLAlchemy, in the same transaction, which it does not end."""
    from sqlalchemy import StaticPool, create_engine  # heavy, and seldom needed

    url = "sqlite://" if connection.is_sqlite else "postgresql+psycopg://"
    engine = create_engine(url, creator=lambda: connection.driver, poolclass=StaticPool)
    for ending in ("do_commit", "do_rollback", "do_close"):
        setattr(engine.dialect, ending, lambda _: None)
    with engine.connect() as connected:
        yield connected


def _tables(connection: Connection) -> list[str]:
    query = _TABLES_OF_SQLITE if connection.is_sqlite else _TABLES_OF_POSTGRESQL
    return sorted(row[0] for row in connection.rows(query))
