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
import numpy as np

from tallystick.diagnostics import nearest
from tallystick.errors import AllocationError, EmptyInputError, InputError, RecordError
from tallystick.io.csv_table import CsvTable
from tallystick.io.inputs import opened
from tallystick.io.parquet import ParquetReader
from tallystick.io.sources import JsonLinesSource
from tallystick.io.text import escaped
from tallystick.numbers.nano import NANO
from tallystick.records.strict_json import parse, without_numpy
from tallystick_allocation.binding import BoundAllocation
from tallystick_allocation.files import RoundFile
from tallystick_allocation.input_value import LONGEST_NAME, InputValue, shown
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
_LATEST = 10**15
"""Maximum number of a round, and of an epoch."""
_MOST_ROWS = 16 * MOST_MINERS
_BLOCK = 1 << 20
_LINES = {".csv": 1, ".jsonl": 0}
"""Lines before the first row, of each format that has a row a line."""
_PLAIN = frozenset({str, int, float, bool, type(None), Decimal, Fraction})
"""Classes of values in which there is nothing of NumPy."""
_NONE: dict[str, Any] = {}
"""Attributes or factors of a miner that has none; one for all, as each is 64 bytes."""
TableRow = Mapping[str, Any]
_Found = tuple[int, TableRow]


def read_population(
    source: Path | Iterable[TableRow],
    bound: BoundAllocation,
    of_round: RoundFile,
    carry: Mapping[str, Mapping[str, int]],
) -> Population:
    """Return the population of a table: the rows of a program, or of a file.

    Args:
        source: the rows, or a file of JSONL, Parquet or CSV, by its extension; the numbers, flags
            and lists of a program may be NumPy's.
        bound: the steps, which say what columns there can be.
        of_round: what is known beside the table.
        carry: the values of the round before, in nano by step and hotkey.

    Raises:
        InputError: something is wrong with it; told with the line and the column.
    """
    if isinstance(source, Path):
        rows = _csv_rows(source) if source.suffix.lower() == ".csv" else _rows(source)
        reading = _Reading(bound, str(source), _rows_in(source))
        return reading.population(rows, of_round, carry)
    return _Reading(bound, "population").population(
        enumerate(map(_plain, source), 1), of_round, carry
    )


def _plain(row: TableRow) -> TableRow:
    """Return a row whose numbers, flags and lists are Python's."""
    if _PLAIN.issuperset(map(type, row.values())):
        return row
    return {
        name: without_numpy(value.tolist() if isinstance(value, np.ndarray | np.bool_) else value)
        for name, value in row.items()
    }


def _rows_in(path: Path) -> int:
    """Return how many rows a file has, without a header; 0 where that is known only at its end."""
    form = path.suffix.lower()
    try:
        if not path.is_file() or path.stat().st_size <= MOST_MINERS:
            return 0
        if form == ".parquet":
            with ParquetReader(path) as reader:
                return int(reader.footer.num_rows)
        if form in _LINES:
            with opened(path) as file:
                blocks = iter(partial(file.read, _BLOCK), b"")
                return sum(block.count(b"\n") for block in blocks) - _LINES[form]
    except (OSError, InputError):
        # told by whoever reads it
        pass
    return 0


@attrs.define
class _Known:
    """A miner while its rows are read."""

    line: int
    uid: int | None
    attributes: dict[str, Attribute]
    lines: tuple[tuple[str, int], ...] = ()


