"""Lines of a file: its bytes, read once with bounded memory, and the lines that they are.

Invariants:

- the lines, joined by line ends, are the file, but for the rest of lines that are too long;
- the digest covers every byte that was read, also of lines that were cut;
- a reader and a splitter hold at most one block and one line of the limit at a time, however long
  the lines are.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import attrs

from tallystick.canonical import PREFIX
from tallystick.errors import InputError
from tallystick.io.streams import STANDARD, standard_input

if TYPE_CHECKING:
    from hashlib import _Hash

MAX_LINE_BYTES = 2**20
"""The longest line that a record may have, without its line end. See docs/records.md."""

_BLOCK_BYTES = 2**17
_PARQUET = b"PAR1"


@attrs.define
class Splitter:
    """Makes lines of blocks of bytes.

    A line that is too long is cut to one byte more than the limit, by which it is known.

    Attributes:
        limit: the longest line that is kept whole, in bytes.
    """

    limit: int = MAX_LINE_BYTES
    _start: bytes = attrs.field(default=b"", init=False)

    def lines(self, block: bytes) -> list[bytes]:
        """The lines that end in the next block, which is not empty."""
        # several times as fast as bytes.split, which looks at one byte after the other
        ended = io.BytesIO(block).readlines()
        end = b"" if block.endswith(b"\n") else ended.pop()
        lines = [line[:-1] for line in ended]
        if lines:
            lines[0] = (self._start + lines[0])[: self.limit + 1]
            self._start = b""
        self._start = (self._start + end)[: self.limit + 1]
        return lines

    def rest(self) -> list[bytes]:
        """The last line, if it has no line end."""
        return [self._start] if self._start else []


@attrs.define
class LineReader:
    """Reads a file once, from start to end.

    Attributes:
        path: the file.
        block_bytes: how much is read at a time.
        limit: the longest line that is kept whole, in bytes.
        bytes_read: how much has been read so far.
        lines_read: how many lines have ended so far, as who cuts the blocks into lines tells.
    """

    path: Path = attrs.field(converter=Path)
    block_bytes: int = _BLOCK_BYTES
    limit: int = MAX_LINE_BYTES
    bytes_read: int = attrs.field(default=0, init=False)
    lines_read: int = attrs.field(default=0, init=False)
    _hash: _Hash = attrs.field(factory=hashlib.sha256, init=False)

    @property
    def digest(self) -> str:
        """``sha256:`` and the hexadecimal digest of what has been read so far."""
        return PREFIX + self._hash.hexdigest()

    def blocks(self) -> Iterator[bytes]:
        """The bytes as they are read, which the digest and ``bytes_read`` follow.

        Raises:
            InputError: the file cannot be opened or read, or is Parquet.
        """
        with opened(self.path) as file:
            try:
                yield from self._read(file)
            except OSError as error:
                read = f"after {self.bytes_read} bytes and {self.lines_read} lines"
                raise InputError(
                    f"{self.path}: the file cannot be read {read} ({error.strerror or error}): "
                    "check the disk and run again"
                ) from error

    def _read(self, file: BinaryIO) -> Iterator[bytes]:
        while block := file.read(self.block_bytes):
            if not self.bytes_read and block.startswith(_PARQUET):
                raise InputError(
                    f"{self.path}: found Parquet, expected one JSON record a line: "
                    "give the file the extension .parquet"
                )
            self._hash.update(block)
            self.bytes_read += len(block)
            yield block


def opened(path: Path) -> BinaryIO:
    """The file, open for reading; ``-`` is the standard input.

    Raises:
        InputError: there is no such file, or it cannot be opened.
    """
    if path == STANDARD:
        return standard_input()
    try:
        return path.open("rb")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    match error:
        case FileNotFoundError():
            return "no such file: check the name"
        case IsADirectoryError():
            return "a folder, expected a file: name one file of records in it"
        case PermissionError():
            return "the file may not be read: check its permissions"
        case OSError():
            return f"the file cannot be read ({error.strerror or error}): check the name"
        case _:
            return f"found a name that no file can have ({error}), expected the name of a file"
