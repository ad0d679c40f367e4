"""The checksums of a store: one in every row, and the sum of those of each table.

A disk, a cable or another program changes bytes without a word. The checksum of a row is the first
eight bytes, big-endian and signed, of the SHA-256 of the JSON array of its values, bytes as base64
and truth values as 0 and 1. `TOTALS` has for each table how many rows it has and the sum of their
checksums modulo 2^64, so that a row that is lost or comes twice is found as well.

Checksums find accidents: who changes rows on purpose can make them anew (`renew`). That what is
stored follows from the log is proved by replaying it alone.
"""

# ruff: noqa: S608  # names of our own tables alone; values go by marks

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any

import msgspec

from tallystick.errors import DamagedError
from tallystick_state.store.connection import MAX_VALUES, WAY_BACK, Connection, marks
from tallystick_state.store.tables import CHECKED, TOTALS, StoreTable

SCHEMA = "schema"
"""Name in `TOTALS` under which SQLite's schema is summed up."""
# rows of a page that is read, and of one that is written
_READ, _WRITTEN = 2_000, 10_000

_json = msgspec.json.Encoder().encode


def checksum(values: Iterable[Any]) -> int:
    """Return the checksum of a row's values."""
    # SQLite has truth values as numbers
    plain = [int(value) if value is True or value is False else value for value in values]
    return int.from_bytes(sha256(_json(plain)).digest()[:8], "big", signed=True)