class _Reading:
    """The miners of a table, and their samples, as its rows are read."""

    def __init__(self, bound: BoundAllocation, where: str, rows: int = 0) -> None:
        """Begin to read.

        Args:
            bound: what is read for.
            where: the name of the table, for errors.
            rows: how many there are; 0 where that is not known.
        """
        self.bound, self.where, self.rows, self.line = bound, where, rows, 0
        self.found: dict[str, _Known] = {}
        self.samples: dict[str, dict[str, dict[str, list[Sample]]]] = {}
        self.slots = dict[int, tuple[str, int]]()
        self.shape = ""
        self.attributes = bound.miner_attributes
        group = [bound.group] if bound.group else []
        self.columns = (HOTKEY, UID, *group, *bound.values, *bound.factors, *self.attributes)

    def population(
        self,
        rows: Iterable[_Found],
        of_round: RoundFile,
        carry: Mapping[str, Mapping[str, int]],
    ) -> Population:
        """Return the population of numbered rows."""
        for line, row in rows:
            self.line = line
            if max(line, self.rows) > _MOST_ROWS:
                raise InputError(f"{self.where}: found more than {_MOST_ROWS} rows, expected fewer")
            # a row is a miner, in one group: too many are told before all of them are read
            most = MOST_MINERS * max(1, len(self.bound.groups))
            if self.rows > most and _RESULT not in row:
                raise self._too_many(f"{self.rows} rows of miners", most)
            add = self._add_result if _RESULT in row else self._add_row
            add(InputValue(row, f"{self.where}:{line}"))
            if len(self.found) > MOST_MINERS:
                raise self._too_many(f"more than {MOST_MINERS} miners", MOST_MINERS)
        given = of_round.miners
        miners = (
            Miner(key, known.uid, {**known.attributes, **given.get(key, {})} or _NONE)
            for key, known in self.found.items()
        )
        return Population(miners, self.samples, of_round.round, carry)

    def _too_many(self, found: str, most: int) -> AllocationError:
        text = f"{self.where}: found {found}, expected at most {most}"
        return AllocationError(text, code="too-many")

    def _take_shape(self, row: InputValue, shape: str) -> None:
        """Refuse values of a table beside results: which would count? Others add a miner alone."""
        if shape != (self.shape or shape):
            expected = f"rows with {self.shape}, as before: a table or results, not both"
            raise row.wrong(expected, f"a row with {shape}")
        self.shape = shape

    def _add_row(self, row: InputValue) -> None:
        for column in row.value:
            if column not in self.columns:
                hint = nearest(column, self.columns) or f": {', '.join(self.columns)}"
                found = f"the column {shown(column)}"
                raise row.wrong(f"a column that the rules read{hint}", found)
        hotkey, group = self._hotkey(row.entry(HOTKEY)), self._group(row)
        miner = self._known(row, hotkey, row.entry(UID), self._attributes(row))
        if miner.uid is not None:
            # results may be of who had the slot before
            owner, before = self.slots.setdefault(miner.uid, (hotkey, self.line))
            if owner != hotkey:
                expected = f"a slot of its own; row {before} gives it to {escaped(owner)}"
                found = f"the slot {miner.uid} of {escaped(hotkey)}"
                raise row.entry(UID).wrong(expected, found)
        lines = dict(miner.lines)
        if group in lines:
            found = f"the miner {escaped(hotkey)}" + (f" in {group}" if group else "")
            expected = f"it once; it is in row {lines[group]} too (duplicate-miner)"
            raise row.entry(HOTKEY).wrong(expected, found)
        miner.lines = (*miner.lines, (group, self.line))
        factors = self._factors(row)
        for cell in row.given(self.bound.values):
            self._take_shape(row, _VALUES)
            self._check_weighed(row, cell.path, factors)
            values = cell.value if isinstance(cell.value, list) else [cell.value]
            self._samples(cell.path, group)[hotkey] = [
                _sample(InputValue(value, row.where, cell.path), place, factors)
                for place, value in enumerate(values)
                if value is not None
            ]

    def _add_result(self, row: InputValue) -> None:
        self._take_shape(row, _RESULT)
        hotkey, group = self._hotkey(row.entry(_RESULT)), self._group(row)
        self._known(row, hotkey, attrs.evolve(row.entry("miner_uid"), path=UID), _NONE)
        measures = _nested(row, "measures")
        values = {**measures, **{name: row.value.get(name) for name in (QUALITY, EMISSION)}}
        # who submits nothing has neither axes nor measures
        scored = (*_nested(row, "axes").values(), *measures.values())
        missed = all(value is None for value in scored)
        task = (0, str(row.value.get("task_id", "")), str(row.value.get("skill_type", "")))
        factors = self._factors(row)
        for name in self.bound.values:
            value = values.get(name)
            if value is None and not missed:
                continue
            number = None if value is None else InputValue(value, row.where, name).number()
            if number is not None or name in self.bound.missed:
                self._check_weighed(row, name, factors)
            sample = Sample(number, task, number is None, factors)
            self._samples(name, group).setdefault(hotkey, []).append(sample)

    def _samples(self, value: str, group: str) -> dict[str, list[Sample]]:
        return self.samples.setdefault(value, {}).setdefault(group, {})

    def _factors(self, row: InputValue) -> dict[str, int]:
        """Return the factors of a weighted mean, in nano."""
        result = {cell.path: cell.nano() for cell in row.given(self.bound.factors)}
        for name, nano in result.items():
            if not 0 <= nano <= LARGEST_FACTOR * NANO:
                raise row.entry(name).wrong(f"a factor from 0 to {LARGEST_FACTOR}")
        return result or _NONE

    def _check_weighed(self, row: InputValue, value: str, factors: Mapping[str, int]) -> None:
        """Refuse a value without what it is weighed by."""
        for name in self.bound.weighed.get(value, ()):
            if name not in factors:
                raise row.entry(name).wrong(
                    f"what {value} is weighed by: a table needs a column of it, results of score "
                    "have not all; tallystick weights takes it from a state",
                    "nothing",
                )

    def _known(
        self, row: InputValue, hotkey: str, uid: InputValue, attributes: dict[str, Attribute]
    ) -> _Known:
        slot = uid.whole(LAST_UID) if uid.is_given else None
        miner = self.found.setdefault(hotkey, _Known(self.line, slot, attributes))
        if slot is not None and miner.uid not in (None, slot):
            expected = f"{miner.uid}, as in row {miner.line}: a miner has one slot"
            raise uid.wrong(expected, str(slot))
        for name, value in attributes.items():
            if miner.attributes.get(name, value) != value:
                expected = f"what row {miner.line} says of the same miner"
                raise row.entry(name).wrong(expected, escaped(str(value)))
        if attributes.keys() - miner.attributes.keys():
            miner.attributes = {**miner.attributes, **attributes}
        return miner

    def _hotkey(self, value: InputValue) -> str:
        expected = f"a text of 1 to {LONGEST_NAME} characters"
        hotkey = value.text(expected)
        if not 0 < len(hotkey) <= LONGEST_NAME:
            raise value.wrong(expected)
        return hotkey

    def _group(self, row: InputValue) -> str:
        if not self.bound.group:
            return UNGROUPED
        # results call the group of a record by what it is, unless it is its skill type
        group = row.entry(self.bound.group, row.value.get("group"))
        if not isinstance(group.value, str) or group.value not in self.bound.groups:
            raise group.wrong(f"one of {', '.join(self.bound.groups)}")
        return group.value

    def _attributes(self, row: InputValue) -> dict[str, Attribute]:
        result = {}
        for cell in row.given(self.attributes):
            kind = self.attributes[cell.path]
            # CSV has texts alone
            is_flag = kind != "a text" and cell.value in ("true", "false")
            value = attrs.evolve(cell, value=cell.value == "true") if is_flag else cell
            result[cell.path] = value.attribute(kind)
        return result or _NONE


