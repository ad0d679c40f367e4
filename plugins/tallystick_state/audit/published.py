"""What another published: rows of results in JSONL, CSV or Parquet, read with bounded memory.

Values stay as they are written: text is text, a number of JSON is the decimal that its digits say,
a float of Parquet is the double that it is. An object in a row, such as ``axes``, is flat, each of
its values under its path.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from tallystick.errors import InputError
from tallystick.io.documents import object_of
from tallystick.io.inputs import opened
from tallystick.io.lines import LongLine
from tallystick.io.sources import SUFFIXES, JsonLinesSource, ParquetSource

Value = str | int | float | Decimal | bool | None
"""A value as it is written."""
CSV = ".csv"


@attrs.frozen
class PublishedRow:
    """A row of results.

    Attributes:
        line: its line, or its number in a table, from 1; a header is counted.
        data: the bytes of its line; None of a row of another format.
        cells: its values by column; None of a line that is not parsed yet.
        source: the file, for what is told of it.
    """

    line: int
    data: bytes | None
    cells: Mapping[str, Value] | None
    source: Path

    @property
    def values(self) -> Mapping[str, Value]:
        """Its values by column.

        Raises:
            InputError: the line is no JSON object.
        """
        return _parsed(self) if self.cells is None else self.cells


def rows_of(path: Path) -> Iterator[PublishedRow]:
    """The rows of a file, in its order.

    Raises:
        InputError: the file cannot be read, or a row is none.
    """
    name = path.name.lower()
    if name.endswith(CSV):
        yield from _csv(path)
    elif name.endswith(".parquet"):
        yield from _parquet(path)
    elif name.endswith(SUFFIXES):
        yield from _json_lines(path)
    else:
        known = ", ".join((*SUFFIXES, CSV))
        raise InputError(f"{path}: found no format in the name, expected one of {known}")


def _json_lines(path: Path) -> Iterator[PublishedRow]:
    for chunk in JsonLinesSource(path):
        for line, data in enumerate(chunk.items(), chunk.first):
            if not isinstance(data, bytes):
                raise InputError(f"{path}:{line}: found a line that is too long, expected a row")
            yield PublishedRow(line, data, None, path)


def _parsed(row: PublishedRow) -> Mapping[str, Value]:
    try:
        found = json.loads(
            row.data or b"",
            parse_float=Decimal,
            parse_constant=str,
            object_pairs_hook=partial(object_of, refused=_stands_twice),
        )
    except (ValueError, RecursionError) as error:
        raise _refusal(row, f"no JSON ({error})") from error
    if not isinstance(found, dict):
        raise _refusal(row, "no JSON object")
    return _flat(found)


def _stands_twice(_: str) -> ValueError:
    return ValueError("a key stands twice")


def _refusal(row: PublishedRow, found: str) -> InputError:
    return InputError(f"{row.source}:{row.line}: found {found}, expected a row of results")


def _flat(found: Mapping[str, Any], above: str = "") -> dict[str, Value]:
    flat = dict[str, Value]()
    for name, value in found.items():
        if type(value) is dict:
            flat |= _flat(value, f"{above}{name}.")
        else:
            flat[above + name] = value if type(value) in _KINDS else str(value)
    return flat


_KINDS = frozenset((str, int, float, Decimal, bool, type(None)))


def _csv(path: Path) -> Iterator[PublishedRow]:
    with opened(path) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        reader = csv.reader(text, strict=True)
        try:
            header = next(reader, [])
            if len(set(header)) < len(header):
                raise InputError(f"{path}: found a column twice, expected each once")
            for cells in reader:
                if len(cells) != len(header):
                    told = f"found {len(cells)} cells, expected {len(header)}, as the header has"
                    raise InputError(f"{path}:{reader.line_num}: {told}")
                values = dict[str, Value](zip(header, cells, strict=True))
                yield PublishedRow(reader.line_num, None, values, path)
        except (csv.Error, UnicodeError) as error:
            told = f"found no CSV ({error}), expected rows of results"
            raise InputError(f"{path}:{reader.line_num}: {told}") from error


def _parquet(path: Path) -> Iterator[PublishedRow]:
    for chunk in ParquetSource(path):
        for line, row in enumerate(chunk.items(), chunk.first):
            if isinstance(row, bytes | LongLine):
                raise InputError(f"{path}: row {line}: found one that is too large")
            yield PublishedRow(line, None, _flat(row), path)
