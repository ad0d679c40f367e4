"""Parquet files: written row group by row group, and read with what is wrong with them told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from tallystick.errors import InputError

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_BUFFER_BYTES = 1 << 16
ROWS = 1 << 16
"""Number of rows in a row group, however they came: equal rows are equal bytes."""


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


def parquet_file(
    file: BinaryIO, metadata: pq.FileMetaData, coded: Sequence[str] = ()
) -> pq.ParquetFile:
    """Return an open file as Parquet, whose checksums are looked at.

    Args:
        file: stays open.
        metadata: its footer.
        coded: of the texts, which are given as dictionaries.
    """
    import pyarrow.parquet as pq  # as above

    return pq.ParquetFile(
        file,
        metadata=metadata,
        page_checksum_verification=True,
        read_dictionary=list(coded),
        # else the whole of a column is read at once
        buffer_size=_BUFFER_BYTES,
    )


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Name the file in every error of the block that reads it.

    Raises:
        InputError: instead of an error of the disk or of Arrow in the block.
    """
    try:
        yield
    except (KeyError, OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"{path}: the file cannot be read as Parquet ({reason}): check that it is whole"
        ) from error
