"""Published results of another: rows in JSONL, CSV or Parquet, and the mapping of their columns.

Rows are read with bounded memory. Values stay as they are written: text is text, a number of JSON
is the decimal that its digits say, a float of Parquet is the double that it is. An object in a row,
such as ``axes``, is flat, each of its values under its path.

A mapping is a TOML file, format 1; ``schemas/mapping-1.schema.json`` says the same. Without one,
columns have the names of result rows, and numbers count 1, not 1e-9.
"""

from __future__ import annotations

import json
import pickle
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from math import isnan
from pathlib import Path
from typing import Any

import attrs

from tallystick.errors import InputError
from tallystick.io.csv_table import CsvTable
from tallystick.io.documents import parse_json, read_toml
from tallystick.io.inputs import opened
from tallystick.io.json_schema import first_problem
from tallystick.io.parquet import ParquetReader
from tallystick.io.sources import SUFFIXES, JsonLinesSource
from tallystick.scoring.result import IDENTITY, ResultLayout

AXES, MEASURES = "axes.", "measures."
"""Prefixes of the columns of axes and of measures."""
TEXTS = ("skill_type", "task_id", "miner_hotkey", "role", "group", "tier")
"""The fields of a result that are text."""
WHOLE = ("record", "miner_uid")
"""Fields of a result that are whole numbers."""
OF_RECORDS = ("validator", "round", "epoch")
"""Fields of a record that no result has, by which a row can be matched."""
CSV, PARQUET = ".csv", ".parquet"
"""Endings of the names of tables."""
Value = str | int | float | Decimal | None
"""A value as it is written."""
Row = Mapping[str, Value]
"""The values of a row of results by column."""
Numbered = tuple[int, Row]
"""A row with its line, or its number in a table, from 1; a header is counted."""
_KINDS = frozenset((str, int, float, Decimal, type(None)))


@attrs.frozen
class ColumnMapping:
    """A mapping of another's columns to the fields of results.

    Attributes:
        columns: the name that each of our fields has there; None where all have ours.
        by: the fields by which a row is matched with a record.
        in_nano: whether numbers count 1e-9.
        values: by field, what a text there is called here.
        missing: the texts that stand for no value.
    """

    columns: Mapping[str, str] | None = None
    by: tuple[str, ...] = ("record",)
    in_nano: bool = False
    values: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict)
    missing: frozenset[str] = frozenset({""})

    def column(self, field: str) -> str:
        """Return the column of a field."""
        return field if self.columns is None else self.columns.get(field, field)

    def value(self, field: str, row: Row) -> Value:
        """Return the value of a field in a row as it is called here; None for none."""
        value = row.get(self.column(field))
        if isinstance(value, str) and value in self.missing:
            return None
        if field in TEXTS and value is not None:
            return self.values.get(field, {}).get(str(value), str(value))
        return value


def read_mapping(path: Path, factors: tuple[str, ...] = ()) -> ColumnMapping:
    """Return the mapping in a file.

    Args:
        path: the file.
        factors: the emission factors of results, see `ResultLayout`, which are fields too.

    Raises:
        InputError: the file cannot be read, or is no mapping.
    """
    try:
        document = read_toml(path)
    except (OSError, ValueError) as error:
        reason = str(getattr(error, "strerror", None) or error).lower()
        raise InputError(f"{path}: the mapping cannot be read ({reason}): fix the file") from error
    _validate(document, path)
    columns, matched = document["columns"], document.get("match", {})
    mapping = ColumnMapping(
        columns,
        tuple(matched.get("by", ("record",))),
        document.get("numbers", {}).get("scale") == "nano",
        document.get("values", {}),
        frozenset(document.get("missing", [""])),
    )
    _check_fields(mapping, ResultLayout(factors=factors).decimals, path)
    return mapping


def is_decimal(field: str, decimals: Collection[str]) -> bool:
    """Return whether a field of a result is a decimal, or the ratio of an exact measure.

    Args:
        field: its name.
        decimals: the decimal fields beside axes and measures, see `ResultLayout`.
    """
    return field in decimals or (field.startswith((AXES, MEASURES)) and field[-1] != ".")


