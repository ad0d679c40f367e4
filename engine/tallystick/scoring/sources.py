"""Sources: files of records, JSONL or Parquet, read in batches with bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeVar

from tallystick.errors import InputError
from tallystick.records.lines import LineReader
from tallystick.records.opening import opened
from tallystick.scoring.staging import digest_of

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_BYTES = 1 << 24
"""How much of a JSONL file is scored at a time: enough rows for columns to pay."""
BATCH_LINES = 1 << 14
"""How many of its lines are scored at a time, however short they are."""
ROWS = 1 << 12
"""How many rows of a Parquet file are scored at a time."""


Results_co = TypeVar("Results_co", covariant=True)
"""What becomes of a batch: for scoring alone a ``ResultBatch``."""


class ScoresBatches(Protocol[Results_co]):
    """What scores the batches of a source."""

    def score_lines(self, lines: Sequence[bytes], first: int = 1) -> Results_co:
        """The results of consecutive lines."""

    def score_rows(self, rows: pa.RecordBatch, first: int = 1) -> Results_co:
        """The results of consecutive rows."""


class Source(Protocol):
    """A file of records.

    Attributes:
        size: the bytes of the file.
        bytes_read: how many of them were read so far.
    """

    size: int

    @property
    def bytes_read(self) -> int:
        """How many bytes were read so far."""

    @property
    def digest(self) -> str:
        """``sha256:`` and the digest of the bytes, complete after the last batch."""

    def items(self) -> Iterator[Any]:
        """The records as they are: lines, or rows as mappings."""

    def batches(self, scorer: ScoresBatches[Results_co]) -> Iterator[Results_co]:
        """The results of the records, batch after batch."""


def source_of(path: Path) -> Source:
    """The source of a file: Parquet by its extension, else JSONL."""
    return ParquetSource(path) if path.suffix.lower() == ".parquet" else JsonLinesSource(path)


class JsonLinesSource:
    """One JSON object a line."""

    def __init__(self, path: Path) -> None:
        """Read nothing yet."""
        self._lines = LineReader(path)
        self.size = _size(path)

    @property
    def bytes_read(self) -> int:
        """How many bytes were read so far."""
        return self._lines.bytes_read

    @property
    def digest(self) -> str:
        """``sha256:`` and the digest of what was read so far."""
        return self._lines.digest

    def items(self) -> Iterator[bytes]:
        """The lines."""
        for batch in self._lines:
            yield from batch.lines

    def batches(self, scorer: ScoresBatches[Results_co]) -> Iterator[Results_co]:
        """The results of the lines."""
        first = 1
        for lines in self._gathered():
            yield scorer.score_lines(lines, first)
            first += len(lines)

    def _gathered(self) -> Iterator[list[bytes]]:
        lines, gathered = list[bytes](), 0
        for batch in self._lines:
            lines += batch.lines
            while len(lines) >= BATCH_LINES:
                yield lines[:BATCH_LINES]
                lines, gathered = lines[BATCH_LINES:], self.bytes_read
            if self.bytes_read - gathered >= BATCH_BYTES:
                yield lines
                lines, gathered = [], self.bytes_read
        if lines:
            yield lines


class ParquetSource:
    """The fields of records as columns; structs are objects, null is left out."""

    def __init__(self, path: Path) -> None:
        """Read nothing yet."""
        self._path = path
        self.size = _size(path)
        self.bytes_read = 0
        self.digest = ""

    def items(self) -> Iterator[dict[str, Any]]:
        """The rows as mappings."""
        from tallystick.records.tables import rows  # noqa: PLC0415  # heavy

        for batch, first in self._row_groups():
            with self._named():
                yield from rows(batch, first)

    def batches(self, scorer: ScoresBatches[Results_co]) -> Iterator[Results_co]:
        """The results of the rows."""
        for batch, first in self._row_groups():
            with self._named():
                results = scorer.score_rows(batch, first)
            yield results

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Says of an error in the rows which file they are of."""
        try:
            yield
        except InputError as error:
            raise InputError(f"{self._path}: {error}") from error

    def _row_groups(self) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Consecutive rows, and the number of the first."""
        import pyarrow as pa  # noqa: PLC0415  # heavy

        with opened(self._path) as file:
            try:
                # first, as a pipe cannot do this and may have no end
                file.seek(0)
                # of the same handle as the rows, so that it is of the bytes that are read
                self.digest = digest_of(file)
                yield from self._rows(file)
            except (OSError, ValueError, pa.ArrowException) as error:
                raise InputError(
                    f"{self._path}: the file cannot be read as Parquet ({error}): check that it is "
                    "whole"
                ) from error
        self.bytes_read = self.size

    def _rows(self, file: BinaryIO) -> Iterator[tuple[pa.RecordBatch, int]]:
        import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

        with pq.ParquetFile(file) as parquet:
            if parquet.metadata.num_rows == 0:
                raise InputError(f"{self._path}: the file has no rows, expected records")
            first = 1
            for batch in parquet.iter_batches(ROWS):
                yield batch, first
                first += batch.num_rows


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0
