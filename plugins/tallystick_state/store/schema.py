"""The schema of a new store: that of the tables, which is what all migrations come to."""

from __future__ import annotations

from functools import cache

from tallystick_state.store.checksums import begin
from tallystick_state.store.connection import Connection
from tallystick_state.store.migration import REVISION, VERSION_TABLE


def create_schema(connection: Connection) -> None:
    """Make the schema of this version, in the transaction that the connection is in."""
    for statement in _statements(connection.is_sqlite):
        connection.execute(statement)
    connection.execute(
        f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL, "
        f"CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num))"
    )
    insert = f"INSERT INTO {VERSION_TABLE} (version_num) VALUES (?)"  # noqa: S608  # our name
    connection.execute(insert, [REVISION])
    begin(connection)


@cache
def _statements(is_sqlite: bool) -> tuple[str, ...]:
    from sqlalchemy.dialects import postgresql, sqlite  # heavy, and seldom needed
    from sqlalchemy.schema import CreateIndex, CreateTable

    from tallystick_state.store.tables import METADATA

    dialect = (sqlite if is_sqlite else postgresql).dialect()
    made: list[CreateTable | CreateIndex] = []
    for table in METADATA.sorted_tables:
        made.append(CreateTable(table))
        made += map(CreateIndex, sorted(table.indexes, key=lambda index: str(index.name)))
    return tuple(str(each.compile(dialect=dialect)) for each in made)