def _check_fields(found: ColumnMapping, decimals: tuple[str, ...], path: Path) -> None:
    """Refuse a mapping of a name that is no field."""
    for field in (*(found.columns or ()), *found.values):
        is_known = is_decimal(field, decimals) or field in {*TEXTS, *WHOLE, *found.by}
        if not is_known:
            names = ", ".join((*WHOLE, *TEXTS, *decimals, f"{AXES}NAME", f"{MEASURES}NAME"))
            raise InputError(f"{path}: found the field {field!r}, expected some of {names}")
    for field in found.by:
        if field not in (*IDENTITY, *OF_RECORDS):
            names = ", ".join((*IDENTITY, *OF_RECORDS))
            raise InputError(f"{path}: match.by: found {field!r}, expected some of {names}")


def _validate(document: Mapping[str, Any], path: Path) -> None:
    problem = first_problem("mapping-1", document)
    if problem is not None:
        place = problem.path or "the document"
        raise InputError(f"{path}: {place}: {problem.message}: see docs/trust.md")


def has_columns(path: Path) -> bool:
    """Return whether all rows of a file have the same columns, by its name."""
    return path.name.lower().endswith((CSV, PARQUET))


def rows_of(path: Path) -> Iterator[Numbered]:
    """Yield the rows of a file, in its order.

    Raises:
        InputError: the file cannot be read, or a row is none.
    """
    name = path.name.lower()
    if name.endswith(CSV):
        with opened(path) as file:
            yield from CsvTable(file, path)
    elif name.endswith(PARQUET):
        with ParquetReader(path) as reader:
            yield from ((line, flat(row)) for line, row in reader.rows())
    elif name.endswith(SUFFIXES):
        for chunk in JsonLinesSource(path):
            for line, data in enumerate(chunk.items(), chunk.first):
                yield line, _parsed(path, line, data)
    else:
        suffixes = ", ".join((*SUFFIXES, CSV))
        raise InputError(f"{path}: found no format in the name, expected one of {suffixes}")


def _parsed(path: Path, line: int, data: bytes) -> Row:
    try:
        content = parse_json(data, numbers="written")
    except ValueError as error:
        raise _no_row(path, line, f"no JSON ({error})") from error
    if not isinstance(content, dict):
        raise _no_row(path, line, "no JSON object")
    return flat(content)


def _no_row(path: Path, line: int, found: str) -> InputError:
    return InputError(f"{path}:{line}: found {found}, expected a row of results")


def flat(row: Mapping[str, Any], above: str = "") -> dict[str, Value]:
    """Return the values of a row by their paths; a truth or a list is text, which is no number."""
    cells = dict[str, Value]()
    for name, value in row.items():
        if type(value) is dict:
            cells |= flat(value, f"{above}{name}.")
        elif type(value) is float and isnan(value):
            cells[above + name] = "NaN"
        else:
            cells[above + name] = value if type(value) in _KINDS else str(value)
    return cells


class RowIndex:
    """Rows by a key of several texts, in a temporary file; the first row of a key is taken once."""

    def __init__(self, rows: Iterable[tuple[Sequence[str], Numbered]]) -> None:
        """Keep some rows by their keys."""
        # a file without a name, which goes with the connection
        self._connection = sqlite3.connect("", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute(
            "CREATE TABLE rows (line INTEGER PRIMARY KEY, key TEXT, row BLOB, record INTEGER)"
        )
        self._connection.execute("BEGIN")
        self._connection.executemany(
            "INSERT INTO rows (line, key, row) VALUES (?, ?, ?)",
            ((line, json.dumps(key), pickle.dumps(row)) for key, (line, row) in rows),
        )
        self._connection.execute("CREATE INDEX by_key ON rows (key, line)")

    def take(self, key: Sequence[str], record: int) -> tuple[Numbered | None, int]:
        """Return the row of a key and the first record that took it; None without a row."""
        query = "SELECT line, row, record FROM rows WHERE key = ? ORDER BY line LIMIT 1"
        found = self._connection.execute(query, (json.dumps(key),)).fetchone()
        if found is None:
            return None, record
        line, row, first = found
        if first is None:
            self._connection.execute("UPDATE rows SET record = ? WHERE line = ?", (record, line))
        return _numbered(line, row), record if first is None else first

    def left(self) -> Iterator[tuple[Numbered, bool]]:
        """Return the rows that nobody took, in their order, and whether an earlier has the key."""
        cursor = self._connection.execute(
            "SELECT line, row, EXISTS (SELECT 1 FROM rows AS e WHERE e.key = r.key AND "
            "e.line < r.line) FROM rows AS r WHERE record IS NULL ORDER BY line"
        )
        return ((_numbered(line, row), bool(is_twice)) for line, row, is_twice in cursor)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


def _numbered(line: int, packed: bytes) -> Numbered:
    return line, pickle.loads(packed)  # noqa: S301  # of the run's own making
