"""The facts file: Parquet with the facts of a history, readable only by what it was made with.

A file is a row of chunks, each of the same number of consecutive lines; a chunk has one row group
for each skill type among its records, in name order. A row group has a column for each part of who
a record is, and one for each fact; facts of other types are null. The bytes follow from the records
alone, not from how they were taken. Its metadata says which schemas and definitions it was made by.
"""

from __future__ import annotations

import json
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import attrs
import msgspec
import numpy as np
import pyarrow as pa

from tallystick.errors import InputError
from tallystick.formula.text import fact_text
from tallystick.io.documents import parse_json
from tallystick.io.parquet import ParquetReader, RowGroupWriter, parquet_errors
from tallystick.io.sources import Source
from tallystick.scoring.facts.batch import RECORD_FIELDS, FactBatch, FactRows
from tallystick.scoring.facts.catalog import FactCatalog, TypeMetadata, definitions_digest

if TYPE_CHECKING:
    import pyarrow.parquet as pq

FORMAT = 1
"""The version of the file format."""
KEY = b"tallystick.facts"
"""Under this key of the Parquet metadata stands what the file says of itself, as JSON."""
CHUNK = 1 << 17
"""Maximum number of lines that a chunk covers, as it is read as a whole: as many as are written."""

_DIGITS = 16
_AGAIN = "make the facts of the records again"


