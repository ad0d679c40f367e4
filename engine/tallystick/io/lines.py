"""Lines of a file: its bytes, read once with bounded memory, and the lines that they are.

Invariants:

- the lines, joined by line ends, are the file, but for the rest of lines that are too long;
- the digest covers every byte that was read, also of lines that were cut;
- a reader and `split` hold at most one block and one line of the limit at a time, however long
  the lines are.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, cast

import attrs

from tallystick.canonical import PREFIX
from tallystick.errors import InputError
from tallystick.io.inputs import check_start, codec_of, decompressed, opened

if TYPE_CHECKING:
    from hashlib import _Hash

MAX_LINE_BYTES = 2**20
"""The longest line that a record may have, without its line end. See docs/records.md."""

BLOCK_BYTES = 2**17
"""Number of bytes that are read at a time."""
_START_BYTES = 8


def split(blocks: Iterable[bytes], limit: int = MAX_LINE_BYTES) -> Iterator[list[bytes]]:
    """Yield the lines that end in each block; at last the one that has no line end, if any.

    A line that is too long is cut to one byte more than the limit, by which it is known.

    Args:
        blocks: consecutive bytes; none is empty.
        limit: the longest line that is kept whole, in bytes.
    """
    start = b""
    for block in blocks:
        # several times as fast as bytes.split, which looks at one byte after the other
        ended = io.BytesIO(block).readlines()
        end = b"" if block.endswith(b"\n") else ended.pop()
        lines = [line[:-1] for line in ended]
        if lines:
            lines[0] = (start + lines[0])[: limit + 1]
            start = b""
        start = (start + end)[: limit + 1]
        yield lines
    if start:
        yield [start]


@attrs.define
class _Counted:
    """A file that is read once: how much of it was, and the digest of that.

    Attributes:
        file: what is read.
        bytes_read: how much has been read so far.
    """

    file: IO[bytes] = attrs.field(factory=io.BytesIO)
    bytes_read: int = attrs.field(default=0, init=False)
    closed: bool = attrs.field(default=False, init=False)
    hash: _Hash = attrs.field(factory=hashlib.sha256, init=False)

    def read(self, size: int) -> bytes:
        """Read at most that many of the following bytes; all of them where the size is negative."""
        parts, left = list[bytes](), size
        # one read at a time, as a signal between two of a longer one is heard after both: of a
        # pipe that nobody writes to any more, never
        while left and (part := self.file.read1(left)):  # type: ignore[attr-defined]  # buffered
            parts.append(part)
            left -= len(part)
        block = b"".join(parts)
        self.hash.update(block)
        self.bytes_read += len(block)
        return block

    def close(self) -> None:
        """Keep the file open, for the caller that opened it."""
        self.closed = True


@attrs.define
class LineReader:
    """Reads a file once, from start to end, decompressed if its name says that it is compressed.

    Attributes:
        path: the file.
        lines_read: how many lines have ended so far, as far as somebody looks for them.
    """

    path: Path = attrs.field(converter=Path)
    lines_read: int = attrs.field(default=0, init=False)
    _counted: _Counted = attrs.field(factory=_Counted, init=False)

    @property
    def bytes_read(self) -> int:
        """The number of bytes of the file that have been read so far."""
        return self._counted.bytes_read

    @property
    def digest(self) -> str:
        """``sha256:`` and the hexadecimal digest of what has been read so far of the file."""
        return PREFIX + self._counted.hash.hexdigest()

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes of the lines as they are read; digest and ``bytes_read`` follow.

        Raises:
            InputError: the file cannot be opened or read, or is something else than its name says.
        """
        with opened(self.path) as file:
            try:
                yield from self._read(file)
            except OSError as error:
                read = f"after {self.bytes_read} bytes and {self.lines_read} lines"
                codec = codec_of(self.path)
                what = f"cannot be read as {codec}" if codec else "cannot be read"
                remedy = "check that it is whole" if codec else "check the disk and run again"
                raise InputError(
                    f"{self.path}: the file {what} {read} ({error.strerror or error}): {remedy}"
                ) from error

    def lines(self, limit: int = MAX_LINE_BYTES) -> Iterator[list[bytes]]:
        """Yield the lines of each block, cut as by `split`; otherwise as `blocks`."""
        for lines in split(self.blocks(), limit):
            self.lines_read += len(lines)
            yield lines

    def _read(self, file: BinaryIO) -> Iterator[bytes]:
        check_start(self.path, file.peek(_START_BYTES))  # type: ignore[attr-defined]  # buffered
        self._counted = _Counted(file)
        stream = decompressed(self.path, cast("IO[bytes]", self._counted))
        while block := stream.read(BLOCK_BYTES):
            yield block
