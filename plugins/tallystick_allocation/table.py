"""Tables of miners: a population, read from rows.

There are two shapes, told by their columns. In a *table* a row is a miner, or a miner in a group:
its ``hotkey``, perhaps its ``uid``, the group, a column for each value that a step collects, and
the attributes that steps ask for. A value is a number, a decimal or a ratio as text, or a list of
them, the oldest first. In *results*, as ``tallystick score`` writes them, a row is a record, and a
miner has many.

Whatever is wrong refuses the whole table: a miner more or less changes what all others get.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
from pyarrow import parquet

from tallystick.diagnostics import nearest
from tallystick.errors import AllocationError, EmptyInputError, InputError, NumberError, RecordError
from tallystick.io.csv_table import CsvTable
from tallystick.io.inputs import opened
from tallystick.io.lines import MAX_LINE_BYTES, LongLine
from tallystick.io.sources import JsonLinesSource, ParquetSource, Source
from tallystick.io.text import NO_SURROGATES, escaped, has_utf8
from tallystick.numbers.nano import NANO, from_double, to_decimal
from tallystick.records.strict_json import parse
from tallystick_allocation.binding import BoundAllocation
from tallystick_allocation.population import (
    EMISSION,
    LARGEST_FACTOR,
    MOST_MINERS,
    QUALITY,
    UNGROUPED,
    Attribute,
    Miner,
    Population,
    Sample,
)
from tallystick_allocation.uint16 import LAST_UID

HOTKEY, UID = "hotkey", "uid"
_RESULT, _VALUES = "miner_hotkey", "values"
"""The column by which results are told, and what a table has instead."""
_MOST_ROWS = 16 * MOST_MINERS
_LONGEST_NAME = 64
_MOST_DIGITS = 400
_LARGEST = 10**30
_BLOCK = 1 << 20
_LINES = {".csv": 1, ".jsonl": 0}
"""Lines before the first row, of each format that has a row a line."""
_NONE: dict[str, Any] = {}
"""Attributes or factors of a miner that has none; one for all, as each is 64 bytes."""
TableRow = Mapping[str, Any]
_Found = tuple[int, TableRow]


def read_population(
    path: Path,
    bound: BoundAllocation,
    **others: Any,  # noqa: ANN401  # attributes of a population
) -> Population:
    """Return the population of a table in a file: JSONL, Parquet or CSV, by its extension.

    Args:
        path: the file.
        bound: the steps, which say what columns there can be.
        others: ``round`` and ``carry`` of the population, and ``attributes`` of miners by hotkey.

    Raises:
        InputError: something is wrong with it; told with the line and the column.
    """
    rows = _csv_rows(path) if path.suffix.lower() == ".csv" else _rows(_source(path), str(path))
    return population_of(rows, bound, str(path), rows_in_all=rows_of(path), **others)


def rows_of(path: Path) -> int:
    """Return how many rows a file has, without a header; 0 where that is known only at its end."""
    try:
        if not path.is_file() or path.stat().st_size <= MOST_MINERS:
            return 0
        if path.suffix.lower() == ".parquet":
            with opened(path) as file:
                return int(parquet.read_metadata(file).num_rows)
        if path.suffix.lower() not in _LINES:
            return 0
        with opened(path) as file:
            ends = sum(block.count(b"\n") for block in iter(partial(file.read, _BLOCK), b""))
    except (OSError, InputError, pa.ArrowException):
        # told by whoever reads it
        return 0
    return ends - _LINES[path.suffix.lower()]


def population_of_rows(
    rows: Iterable[TableRow],
    bound: BoundAllocation,
    **others: Any,  # noqa: ANN401  # as above
) -> Population:
    """Return the population of the rows of a program; as `read_population`."""
    return population_of(enumerate(rows, 1), bound, "population", **others)


def population_of(  # noqa: PLR0913  # what a population is made of
    rows: Iterable[_Found],
    bound: BoundAllocation,
    where: str,
    *,
    attributes: Mapping[str, Mapping[str, Attribute]] | None = None,
    round: Mapping[str, Attribute] | None = None,  # noqa: A002  # what it is called everywhere
    carry: Mapping[str, Mapping[str, int]] | None = None,
    rows_in_all: int = 0,
) -> Population:
    """The population of numbered rows; ``rows_in_all`` is how many there are, where it is known."""
    reading = _Reading(bound, where, attributes or {})
    for number, row in rows:
        if max(number, rows_in_all) > _MOST_ROWS:
            raise InputError(f"{where}: found more than {_MOST_ROWS} rows, expected fewer")
        if rows_in_all and _RESULT not in row:
            # a row is a miner, in one group: too many are told before all of them are read
            most = MOST_MINERS * max(1, len(bound.groups))
            if rows_in_all > most:
                raise _too_many(where, f"{rows_in_all} rows of miners", most)
        reading.add(number, row)
        if len(reading.found) > MOST_MINERS:
            raise _too_many(where, f"more than {MOST_MINERS} miners", MOST_MINERS)
    return Population(reading.miners(), reading.samples, round or {}, carry or {})


def _too_many(where: str, found: str, most: int) -> AllocationError:
    return AllocationError(f"{where}: found {found}, expected at most {most}", code="too-many")


@attrs.define
class _Known:
    """A miner while its rows are read."""

    line: int
    uid: int | None
    attributes: dict[str, Attribute]
    lines: tuple[tuple[str, int], ...] = ()


class _Reading:
    def __init__(
        self,
        bound: BoundAllocation,
        where: str,
        attributes: Mapping[str, Mapping[str, Attribute]],
    ) -> None:
        self.bound, self.where, self.given = bound, where, attributes
        self.found: dict[str, _Known] = {}
        self.samples: dict[str, dict[str, dict[str, list[Sample]]]] = {}
        self.values, self.factors = bound.values, bound.factors
        self.weighed, self.missed = bound.weighed, bound.missed
        self.slots = dict[int, tuple[str, int]]()
        self.shape = ""
        self.attributes = bound.miner_attributes
        self.columns = (HOTKEY, UID, *([bound.group] if bound.group else []), *self.values)
        self.columns = (*self.columns, *self.factors, *self.attributes)

    def miners(self) -> Iterator[Miner]:
        for hotkey, miner in self.found.items():
            attributes = {**miner.attributes, **self.given.get(hotkey, {})} or _NONE
            yield Miner(hotkey, miner.uid, attributes)

    def add(self, line: int, row: TableRow) -> None:
        if _RESULT in row:
            self._add_result(line, row)
        else:
            self._add_row(line, row)

    def _take_shape(self, line: int, shape: str) -> None:
        """Refuse values of a table beside results: which would count? Others add a miner alone."""
        if shape != (self.shape or shape):
            expected = f"rows with {self.shape}, as before: a table or results, not both"
            raise self._wrong(line, "", f"a row with {shape}", expected)
        self.shape = shape

    def _add_row(self, line: int, row: TableRow) -> None:
        for column in row:
            if column not in self.columns:
                hint = nearest(column, self.columns) or f": {', '.join(self.columns)}"
                result = f"the column {escaped(str(column)[:_LONGEST_NAME])}"
                raise self._wrong(line, "", result, f"a column that the rules read{hint}")
        hotkey = self._hotkey(line, HOTKEY, row.get(HOTKEY))
        group = self._group(line, row)
        miner = self._known(line, hotkey, row.get(UID), row)
        if miner.uid is not None:
            self._check_slot(line, hotkey, miner.uid)
        lines = dict(miner.lines)
        if group in lines:
            what = f"the miner {escaped(hotkey)}" + (f" in {group}" if group else "")
            expected = f"it once; it is in row {lines[group]} too (duplicate-miner)"
            raise self._wrong(line, HOTKEY, what, expected)
        miner.lines = (*miner.lines, (group, line))
        factors = self._factors(line, row)
        for name in self.values:
            if _is_given(row, name):
                self._take_shape(line, _VALUES)
                self._check_weighed(line, name, factors)
                cells = row[name] if isinstance(row[name], list) else [row[name]]
                numbers = [self._number(line, name, cell) for cell in cells if cell is not None]
                groups = self.samples.setdefault(name, {}).setdefault(group, {})
                groups[hotkey] = [Sample(number, factors=factors) for number in numbers]

    def _add_result(self, line: int, row: TableRow) -> None:
        self._take_shape(line, _RESULT)
        hotkey = self._hotkey(line, _RESULT, row[_RESULT])
        group = self._group(line, row)
        self._known(line, hotkey, row.get("miner_uid"), {})
        # in CSV each measure is a column of its own
        measures = self._nested(line, row, "measures")
        values = {**measures, **{name: row.get(name) for name in (QUALITY, EMISSION)}}
        # who submits nothing has neither axes nor measures
        scored = (*self._nested(line, row, "axes").values(), *measures.values())
        missed = all(value is None for value in scored)
        task = (0, str(row.get("task_id", "")), str(row.get("skill_type", "")))
        factors = self._factors(line, row)
        for name in self.values:
            value = values.get(name)
            if value is None and not missed:
                continue
            number = None if value is None else self._number(line, name, value)
            if number is not None or name in self.missed:
                self._check_weighed(line, name, factors)
            sample = Sample(number, task, number is None, factors)
            groups = self.samples.setdefault(name, {}).setdefault(group, {})
            groups.setdefault(hotkey, []).append(sample)

    def _nested(self, line: int, row: TableRow, column: str) -> dict[str, Any]:
        """Return the values of a column by name; in CSV each is a column of its own."""
        nested, prefix = row.get(column), f"{column}."
        if nested is not None and not isinstance(nested, Mapping):
            raise self._wrong(line, column, _shown(nested), "an object")
        flat = {n.removeprefix(prefix): v for n, v in row.items() if n.startswith(prefix)}
        return {**flat, **(nested or {})}

    def _factors(self, line: int, row: TableRow) -> dict[str, int]:
        """Return the factors of a weighted mean, in nano."""
        if not self.factors:
            return _NONE
        result = {n: self._nano(line, n, row[n]) for n in self.factors if _is_given(row, n)}
        for name, nano in result.items():
            if not 0 <= nano <= LARGEST_FACTOR * NANO:
                expected = f"a factor from 0 to {LARGEST_FACTOR}"
                raise self._wrong(line, name, _shown(row[name]), expected)
        return result

    def _check_weighed(self, line: int, value: str, factors: Mapping[str, int]) -> None:
        """Refuse a value without what it is weighed by."""
        for name in self.weighed.get(value, ()):
            if name not in factors:
                expected = (
                    f"what {value} is weighed by: a table needs a column of it, results of score "
                    "have not all; tallystick weights takes it from a state"
                )
                raise self._wrong(line, name, "nothing", expected)

    def _known(self, line: int, hotkey: str, uid: Any, row: TableRow) -> _Known:  # noqa: ANN401  # any cell
        slot = None if uid is None or uid == "" else self._uid(line, uid)
        attributes = {
            n: self._attribute(line, n, row[n]) for n in self.attributes if _is_given(row, n)
        }
        attributes = attributes or _NONE
        if hotkey not in self.found:
            self.found[hotkey] = _Known(line, slot, attributes)
            return self.found[hotkey]
        miner = self.found[hotkey]
        if slot is not None and miner.uid not in (None, slot):
            expected = f"{miner.uid}, as in row {miner.line}: a miner has one slot"
            raise self._wrong(line, UID, str(slot), expected)
        if attributes and not miner.attributes:
            miner.attributes = {}
        for name, value in attributes.items():
            if miner.attributes.setdefault(name, value) != value:
                expected = f"what row {miner.line} says of the same miner"
                raise self._wrong(line, name, escaped(str(value)), expected)
        return miner

    def _check_slot(self, line: int, hotkey: str, slot: int) -> None:
        """Refuse two miners in one slot; results may be of who had it before."""
        owner, before = self.slots.setdefault(slot, (hotkey, line))
        if owner != hotkey:
            expected = f"a slot of its own; row {before} gives it to {escaped(owner)}"
            raise self._wrong(line, UID, f"the slot {slot} of {escaped(hotkey)}", expected)

    def _hotkey(self, line: int, column: str, value: Any) -> str:  # noqa: ANN401  # any cell
        if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME:
            raise self._wrong(line, column, _shown(value), "a text of 1 to 64 characters")
        if not has_utf8(value):
            raise self._wrong(line, column, _shown(value), NO_SURROGATES)
        return value

    def _group(self, line: int, row: TableRow) -> str:
        if not self.bound.group:
            return UNGROUPED
        # results call the group of a record by what it is, unless it is its skill type
        value = row.get(self.bound.group, row.get("group"))
        if not isinstance(value, str) or value not in self.bound.groups:
            raise self._wrong(
                line, self.bound.group, _shown(value), f"one of {', '.join(self.bound.groups)}"
            )
        return value

    def _uid(self, line: int, value: Any) -> int:  # noqa: ANN401  # any cell
        number = self._number(line, UID, value)
        if number.denominator != 1 or not 0 <= number <= LAST_UID:
            raise self._wrong(line, UID, _shown(value), f"a whole number from 0 to {LAST_UID}")
        return number.numerator

    def _nano(self, line: int, column: str, value: Any) -> int:  # noqa: ANN401  # any cell
        number = self._number(line, column, value) * NANO
        if number.denominator != 1:
            raise self._wrong(line, column, _shown(value), "at most nine decimal places")
        return number.numerator

    def _attribute(self, line: int, column: str, value: Any) -> Attribute:  # noqa: ANN401  # any cell
        kind = self.attributes[column]
        if kind == "a text":
            if isinstance(value, str):
                if has_utf8(value):
                    return value
                kind = NO_SURROGATES
        elif isinstance(value, bool) or value in ("true", "false"):
            return value in (True, "true")
        elif kind != "a flag":
            return to_decimal(self._nano(line, column, value))
        raise self._wrong(line, column, _shown(value), kind)

    def _number(self, line: int, column: str, value: Any) -> Fraction:  # noqa: ANN401  # any cell
        try:
            return number_of(value)
        except (NumberError, ValueError, ZeroDivisionError):
            expected = "a finite number, a decimal of at most nine places, or a ratio such as 15/23"
            raise self._wrong(line, column, _shown(value), expected) from None

    def _wrong(self, line: int, column: str, found: str, expected: str) -> InputError:
        prefix = f"{column}: " if column else ""
        return InputError(f"{self.where}:{line}: {prefix}found {found}, expected {expected}")


def number_of(value: Any) -> Fraction:  # noqa: ANN401  # any cell
    """The exact number of a cell: a JSON number is a double, of nine places; a text is exact.

    Raises:
        NumberError, ValueError, ZeroDivisionError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal | Fraction):
        raise NumberError(f"found {type(value).__name__}, expected a number")
    if isinstance(value, float):
        return Fraction(from_double(value), NANO)
    if isinstance(value, str) and (
        len(value) > _MOST_DIGITS or not value.isascii() or "_" in value
    ):
        raise ValueError(value)
    number = _finite(Decimal(value)) if isinstance(value, Decimal) else _exact(value)
    if abs(number) >= _LARGEST:
        raise NumberError("found a number of more than 30 digits, expected a smaller one")
    if not isinstance(value, Fraction) and "/" not in str(value) and NANO % number.denominator:
        raise NumberError(f"found {number}, expected at most nine decimal places")
    return number


