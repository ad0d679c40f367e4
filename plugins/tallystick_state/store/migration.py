"""The version of a store's schema, and the way from an older one to this one.

Alembic keeps the version and is loaded only when there is something to migrate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.errors import StoreError
from tallystick_state.store.checksums import renew
from tallystick_state.store.connection import Connection

if TYPE_CHECKING:
    import sqlalchemy

PREFIX = "tallystick_"
"""What the name of every table of ours begins with."""
VERSION_TABLE = f"{PREFIX}version"
"""Where Alembic keeps the version of the schema."""
REVISION = "0003"
"""The version that this engine reads and writes."""
FOLDER = Path(__file__).parent / "migrations"
"""Where the migrations are."""

_TABLES_OF_SQLITE = "SELECT name FROM sqlite_master WHERE type = 'table'"
_TABLES_OF_POSTGRESQL = (
    "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = current_schema()"
)


def found_version(connection: Connection) -> str | None:
    """The version of the store in a database; None where there is no store.

    Raises:
        StoreError: the table of the version is there but says nothing, or several things.
    """
    if VERSION_TABLE not in _tables(connection):
        return None
    found = connection.rows(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608  # our name
    if len(found) != 1:
        raise StoreError(
            f"found {len(found)} rows in {VERSION_TABLE}, expected one: the store is damaged, so "
            "take it back from a copy"
        )
    return str(found[0][0])


def foreign_table(connection: Connection) -> str | None:
    """The name of a table that no store has; None where there is none."""
    # SQLite keeps some of its own
    own = (PREFIX, "sqlite_") if connection.is_sqlite else (PREFIX,)
    return next((name for name in _tables(connection) if not name.startswith(own)), None)


def is_older(version: str) -> bool:
    """Whether a version must be migrated before it can be used.

    Raises:
        StoreError: the version is newer than this engine, or none at all.
    """
    # every version has had as many digits, and the first was 1
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
    return int(version) < int(REVISION)


def migrate(connection: Connection) -> None:
    """Bring the schema to this version, in the transaction that the connection is in."""
    from alembic import command  # heavy, and seldom needed
    from alembic.config import Config

    config = Config()
    # the parser of configuration files reads a percent sign as the start of a reference
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    with alchemy(connection) as found:
        config.attributes["connection"] = found
        command.upgrade(config, "head")
    # what a migration fills in has other values than before
    renew(connection)


@contextmanager
def alchemy(connection: Connection) -> Iterator[sqlalchemy.Connection]:
    """The connection as SQLAlchemy knows one, in the same transaction, which it does not end."""
    from sqlalchemy import StaticPool, create_engine  # heavy, and seldom needed

    url = "sqlite://" if connection.is_sqlite else "postgresql+psycopg://"
    engine = create_engine(url, creator=lambda: connection.driver, poolclass=StaticPool)
    for ending in ("do_commit", "do_rollback", "do_close"):
        setattr(engine.dialect, ending, lambda _: None)
    with engine.connect() as found:
        yield found


def _tables(connection: Connection) -> list[str]:
    query = _TABLES_OF_SQLITE if connection.is_sqlite else _TABLES_OF_POSTGRESQL
    return sorted(row[0] for row in connection.rows(query))
