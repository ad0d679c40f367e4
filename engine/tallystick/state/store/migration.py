"""The version of a store's schema, and the way from an older one to this one.

Alembic keeps the version and is loaded only when there is something to migrate.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from tallystick.errors import StoreError
from tallystick.state.store.tables import PREFIX, VERSION_TABLE

REVISION = "0001"
"""The version that this engine reads and writes."""
FOLDER = Path(__file__).parent / "migrations"
"""Where the migrations are."""


def found_version(connection: Connection) -> str | None:
    """The version of the store in a database; None where there is no store.

    Raises:
        StoreError: the table of the version is there but says nothing, or several things.
    """
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    # the name is a constant
    rows = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608
    found = list(rows.scalars())
    if len(found) != 1:
        raise StoreError(
            f"found {len(found)} rows in {VERSION_TABLE}, expected one: the store is damaged, so "
            "take it back from a copy"
        )
    return str(found[0])


def foreign_table(connection: Connection) -> str | None:
    """The name of a table that no store has; None where there is none."""
    names = sorted(inspect(connection).get_table_names())
    return next((name for name in names if not name.startswith(PREFIX)), None)


def is_older(version: str) -> bool:
    """Whether a version must be migrated before it can be used.

    Raises:
        StoreError: the version is newer than this engine, or none at all.
    """
    if not (version.isascii() and version.isdigit()):
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
    from alembic import command  # noqa: PLC0415  # heavy, and seldom needed
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    # the parser of configuration files reads a percent sign as the start of a reference
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
