"""Chunks: consecutive records of an input, which anyone can work on by themselves.

Of lines, a chunk is their place in the file; of a pipe the lines. Where a chunk of lines ends is a
function of the bytes alone, so results do not depend on who works on them: at the first line end by
which it has ``CHUNK_BYTES`` bytes or ``CHUNK_LINES`` lines.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import attrs
import numpy as np

from tallystick.errors import EmptyInputError, InputError
from tallystick.io.inputs import opened
from tallystick.io.lines import LineReader, Splitter
from tallystick.io.streams import STANDARD

if TYPE_CHECKING:
    import numpy.typing as npt

CHUNK_BYTES = 3 << 22
"""Size that ends a chunk, in bytes: enough rows for columns to pay, few enough to share work
evenly.
"""
CHUNK_LINES = 1 << 15
"""Number of lines that ends a chunk, however short they are."""

_READ_BYTES = 1 << 17
_LINE_END = 10


class Chunk(Protocol):
    """Consecutive records of any kind of input; those that go by their place can be pickled."""

    @property
    def first(self) -> int:
        """The number of the first record, over the whole input."""

    def items(self) -> Sequence[bytes | Mapping[str, Any]]:
        """Return the records as they came: lines without their line ends, or mappings.

        Raises:
            InputError: they cannot be read.
        """


@attrs.frozen
class FileChunk:
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

    def items(self) -> list[bytes]:
        """Return the lines; one that is too long is cut as by ``LineReader``.

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
        while left and (data := file.read(min(_READ_BYTES, left))):
            lines += splitter.lines(data)
            checksum = zlib.crc32(data, checksum)
            left -= len(data)
        # what is shorter than it was has another checksum
        return lines + splitter.rest(), checksum


@attrs.frozen
class LineChunk:
    """Consecutive lines themselves."""

    lines: list[bytes]
    first: int

    def items(self) -> list[bytes]:
        """Return the lines."""
        return self.lines


@attrs.frozen
class ItemChunk:
    """Consecutive records of a program: mappings and lines."""

    records: list[Mapping[str, Any] | bytes]
    first: int

    def items(self) -> list[Mapping[str, Any] | bytes]:
        """Return the records."""
        return self.records


@attrs.frozen
class _Part:
    """Bytes of a chunk, as many as were read at once.

    Attributes:
        data: the bytes; there may be none.
        line_ends: how many lines end in them.
        last: whether the chunk ends with them.
    """

    data: bytes
    line_ends: int
    last: bool


@attrs.define
class ChunkReader:
    """Reads a file once, from start to end, chunk after chunk.

    Attributes:
        reader: the file.
        first: the number of the first line.
        next: the number of the line after the last chunk.
    """

    reader: LineReader
    first: int = 1
    next: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Begin with the first line."""
        self.next = self.first

    def places(self) -> Iterator[FileChunk]:
        """Yield the chunks by their places.

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
                yield FileChunk(path, offset, size, self.next, checksum)
                # the last line of a file may have no line end
                self.next += lines + (end != b"\n")
                offset, size, lines, checksum = offset + size, 0, 0, 0
        self._check()

    def __iter__(self) -> Iterator[LineChunk]:
        """Yield the chunks, read as they are asked for.

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
                    yield LineChunk(lines, self.next)
                    self.next += len(lines)
                lines = []
        self._check()

    def _check(self) -> None:
        if self.next == self.first:
            raise EmptyInputError(
                f"{self.reader.path}: the file is empty, expected one JSON record a line"
            )

    def _parts(self) -> Iterator[_Part]:
        cutter = _Cutter()
        for block in self.reader.blocks():
            for part in cutter.parts(block):
                self.reader.lines_read += part.line_ends
                yield part
        yield _Part(b"", 0, last=True)


@attrs.define
class _Cutter:
    """Finds the ends of chunks; it knows how much the chunk at hand has so far."""

    size: int = 0
    lines: int = 0

    def parts(self, data: bytes) -> Iterator[_Part]:
        """Yield the bytes of one block, apart by chunk."""
        # several times as fast as bytes.count
        lines = int(np.count_nonzero(np.frombuffer(data, np.uint8) == _LINE_END))
        if self.size + len(data) < CHUNK_BYTES and self.lines + lines < CHUNK_LINES:
            self.size, self.lines = self.size + len(data), self.lines + lines
            yield _Part(data, lines, last=False)
        else:
            yield from self._cut(data)

    def _cut(self, data: bytes) -> Iterator[_Part]:
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _LINE_END) + 1
        start = passed = 0
        while (last := self._last(ends, start, passed)) < len(ends):
            end = int(ends[last])
            yield _Part(data[start:end], last + 1 - passed, last=True)
            start, passed, self.size, self.lines = end, last + 1, 0, 0
        if start < len(data):
            self.size += len(data) - start
            self.lines += len(ends) - passed
            yield _Part(data[start:], len(ends) - passed, last=False)

    def _last(self, ends: npt.NDArray[np.intp], start: int, passed: int) -> int:
        """Return the index of the line end in a block that ends the chunk begun at ``start``."""
        by_size = int(np.searchsorted(ends, start + CHUNK_BYTES - self.size))
        return max(passed, min(by_size, passed + CHUNK_LINES - self.lines - 1))


def is_seekable(path: Path) -> bool:
    """Return whether any part of a file can be read by itself; of a pipe none can."""
    with suppress(OSError, ValueError):
        return path != STANDARD and path.is_file()
    return False
