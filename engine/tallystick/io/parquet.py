"""Parquet files: written row group by row group, and read with what is wrong with them told.

What a reader does follows from the footer: a row group is read if the footer says that it is no
larger than ``LARGEST_GROUP``, and rows are made in as small batches as the footer says that they
need. A footer that lies is met by the limit of memory of the process (``--memory``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Self

import pyarrow as pa

from tallystick.errors import InputError
from tallystick.io.inputs import opened

if TYPE_CHECKING:
    import pyarrow.parquet as pq

ROWS = 1 << 16
"""Number of rows in a row group, however they came: equal rows are equal bytes."""
LARGEST_GROUP = 1 << 29
"""Maximum size of a row group, uncompressed, in bytes."""

_BUFFER_BYTES = 1 << 16
_BATCH_ROWS, _BATCH_BYTES = 1 << 12, 8 << 20
"""Maximum number and size of the rows that are made at a time, by the average of their group."""
_FOOTER_BYTES, _FOOTER_SHARE = 4 << 20, 128
"""Maximum size of a footer, or its part of the file: in memory it takes thirty times as much."""


class RowGroupWriter:
    """Writes rows in row groups; close it to complete the file, or abandon it."""

    def __init__(
        self,
        file: IO[bytes] | Path,
        schema: pa.Schema,
        *,
        in_one_piece: bool = True,
        **options: Any,  # noqa: ANN401  # those of pyarrow
    ) -> None:
        """Begin a file.

        Args:
            file: where the bytes go; an open file stays open.
            schema: of the rows.
            in_one_piece: whether the rows of a group are joined before they are written, without
                which the pages of long texts end where the rows came in pieces.
            options: further options of ``pyarrow.parquet.ParquetWriter``.
        """
        import pyarrow.parquet as pq  # who writes lines needs no Parquet

        self._in_one_piece, self._waiting = in_one_piece, schema.empty_table()
        self._writer = pq.ParquetWriter(file, schema, **options)

    def append(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Append rows; groups of ``ROWS`` are written as soon as they are full."""
        table = rows if isinstance(rows, pa.Table) else pa.table(rows)
        self._waiting = pa.concat_tables([self._waiting, table])
        while self._waiting.num_rows >= ROWS:
            self._write(self._waiting.slice(0, ROWS))
            self._waiting = self._waiting.slice(ROWS)

    def write_group(self, pieces: Sequence[pa.RecordBatch]) -> int:
        """Write one row group, whatever its size; gives the number of its rows."""
        table = pa.Table.from_batches(pieces)
        self._write(table)
        rows: int = table.num_rows
        return rows

    def close(self, metadata: Mapping[str, str] | None = None) -> None:
        """Write the rows that are left, and the footer.

        Args:
            metadata: what the file says of itself, by key.
        """
        rest, self._waiting = self._waiting, self._waiting.slice(0, 0)
        with self._writer:
            if rest.num_rows:
                self._write(rest)
            if metadata:
                self._writer.add_key_value_metadata(metadata)

    def abandon(self) -> None:
        """Let go of a file that is thrown away: a writer that is left open complains."""
        with suppress(Exception):
            self._writer.close()

    def _write(self, table: pa.Table) -> None:
        whole = table.combine_chunks() if self._in_one_piece else table
        self._writer.write_table(whole, row_group_size=max(whole.num_rows, 1))


class ParquetReader:
    """Reads a Parquet file, whose checksums are looked at; close it.

    Attributes:
        footer: what the file says of itself.
    """

    def __init__(self, path: Path, coded: Sequence[str] = ()) -> None:
        """Open the file and read its footer.

        Args:
            path: the file.
            coded: columns of texts that are given as dictionaries: faster where they repeat.

        Raises:
            InputError: it cannot be read, is no Parquet, or has too large a footer.
        """
        import pyarrow.parquet as pq  # as above

        self._path = path
        with ExitStack() as stack:
            file = stack.enter_context(opened(path))
            with parquet_errors(path):
                self.footer = _footer(path, file)
                parquet = pq.ParquetFile(
                    file,
                    metadata=self.footer,
                    page_checksum_verification=True,
                    read_dictionary=list(coded),
                    # else the whole of a column is read at once
                    buffer_size=_BUFFER_BYTES,
                    # read ahead by threads, a file that is given up would end the process with them
                    pre_buffer=False,
                )
            self._parquet = stack.enter_context(parquet)
            self.close = stack.pop_all().close

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def group(self, index: int, columns: Sequence[str]) -> pa.Table:
        """Return some columns of a row group.

        Raises:
            InputError: the group is damaged, or larger than ``LARGEST_GROUP``.
        """
        self._checked_size(index)
        with parquet_errors(self._path):
            return self._parquet.read_row_group(index, columns=list(columns), use_threads=False)

    def rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the rows with their numbers, from 1: structs and maps as objects, without nulls.

        Raises:
            InputError: the file is damaged, a row group is larger than ``LARGEST_GROUP``, or a
                value has no equal in Python, such as a time after the year 9999.
        """
        number = 1
        for index in range(self.footer.num_row_groups):
            size = self._checked_size(index)
            rows = self.footer.row_group(index).num_rows
            most = max(1, min(_BATCH_ROWS, _BATCH_BYTES * rows // max(size, 1)))
            with parquet_errors(self._path):
                # not as one expression: the errors of the loop are no errors of the file
                batches = self._parquet.iter_batches(most, row_groups=[index], use_threads=False)
            while True:
                with parquet_errors(self._path):
                    batch = next(batches, None)
                if batch is None:
                    break
                for row in self._made(batch, number):
                    yield number, row
                    number += 1

    def _made(self, batch: pa.RecordBatch, first: int) -> list[dict[str, Any]]:
        try:
            return [_without_nulls(row) for row in batch.to_pylist(maps_as_pydicts="strict")]
        except MemoryError:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError, pa.ArrowException) as error:
            raise InputError(
                f"{self._path}: rows {first} to {first + batch.num_rows - 1}: found a value that "
                f"Python cannot hold ({' '.join(str(error).split())}), expected JSON values: leave "
                "the row out, or write the column with another type"
            ) from error

    def _checked_size(self, index: int) -> int:
        """Return the size of a row group, by the footer, unless it is too large.

        That of a column is not looked at: where its statistics are damaged, Arrow ends the process.
        """
        size: int = self.footer.row_group(index).total_byte_size
        if not 0 <= size <= LARGEST_GROUP:
            raise InputError(
                f"{self._path}: row group {index}: found {size} bytes by the footer, expected at "
                f"most {LARGEST_GROUP}: write the file with smaller row groups"
            )
        return size


def _without_nulls(value: Any) -> Any:  # noqa: ANN401  # a JSON value
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _footer(path: Path, file: BinaryIO) -> pq.FileMetaData:
    import pyarrow.parquet as pq  # as above

    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    length = int.from_bytes(file.read(4), "little")
    allowed = max(_FOOTER_BYTES, size // _FOOTER_SHARE)
    if allowed < length <= size:
        raise InputError(
            f"{path}: found a footer of {length} bytes, expected at most {allowed}: write the file "
            "with fewer columns or larger row groups"
        )
    return pq.read_metadata(file)


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Name the file in every error of the block that reads it.

    Raises:
        InputError: instead of an error of the disk or of Arrow in the block.
    """
    try:
        yield
    except MemoryError:
        raise
    except (KeyError, OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"{path}: the file cannot be read as Parquet ({reason}): check that it is whole"
        ) from error
