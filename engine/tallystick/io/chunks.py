"""Pieces: consecutive records of an input, which anyone can score by themselves.

Of lines, a piece is their place in the file; of a pipe the lines, and of Parquet the rows. Where a
piece of lines ends is a function of the bytes alone, so results do not depend on who scores them:
at the first line end by which it has ``PIECE_BYTES`` bytes or ``PIECE_LINES`` lines.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeVar

import attrs
import numpy as np

from tallystick.errors import InputError
from tallystick.io.lines import LineReader, Splitter, opened

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

PIECE_BYTES = 3 << 21
"""How many bytes end a piece: enough rows for columns to pay, few enough to share work evenly."""
PIECE_LINES = 1 << 14
"""How many lines end a piece, however short they are."""

_CHUNK_BYTES = 1 << 17
_LINE_END = 10

Results_co = TypeVar("Results_co", covariant=True)
"""What becomes of a piece: for scoring alone a ``ResultBatch``."""


class ScoresBatches(Protocol[Results_co]):
    """What scores the pieces of a source."""

    def score_lines(self, lines: Sequence[bytes], first: int = 1) -> Results_co:
        """The results of consecutive lines."""

    def score_rows(self, rows: pa.RecordBatch, first: int = 1) -> Results_co:
        """The results of consecutive rows."""


class Scorable(Protocol):
    """A piece of any kind; it can be pickled."""

    def results(self, scorer: ScoresBatches[Results_co]) -> Results_co:
        """What a scorer makes of the records."""


@attrs.frozen
class Piece:
    """Consecutive lines of a file, by their place.

    Attributes:
        path: the file.
        offset: where the first line begins, in bytes.
        size: how many bytes there are, with line ends.
        first: the number of the first line, over the whole input.
        checksum: CRC-32 of the bytes, by which a file that has changed is known.
    """

    path: Path
    offset: int
    size: int
    first: int
    checksum: int

    def results(self, scorer: ScoresBatches[Results_co]) -> Results_co:
        """What a scorer makes of the lines.

        Raises:
            InputError: as ``lines``.
        """
        return scorer.score_lines(self.lines(), self.first)

    def lines(self) -> list[bytes]:
        """The lines without their line ends; one that is too long is cut as by ``LineReader``.

        Raises:
            InputError: the file cannot be read, or does not have these bytes.
        """
        with opened(self.path) as file:
            try:
                lines, checksum = self._read(file)
            except OSError as error:
                raise InputError(
                    f"{self.path}: the file cannot be read at byte {self.offset} "
                    f"({error.strerror or error}): check the disk and run again"
                ) from error
        if checksum != self.checksum:
            raise InputError(
                f"{self.path}: found other bytes from byte {self.offset} on than before, expected "
                "a file that stays as it is, the same for every worker: run again"
            )
        return lines

    def _read(self, file: BinaryIO) -> tuple[list[bytes], int]:
        file.seek(self.offset)
        splitter, lines, checksum, left = Splitter(), list[bytes](), 0, self.size
        while left and (chunk := file.read(min(_CHUNK_BYTES, left))):
            lines += splitter.lines(chunk)
            checksum = zlib.crc32(chunk, checksum)
            left -= len(chunk)
        # what is shorter than it was has another checksum
        return lines + splitter.rest(), checksum


@attrs.frozen
class Held:
    """Consecutive lines themselves, of what cannot be read twice."""

    lines: list[bytes]
    first: int

    def results(self, scorer: ScoresBatches[Results_co]) -> Results_co:
        """What a scorer makes of the lines."""
        return scorer.score_lines(self.lines, self.first)


@attrs.frozen(eq=False)
class Rows:
    """Consecutive rows of a Parquet file themselves."""

    path: Path
    rows: pa.RecordBatch
    first: int

    def results(self, scorer: ScoresBatches[Results_co]) -> Results_co:
        """What a scorer makes of the rows.

        Raises:
            InputError: a value has no equal in Python.
        """
        with of_file(self.path):
            return scorer.score_rows(self.rows, self.first)


@contextmanager
def of_file(path: Path) -> Iterator[None]:
    """Says of an error in the block which file it is of."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