def _exact(value: int | str | Fraction) -> Fraction:
    if isinstance(value, str) and "/" not in value:
        try:
            return _finite(Decimal(value.strip()))
        except ArithmeticError:
            raise ValueError(value) from None
    return Fraction(value)


def _finite(value: Decimal) -> Fraction:
    if not value.is_finite() or abs(value.adjusted()) > _MOST_DIGITS:
        raise ValueError(value)
    return Fraction(value)


def _is_given(row: TableRow, column: str) -> bool:
    return row.get(column) not in (None, "")


def _shown(value: object) -> str:
    return "nothing" if value is None or value == "" else escaped(str(value))[:_LONGEST_NAME]


def _source(path: Path) -> Source:
    if path.suffix.lower() == ".parquet":
        return ParquetSource(path)
    return JsonLinesSource(path)


def _rows(source: Source, where: str) -> Iterator[_Found]:
    try:
        for chunk in source:
            for number, item in enumerate(chunk.items(), chunk.first):
                yield number, _row(item, f"{where}:{number}")
    except EmptyInputError:
        return  # a population of nobody


def _row(item: TableRow | bytes | LongLine, where: str) -> TableRow:
    if isinstance(item, LongLine):
        raise InputError(f"{where}: found a line of more than {MAX_LINE_BYTES} bytes")
    if not isinstance(item, bytes):
        return item
    try:
        row = parse(item)
    except RecordError as error:
        raise InputError(f"{where}: {error}") from None
    if not isinstance(row, dict):
        raise InputError(f"{where}: found {_shown(row)}, expected an object, a row of the table")
    return row


def _csv_rows(path: Path) -> Iterator[_Found]:
    """Yield the rows of a CSV file, with the line at which each ends; an empty cell is None."""
    with opened(path) as file:
        table = CsvTable(file, path)
        # a file without a line is a population of nobody
        if table.header and not {HOTKEY, _RESULT} & {*table.header}:
            raise InputError(
                f"{path}:1: found no column {HOTKEY}, expected the names of the columns in the "
                f"first line: {HOTKEY} of a table, or {_RESULT} of results"
            )
        for line, row in table:
            yield line, {column: cell or None for column, cell in row.items()}