class FactsMetadata(msgspec.Struct, frozen=True):
    """The metadata of a facts file.

    Attributes:
        chunk: how many lines a chunk covers.
        lines: how many lines there were, good and bad.
        records: how many good ones.
        input_digest: of the records.
        types: by skill type, how its facts were made.
        groups: the chunk, type and number of rows of each row group.
        checksum: CRC-32 of all of it, by which a file that has changed is known.
    """

    chunk: int
    lines: int
    records: int
    input_digest: str
    types: dict[str, TypeMetadata]
    groups: list[tuple[int, str, int]]
    checksum: int

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return -(-self.lines // self.chunk)

    def groups_of(self, chunk: int) -> list[tuple[int, str]]:
        """Return the position and type of each row group of a chunk."""
        # they follow each other, in the order of their chunks
        start = bisect_left(self.groups, chunk, key=lambda group: group[0])
        end = bisect_right(self.groups, chunk, key=lambda group: group[0])
        return [(group, self.groups[group][1]) for group in range(start, end)]


def column_name(digest: str) -> str:
    """Return the name of the column of a fact."""
    return f"fact_{digest[:_DIGITS]}"


def described(catalogs: Mapping[str, FactCatalog]) -> dict[str, Any]:
    """Return the description of the facts of some catalogs."""
    facts = {d: fact for catalog in catalogs.values() for d, fact in catalog.by_digest.items()}
    return {
        "format": FORMAT,
        "types": {name: msgspec.to_builtins(own.metadata) for name, own in catalogs.items()},
        "facts": {d: {"column": column_name(d), "text": fact_text(facts[d])} for d in facts},
    }


def metadata_of(path: Path, footer: pq.FileMetaData) -> FactsMetadata:
    """Return the metadata in the footer of a facts file.

    Raises:
        InputError: it is no facts file, one of another format, or damaged.
    """
    with parquet_errors(path):
        stored = (footer.metadata or {}).get(KEY)
        sizes = [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
    if stored is None:
        raise InputError(
            f"{path}: found Parquet without facts, expected records as JSONL, one JSON object a "
            "line, or their facts, as the command facts writes them: convert the table, as DuckDB "
            f"does by COPY (FROM '{path.name}') TO '{path.stem}.jsonl'"
        )
    try:
        fields = parse_json(stored)
        if fields["format"] != FORMAT:
            raise InputError(
                f"{path}: found a facts file of format {fields['format']}, expected {FORMAT}: read "
                "it with the version that made it, or make it again"
            )
        metadata = msgspec.convert(fields, FactsMetadata)
    except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
        raise _damaged(path) from error
    sound = fields.pop("checksum") == zlib.crc32(_text(fields).encode()) and _is_sound(metadata)
    if not sound or sizes != [rows for _, _, rows in metadata.groups]:
        raise _damaged(path)
    return metadata


def sealed(said: Mapping[str, Any]) -> str:
    """Return metadata as JSON with a checksum: Parquet has none of this part."""
    return _text(dict(said) | {"checksum": zlib.crc32(_text(said).encode())})


def _text(said: Mapping[str, Any]) -> str:
    return json.dumps(said, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _is_sound(found: FactsMetadata) -> bool:
    """Return whether the chunks hold all records, in order, of types that are described."""
    numbers = [chunk for chunk, _, _ in found.groups]
    return (
        0 < found.chunk <= CHUNK
        and numbers == sorted(numbers)
        and all(0 <= number < found.chunks for number in numbers)
        and all(0 <= rows <= found.chunk for _, _, rows in found.groups)
        and found.records == sum(rows for _, _, rows in found.groups) <= found.lines
        and all(name in found.types for _, name, _ in found.groups)
    )


def _damaged(path: Path) -> InputError:
    return InputError(
        f"{path}: found a facts file whose parts contradict each other, expected it as it was "
        "written: make it again"
    )


def check(
    path: Path,
    said: FactsMetadata,
    catalogs: Mapping[str, FactCatalog],
    wanted: Mapping[str, Collection[str]],
) -> None:
    """Refuse a file whose facts are not those that are wanted.

    Raises:
        InputError: it was made by other schemas or definitions, or lacks facts.
    """
    for name in dict.fromkeys(name for _, name, _ in said.groups):
        made, catalog = said.types[name], catalogs.get(name)
        if catalog is None and name not in wanted:
            continue  # of a plugin that nobody names: no fact of it is read
        if catalog is None:
            raise InputError(
                f"{path}: found facts of the skill type {name!r}, expected one of "
                f"{', '.join(catalogs)}: install its plugin"
            )
        if made.schema != catalog.metadata.schema:
            raise InputError(
                f"{path}: found facts of {name} made with the record schema {made.schema}, "
                f"expected {catalog.metadata.schema}: {_AGAIN}"
            )
        stated = definitions_digest(made.facts, made.requirements)
        if made.definitions != stated or made.requirements != catalog.metadata.requirements:
            raise InputError(
                f"{path}: found facts of {name} made with the definitions {made.definitions}, "
                f"expected {catalog.metadata.definitions}: {_AGAIN}"
            )
        if lacking := sorted(set(wanted.get(name, ())) - set(made.facts)):
            texts = ", ".join(fact_text(catalog.by_digest[digest]) for digest in lacking)
            raise InputError(
                f"{path}: found facts of {name} without {texts}, expected all that the rule set "
                f"reads: {_AGAIN}"
            )


_TEXTS = ("skill_type", "task_id", "validator", "miner_hotkey", "role", "events.list.element")
_UNIQUE = ("record", "task_id")


class FactsWriter:
    """Writes batches of consecutive records; close it to complete the file."""

    def __init__(
        self,
        file: IO[bytes],
        catalogs: Mapping[str, FactCatalog],
        chunk: int = CHUNK,
        source: Source | None = None,
    ) -> None:
        """Begin a file.

        Args:
            file: where the bytes go; it stays open.
            catalogs: what the facts were taken by.
            chunk: how many lines a chunk covers.
            source: the records, whose digest is a part of the metadata.
        """
        self._catalogues, self._chunk, self._source = catalogs, chunk, source
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
            "input_digest": "" if self._source is None else self._source.digest,
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


@attrs.frozen
class FactsChunk:
    """One chunk of a facts file, by its place; it can be pickled.

    Attributes:
        path: the file.
        number: which chunk, from 0.
        before: how many records of the input come before the file.
        checksum: of what the file says of itself, by which one that has changed is known.
    """

    path: Path
    number: int
    before: int
    checksum: int

    @property
    def first(self) -> int:
        """The number of the first record of the file."""
        return self.before + 1

    def items(self) -> Sequence[bytes]:
        """Refused: the records are gone.

        Raises:
            InputError: always.
        """
        raise InputError(
            f"{self.path}: found facts alone, expected records: give the file that they were taken "
            "of"
        )

    def facts(
        self,
        catalogs: Mapping[str, FactCatalog],
        wanted: Mapping[str, Collection[str]],
        coded: Sequence[str] = (),
    ) -> FactBatch:
        """Return the facts that are wanted.

        Args:
            catalogs: what is installed.
            wanted: by skill type, the digests of the facts; other types have none.
            coded: of the texts, which are given as dictionaries: faster where they repeat.

        Raises:
            InputError: the file cannot be read, is another one than before, was made by other
                schemas or definitions, or lacks facts.
        """
        # a file is opened again for each chunk: that takes 2 ms, and a chunk 200
        with ParquetReader(self.path, coded) as reader:
            metadata = metadata_of(self.path, reader.footer)
            if metadata.checksum != self.checksum:
                raise InputError(
                    f"{self.path}: found another facts file than before, expected one that stays "
                    "as it is, the same for every worker: run again"
                )
            check(self.path, metadata, catalogs, wanted)
            after = self.number * metadata.chunk
            return FactBatch(
                self.before + after + 1,
                min(metadata.chunk, metadata.lines - after),
                {
                    name: self._rows(reader, group, name, wanted.get(name, ()))
                    for group, name in metadata.groups_of(self.number)
                },
            )

    def _rows(
        self, reader: ParquetReader, group: int, skill_type: str, wanted: Collection[str]
    ) -> FactRows:
        """Return the rows of one group."""
        digests = sorted(wanted)
        names = [name for name in RECORD_FIELDS if name != "skill_type"]
        names += map(column_name, digests)
        table = reader.group(group, names)
        with parquet_errors(self.path):
            columns = {name: _checked(name, table.column(name)) for name in names}
        facts = {digest: columns.pop(column_name(digest)) for digest in digests}
        columns["record"] = columns["record"] + self.before
        return FactRows(skill_type, **columns, facts=facts)


def facts_metadata(path: Path) -> FactsMetadata:
    """Return the metadata of a facts file.

    Raises:
        InputError: it is no facts file, or one of a newer format.
    """
    with ParquetReader(path) as reader:
        return metadata_of(path, reader.footer)


def _checked(name: str, column: pa.ChunkedArray) -> Any:  # noqa: ANN401  # an array
    """Return a column in one piece, numbers and truths as NumPy has them.

    Raises:
        ValueError: it is of another type than that of its field, or than a fact.
    """
    kind = RECORD_FIELDS.get(name, pa.int64())
    found = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    # what the values of a list are called does not matter
    if not found.equals(kind) and not pa.types.is_list(kind):
        raise ValueError(f"found {found} in the column {name}, expected {kind}")
    # combining would copy one that is in one piece
    whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    is_text = pa.types.is_string(kind) or pa.types.is_list(kind)
    return whole if is_text else whole.to_numpy(zero_copy_only=False)
