"""Sources: files of records, JSONL or Parquet, read in batches with bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from tallystick.errors import InputError
from tallystick.io.atomic import file_digest
from tallystick.io.chunks import (
    Held,
    PieceReader,
    Results_co,
    Rows,
    Scorable,
    ScoresBatches,
    is_seekable,
    of_file,
)
from tallystick.io.lines import LineReader, opened

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 1 << 12
"""How many rows of a Parquet file are scored at a time."""


class Source(Protocol):
    """Records of a file, or of several.

    Attributes:
        size: the bytes of the input.
        next: the number of the record after the last one that was read.
    """

    size: int

    @property
    def next(self) -> int:
        """The number of the record after the last that was read in batches or pieces."""

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

    def pieces(self) -> Iterator[Scorable]:
        """The batches, to be scored elsewhere."""


def source_of(path: Path, first: int = 1) -> Source:
    """The source of a file or a folder; ``first`` is the number of its first record.

    A file is Parquet by its extension, of records or of facts, else JSONL.
    """
    if _is_folder(path):
        from tallystick.scoring.folder import FolderSource  # noqa: PLC0415  # made of sources

        return FolderSource(path, first)
    if path.suffix.lower() == ".parquet":
        from tallystick.scoring.facts.metadata import is_facts  # noqa: PLC0415  # heavy
        from tallystick.scoring.facts.source import FactsSource  # noqa: PLC0415  # made of sources

        return FactsSource(path, first) if is_facts(path) else ParquetSource(path, first)
    return JsonLinesSource(path, first)


class JsonLinesSource:
    """One JSON object a line."""

    def __init__(self, path: Path, first: int = 1) -> None:
        """Read nothing yet."""
        self._path = path
        self._pieces = PieceReader(LineReader(path), first)
        self.size = _size(path)

    @property
    def next(self) -> int:
        """The number of the record after the last that was read in batches or pieces."""
        return self._pieces.next

    @property
    def bytes_read(self) -> int:
        """How many bytes were read so far."""
        return self._pieces.reader.bytes_read

    @property
    def digest(self) -> str:
        """``sha256:`` and the digest of what was read so far."""
        return self._pieces.reader.digest

    def items(self) -> Iterator[bytes]:
        """The lines."""
        for batch in self._pieces.reader:
            yield from batch.lines

    def batches(self, scorer: ScoresBatches[Results_co]) -> Iterator[Results_co]:
        """The results of the lines."""
        for first, lines in self._pieces.lines():
            yield scorer.score_lines(lines, first)

    def pieces(self) -> Iterator[Scorable]:
        """The places of the lines, or the lines of what cannot be read twice."""
        if is_seekable(self._path):
            yield from self._pieces.pieces()
        else:
            yield from (Held(lines, first) for first, lines in self._pieces.lines())


class ParquetSource:
    """The fields of records as columns; structs are objects, null is left out."""

    def __init__(self, path: Path, first: int = 1) -> None:
        """Read nothing yet."""
        self._path = path
        self._first = self.next = first
        self.size = _size(path)
        self.bytes_read = 0
        self.digest = ""

    def items(self) -> Iterator[dict[str, Any]]:
        """The rows as mappings."""
        from tallystick.io.tables import rows  # noqa: PLC0415  # heavy

        for batch, first in self._row_groups():
            with of_file(self._path):
                yield from rows(batch, first)

    def batches(self, scorer: ScoresBatches[Results_co]) -> Iterator[Results_co]:
        """The results of the rows."""
        for piece in self.pieces():
            yield piece.results(scorer)

    def pieces(self) -> Iterator[Rows]:
        """The rows."""
        for batch, first in self._row_groups():
            yield Rows(self._path, batch, first)

    def _row_groups(self) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Consecutive rows, and the number of the first."""
        import pyarrow as pa  # noqa: PLC0415  # heavy

        with opened(self._path) as file:
            try:
                # first, as a pipe cannot do this and may have no end
                file.seek(0)
                # of the same handle as the rows, so that it is of the bytes that are read
                self.digest = file_digest(file)
                yield from self._rows(file)
            except (OSError, ValueError, pa.ArrowException) as error:
                reason = " ".join(str(error).split())
                raise InputError(
                    f"{self._path}: the file cannot be read as Parquet ({reason}): check that it "
                    "is whole"
                ) from error

    def _rows(self, file: BinaryIO) -> Iterator[tuple[pa.RecordBatch, int]]:
        import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

        with pq.ParquetFile(file, page_checksum_verification=True) as parquet:
            if parquet.metadata.num_rows == 0:
                raise InputError(f"{self._path}: the file has no rows, expected records")
            self.next = self._first
            for batch in parquet.iter_batches(ROWS):
                first, self.next = self.next, self.next + batch.num_rows
                read = self.next - self._first
                self.bytes_read = self.size * read // parquet.metadata.num_rows
                yield batch, first


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