def _sample(cell: InputValue, place: int, factors: Mapping[str, int]) -> Sample:
    """Return a value of a miner: a number, or an object that says its round, or its epoch, too.

    Args:
        cell: the value.
        place: among those of the miner, the oldest first.
        factors: by which it is weighed.
    """
    if not isinstance(cell.value, Mapping):
        return Sample(cell.number(), factors=factors)
    keys = cell.entries(("value", "round", "epoch"))
    number = keys["round"].whole(_LATEST) if "round" in keys else None
    epoch = keys["epoch"].whole(_LATEST) if "epoch" in keys else None
    task = None if number is None else (number, f"{place:09}", "")
    return Sample(cell.entry("value").number(), task, factors=factors, epoch=epoch)


def _nested(row: InputValue, column: str) -> dict[str, Any]:
    """Return the values of a column by name; in CSV each is a column of its own."""
    nested, prefix = row.entry(column), f"{column}."
    values = row.value.items()
    flat = {n.removeprefix(prefix): v for n, v in values if n.startswith(prefix)}
    more = {} if nested.value is None else nested.entries()
    return {**flat, **{name: entry.value for name, entry in more.items()}}


def _rows(path: Path) -> Iterator[_Found]:
    if path.suffix.lower() == ".parquet":
        with ParquetReader(path) as reader:
            yield from reader.rows()
        return
    try:
        for chunk in JsonLinesSource(path):
            for number, line in enumerate(chunk.items(), chunk.first):
                yield number, _row(line, f"{path}:{number}")
    except EmptyInputError:
        return  # a population of nobody


def _row(line: bytes, where: str) -> TableRow:
    try:
        row = parse(line)
    except RecordError as error:
        raise InputError(f"{where}: {error}") from None
    if not isinstance(row, dict):
        raise InputError(f"{where}: found {shown(row)}, expected an object, a row of the table")
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