def insert(connection: Connection, table: StoreTable, rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert whole rows, each with its checksum."""
    columns = f"{', '.join(table.names)}, checksum"
    statement = f"INSERT INTO {table} ({columns}) VALUES ({marks((*table.names, ''))})"
    remaining = iter(rows)
    while page := [(*row, checksum(row)) for row in islice(remaining, _WRITTEN)]:
        connection.execute_many(statement, page)
        _note(connection, table, len(page), sum(row[-1] for row in page))


def delete(connection: Connection, table: StoreTable, column: str, value: object) -> None:
    """Delete the rows with a value in a column."""
    where = f"FROM {table} WHERE {column} = ?"
    gone = connection.rows(f"SELECT checksum {where}", (value,))
    if gone:
        connection.execute(f"DELETE {where}", (value,))
        _note(connection, table, -len(gone), -sum(row[0] or 0 for row in gone))


def delete_by_number(
    connection: Connection, table: StoreTable, column: str, values: Sequence[object]
) -> None:
    """Delete the rows with one of some values in a column, page by page."""
    for start in range(0, len(values), MAX_VALUES):
        page = values[start : start + MAX_VALUES]
        where = f"FROM {table} WHERE {column} IN ({marks(page)})"
        gone = connection.rows(f"SELECT checksum {where}", page)
        connection.execute(f"DELETE {where}", page)
        _note(connection, table, -len(gone), -sum(row[0] or 0 for row in gone))


def checked_rows(
    connection: Connection, tables: Sequence[StoreTable], source: str, values: Iterable[Any] = ()
) -> list[tuple[Any, ...]]:
    """Return the rows of a query, each found to have its checksum.

    Args:
        connection: to the store.
        tables: whose columns are read, one table's after the other's.
        source: the query from ``FROM`` on.
        values: in place of its marks.

    Raises:
        DamagedError: a row has another checksum.
    """
    columns = ", ".join(f"{t}.{name}" for t in tables for name in (*t.names, "checksum"))
    rows = connection.rows(f"SELECT {columns} {source}", values)
    if len(tables) == 1:
        return [checked(connection, tables[0], row) for row in rows]
    return [tuple(_checked_parts(connection, tables, row)) for row in rows]


def rows_of(connection: Connection, table: StoreTable) -> Iterator[tuple[Any, ...]]:
    """Read every row of a table with its checksum, unchecked, in the order of the key."""
    keys = ", ".join(table.keys)
    columns = f"{', '.join(table.names)}, checksum"
    query, order = f"SELECT {columns} FROM {table}", f"ORDER BY {keys} LIMIT {_READ}"
    page = connection.rows(f"{query} {order}")
    while page:
        yield from page
        after = page[-1][: table.key]
        page = connection.rows(f"{query} WHERE ({keys}) > ({marks(after)}) {order}", after)


def totals(connection: Connection) -> dict[str, tuple[int, int]]:
    """Return by table how many rows it has and the sum of their checksums, as was noted."""
    query = f"SELECT name, rows, total FROM {TOTALS}"
    return {name: (rows, total) for name, rows, total in connection.rows(query)}


def put_totals(connection: Connection) -> None:
    """Add to the totals what the transaction has inserted and deleted."""
    if not connection.tally:
        return
    before = totals(connection)
    names = sorted({name for name, _ in connection.tally})
    for name in names:
        rows, total = before.get(name, (0, 0))
        row = rows + connection.tally[name, "rows"], wrapped(total + connection.tally[name, "sum"])
        _put_total(connection, name, row)
    connection.tally.clear()


def begin(connection: Connection) -> None:
    """Note the schema of a new store, and that its tables are empty."""
    for table in CHECKED:
        _put_total(connection, table.name, (0, 0))
    _put_schema(connection)


def renew(connection: Connection) -> None:
    """Make every checksum and total anew, from what the rows hold now."""
    for table in CHECKED:
        where = " AND ".join(f"{key} = ?" for key in table.keys)
        statement = f"UPDATE {table} SET checksum = ? WHERE {where}"
        number, total = 0, 0
        for row in rows_of(connection, table):
            expected = checksum(row[: len(table.columns)])
            if expected != row[-1]:
                connection.execute(statement, (expected, *row[: table.key]))
            number, total = number + 1, total + expected
        _put_total(connection, table.name, (number, wrapped(total)))
    _put_schema(connection)
    connection.tally.clear()


def schema_total(connection: Connection) -> tuple[int, int]:
    """Return how many parts the schema of a SQLite store has, and their sum."""
    rows = connection.rows("SELECT type, name, tbl_name, sql FROM sqlite_master")
    return len(rows), wrapped(sum(map(checksum, rows)))


def wrapped(total: int) -> int:
    """Return a sum modulo 2^64 as both databases keep it: as a signed number."""
    return (total + (1 << 63)) % (1 << 64) - (1 << 63)


def _note(connection: Connection, table: StoreTable, rows: int, total: int) -> None:
    connection.tally.update({(table.name, "rows"): rows, (table.name, "sum"): total})


def _put_schema(connection: Connection) -> None:
    if connection.is_sqlite:
        _put_total(connection, SCHEMA, schema_total(connection))


def _put_total(connection: Connection, name: str, row: tuple[int, int]) -> None:
    if connection.rows(f"SELECT 1 FROM {TOTALS} WHERE name = ?", (name,)):
        update = f"UPDATE {TOTALS} SET rows = ?, total = ? WHERE name = ?"
        connection.execute(update, (*row, name))
    else:
        insertion = f"INSERT INTO {TOTALS} (name, rows, total) VALUES (?, ?, ?)"
        connection.execute(insertion, (name, *row))


def _checked_parts(
    connection: Connection, tables: Sequence[StoreTable], row: Sequence[Any]
) -> Iterator[Any]:
    start = 0
    for table in tables:
        end = start + len(table.columns) + 1
        yield from checked(connection, table, row[start:end])
        start = end


def checked(connection: Connection, table: StoreTable, row: Sequence[Any]) -> tuple[Any, ...]:
    """Return the values of a row without its checksum, which is found to be theirs.

    Raises:
        DamagedError: it is that of other values.
    """
    values = tuple(row[:-1])
    if checksum(values) != row[-1]:
        key = ", ".join(str(value)[:40] for value in values[: table.key])
        error = DamagedError(
            f"row {key} of {table}: found {values!s:.120} with another checksum, expected what "
            "tallystick wrote: the file was damaged or changed"
        )
        # a block that reads two stores cannot tell whose it is
        error.name(connection.shown, WAY_BACK)
        raise error
    return values