@attrs.frozen
class Part:
    """Some bytes of a piece.

    Attributes:
        data: the bytes; there may be none.
        line_ends: how many lines end in them.
        last: whether the piece ends with them.
    """

    data: bytes
    line_ends: int
    last: bool


@attrs.define
class PieceReader:
    """Reads a file once, from start to end, piece after piece.

    Attributes:
        reader: the file.
        first: the number of the first line.
        next: the number of the line after the last piece.
    """

    reader: LineReader
    first: int = 1
    next: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Begin with the first line."""
        self.next = self.first

    def pieces(self) -> Iterator[Piece]:
        """The places of the pieces.

        Raises:
            InputError: as ``LineReader``.
        """
        # workers may have another working directory
        path = self.reader.path.absolute()
        offset = size = lines = checksum = 0
        end = b""
        for part in self._parts():
            size, lines = size + len(part.data), lines + part.line_ends
            checksum, end = zlib.crc32(part.data, checksum), part.data[-1:] or end
            if part.last and size:
                yield Piece(path, offset, size, self.next, checksum)
                # the last line of a file may have no line end
                self.next += lines + (end != b"\n")
                offset, size, lines, checksum = offset + size, 0, 0, 0
        self._check()

    def lines(self) -> Iterator[tuple[int, list[bytes]]]:
        """The lines of each piece, and the number of the first.

        Raises:
            InputError: as ``LineReader``.
        """
        splitter, lines = Splitter(self.reader.limit), list[bytes]()
        for part in self._parts():
            if part.data:
                lines += splitter.lines(part.data)
            if part.last:
                lines += splitter.rest()
                if lines:
                    yield self.next, lines
                    self.next += len(lines)
                lines = []
        self._check()

    def _check(self) -> None:
        if self.next == self.first:
            raise InputError(
                f"{self.reader.path}: the file is empty, expected one JSON record a line"
            )

    def _parts(self) -> Iterator[Part]:
        cutter = _Cutter()
        for chunk in self.reader.chunks():
            yield from cutter.parts(chunk)
        yield Part(b"", 0, last=True)


@attrs.define
class _Cutter:
    """Finds the ends of pieces; it knows how much the piece at hand has so far."""

    size: int = 0
    lines: int = 0

    def parts(self, chunk: bytes) -> Iterator[Part]:
        """The bytes of a chunk, apart by piece."""
        lines = chunk.count(b"\n")
        if self.size + len(chunk) < PIECE_BYTES and self.lines + lines < PIECE_LINES:
            self.size, self.lines = self.size + len(chunk), self.lines + lines
            yield Part(chunk, lines, last=False)
        else:
            yield from self._cut(chunk)

    def _cut(self, chunk: bytes) -> Iterator[Part]:
        ends = np.flatnonzero(np.frombuffer(chunk, np.uint8) == _LINE_END) + 1
        start = passed = 0
        while (last := self._last(ends, start, passed)) < len(ends):
            end = int(ends[last])
            yield Part(chunk[start:end], last + 1 - passed, last=True)
            start, passed, self.size, self.lines = end, last + 1, 0, 0
        if start < len(chunk):
            self.size += len(chunk) - start
            self.lines += len(ends) - passed
            yield Part(chunk[start:], len(ends) - passed, last=False)

    def _last(self, ends: npt.NDArray[np.intp], start: int, passed: int) -> int:
        """Which of the line ends of a chunk ends the piece that goes on at ``start``."""
        by_size = int(np.searchsorted(ends, start + PIECE_BYTES - self.size))
        return max(passed, min(by_size, passed + PIECE_LINES - self.lines - 1))


def is_seekable(path: Path) -> bool:
    """Whether any part of a file can be read by itself: not so of a pipe."""
    with suppress(OSError, ValueError):
        return path.is_file()
    return False
