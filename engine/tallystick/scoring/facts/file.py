"""The facts file: Parquet with the facts of a history, readable only by what it was made with.

A file is a row of chunks, each of the same number of consecutive lines; a chunk has one row group
for each skill type among its records, in name order. A row group has a column for each part of who
a record is, and one for each fact; facts of other types are null. The bytes follow from the records
alone, not from how they were taken. Its metadata says which schemas and definitions it was made by.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Self

import attrs
import numpy as np
import pyarrow as pa

from tallystick.io.parquet import ParquetReader, RowGroupWriter, parquet_errors
from tallystick.scoring.facts.batch import RECORD_FIELDS, FactBatch, FactRows, absent
from tallystick.scoring.facts.catalog import FactCatalog
from tallystick.scoring.facts.metadata import (
    KEY,
    LARGEST_CHUNK,
    FactsMetadata,
    check,
    column_name,
    described,
    metadata_of,
    sealed,
)

CHUNK = LARGEST_CHUNK
"""Lines that a chunk covers: enough rows of each type for columns to pay."""
NEEDED = ("record", "epoch", "answered")
"""Columns that are always read."""

_TEXTS = ("skill_type", "task_id", "validator", "miner_hotkey", "role", "events.list.element")
_UNIQUE = ("record", "task_id")


class FactsWriter:
    """Writes batches of consecutive records; close it to complete the file.

    Attributes:
        input_digest: of the records, for the metadata.
    """

    input_digest = ""

    def __init__(
        self, file: IO[bytes], catalogs: Mapping[str, FactCatalog], chunk: int = CHUNK
    ) -> None:
        """Begin a file.

        Args:
            file: where the bytes go; it stays open.
            catalogs: what the facts were taken by.
            chunk: how many lines a chunk covers.
        """
        self._catalogues, self._chunk = catalogs, chunk
        self._facts = sorted({d for catalog in catalogs.values() for d in catalog.by_digest})
        self._schema = pa.schema(
            [*RECORD_FIELDS.items(), *((column_name(d), pa.int64()) for d in self._facts)]
        )
        self._writer = RowGroupWriter(
            file,
            self._schema,
            # numbers are read the most, and fastest so
            compression={n: "zstd" if n in _TEXTS else "lz4" for n in self._leaves()},
            use_dictionary=[n for n in self._leaves() if n not in _UNIQUE],
            write_statistics=False,
            write_page_checksum=True,
        )
        self._pending: dict[str, list[pa.RecordBatch]] = {}
        self._groups: list[tuple[int, str, int]] = []
        self._lines = 0

    def append(self, batch: FactBatch) -> None:
        """Append the facts of the records that follow those before."""
        end = self._lines + batch.lines
        while self._lines < end:
            stop = min(end, self._lines - self._lines % self._chunk + self._chunk)
            for name, rows in batch.types.items():
                self._add(name, rows, self._lines, stop)
            self._lines = stop
            if stop % self._chunk == 0:
                self._flush()

    def close(self) -> None:
        """Write what is left, and what the file says of itself."""
        self._flush()
        metadata = described(self._catalogues) | {
            "chunk": self._chunk,
            "lines": self._lines,
            "records": sum(rows for _, _, rows in self._groups),
            "groups": self._groups,
            "input_digest": self.input_digest,
        }
        self._writer.close({KEY.decode(): sealed(metadata)})

    def abandon(self) -> None:
        """Let go of the file without completing it."""
        self._writer.abandon()

    def _add(self, name: str, rows: FactRows, after: int, stop: int) -> None:
        """The rows whose lines are above one and at most another."""
        start, end = np.searchsorted(rows.record, [after, stop], side="right").tolist()
        if start < end:
            whole = self._table(rows).slice(start, end - start)
            self._pending.setdefault(name, []).append(whole)

    def _leaves(self) -> list[str]:
        """Return the columns as Parquet names them."""
        names = [name for name in self._schema.names if name != "events"]
        return [*names, "events.list.element"]

    def _table(self, rows: FactRows) -> pa.RecordBatch:
        absent = pa.nulls(len(rows), pa.int64())
        columns = [_column(rows, name) for name in RECORD_FIELDS]
        columns += [pa.array(rows.facts[d]) if d in rows.facts else absent for d in self._facts]
        return pa.record_batch(columns, schema=self._schema)

    def _flush(self) -> None:
        chunk = (self._lines - 1) // self._chunk
        for name in sorted(self._pending):
            rows = self._writer.write_group(self._pending[name])
            self._groups.append((chunk, name, rows))
        self._pending.clear()


def _column(rows: FactRows, name: str) -> pa.Array:
    if name == "skill_type":
        return pa.repeat(pa.scalar(rows.skill_type, pa.string()), len(rows))
    value = getattr(rows, name)
    return value if isinstance(value, pa.Array) else pa.array(value)


@attrs.frozen(eq=False)
class FactsRequest:
    """The part of facts files that is read.

    Attributes:
        catalogs: what is installed.
        wanted: by skill type, the digests of the facts; other types have none. None is every fact.
        fields: of ``RECORD_FIELDS``, what is read beside ``NEEDED``; the others are 0 or null.
        coded: of the texts, which are given as dictionaries: faster where they repeat.
    """

    catalogs: Mapping[str, FactCatalog]
    wanted: Mapping[str, Collection[str]] | None = None
    fields: Collection[str] = tuple(RECORD_FIELDS)
    coded: Sequence[str] = ()


class FactsFile:
    """A facts file that is open; close it.

    Attributes:
        metadata: what it says of itself.
    """

    def __init__(self, path: Path, request: FactsRequest | None = None) -> None:
        """Open it, to see what it says of itself, or to read what is requested.

        Raises:
            InputError: the file is damaged, is none of facts, was made by other schemas or
                definitions, or lacks facts that are wanted.
        """
        self._path, self._request = path, request or FactsRequest({})
        with ExitStack() as stack:
            self._reader = stack.enter_context(ParquetReader(path, self._request.coded))
            with parquet_errors(path):
                self.metadata = metadata_of(path, self._reader.footer)
            if request is not None:
                catalogs, wanted = request.catalogs, request.wanted or None
                self._wanted = wanted or {n: set(c.by_digest) for n, c in catalogs.items()}
                check(path, self.metadata, catalogs, wanted)
            self.close = stack.pop_all().close

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def batch(self, chunk: int) -> FactBatch:
        """Return the facts of one chunk, from 0.

        Raises:
            InputError: the file is damaged.
        """
        metadata = self.metadata
        first = chunk * metadata.chunk + 1
        return FactBatch(
            first,
            min(metadata.chunk, metadata.lines - first + 1),
            {name: self._rows(group, name) for group, name in metadata.groups_of(chunk)},
        )

    def _rows(self, group: int, skill_type: str) -> FactRows:
        """Return the rows of one group."""
        digests, fields = sorted(self._wanted.get(skill_type, ())), self._request.fields
        present = [n for n in RECORD_FIELDS if n != "skill_type" and (n in fields or n in NEEDED)]
        names = [*present, *map(column_name, digests)]
        table = self._reader.group(group, names)
        with parquet_errors(self._path):
            columns = {name: _whole(table.column(name)) for name in names}
            _check_kinds(columns)
            identity = {name: _value(columns, name, table.num_rows) for name in RECORD_FIELDS}
            facts = {digest: columns[column_name(digest)].to_numpy() for digest in digests}
        return FactRows(**(identity | {"skill_type": skill_type}), facts=facts)


def facts_metadata(path: Path) -> FactsMetadata:
    """Return the metadata of a facts file.

    Raises:
        InputError: it is no facts file, or one of a newer format.
    """
    with FactsFile(path) as file:
        return file.metadata


def read(path: Path, request: FactsRequest) -> Iterator[FactBatch]:
    """Yield the facts of a file, chunk after chunk.

    Raises:
        InputError: as ``FactsFile``.
    """
    with FactsFile(path, request) as file:
        for chunk in range(file.metadata.chunks):
            yield file.batch(chunk)


def _check_kinds(found: Mapping[str, pa.Array]) -> None:
    for name, column in found.items():
        kind = RECORD_FIELDS.get(name, pa.int64())
        coded = pa.types.is_dictionary(column.type)
        found_kind = column.type.value_type if coded else column.type
        # what the values of a list are called does not matter
        if not found_kind.equals(kind) and not pa.types.is_list(kind):
            raise ValueError(f"found {found_kind} in the column {name}, expected {kind}")


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece; combining would copy one that is."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _value(found: Mapping[str, pa.Array], name: str, rows: int) -> Any:  # noqa: ANN401  # an array
    """Return a part of who the records are."""
    if name not in found:
        return absent(name, rows)
    kind = RECORD_FIELDS[name]
    is_text = pa.types.is_string(kind) or pa.types.is_list(kind)
    return found[name] if is_text else found[name].to_numpy(zero_copy_only=False)
