"""Sources: an input as chunks of consecutive records, read once with bounded memory.

A chunk is worked on by itself, in this process or by others, who are given its place in the file,
or its records where they cannot read it themselves. A chunk of lines ends with the last line of the
block by which it has enough bytes or lines.

A folder is the files in it, in the order of the bytes of their names. Records are numbered over all
of them, as if the files were one. Hidden files are passed over; anything else that is not a file of
records is refused, because what is left out in silence is missed by nobody.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import attrs

from tallystick.canonical import digest_of_bytes, digest_of_file
from tallystick.errors import EmptyInputError, InputError
from tallystick.io.inputs import CODECS, codec_of, opened
from tallystick.io.lines import BLOCK_BYTES, LineReader, split
from tallystick.io.paths import is_receipt_beside
from tallystick.io.streams import STANDARD

SUFFIXES = (".jsonl", *CODECS, ".parquet")
"""Endings of the names of files of records, and of facts, in lower case."""
CHUNK_BYTES, CHUNK_LINES = 3 << 23, 1 << 15
"""Size and number of lines that end a chunk: then a type has rows enough for columns to pay."""

_SUFFIXES = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
_ITEMS = 1 << 12
"""Number of records of a program in a chunk."""

_Item = TypeVar("_Item", bytes, bytes | Mapping[str, Any])


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
class ItemChunk(Generic[_Item]):
    """Consecutive records themselves: lines, or mappings of a program."""

    records: Sequence[_Item]
    first: int

    def items(self) -> Sequence[_Item]:
        """Return the records."""
        return self.records


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
        """Return the lines.

        Raises:
            InputError: the file cannot be read, or does not have these bytes.
        """
        return [line for lines in split(self._blocks()) for line in lines]

    def _blocks(self) -> Iterator[bytes]:
        checksum, left = 0, self.size
        with opened(self.path) as file:
            try:
                file.seek(self.offset)
                while left and (data := file.read(min(BLOCK_BYTES, left))):
                    checksum, left = zlib.crc32(data, checksum), left - len(data)
                    yield data
            except OSError as error:
                raise InputError(
                    f"{self.path}: the file cannot be read at byte {self.offset} "
                    f"({error.strerror or error}): check the disk and run again"
                ) from error
        # what is shorter than it was has another checksum
        if checksum != self.checksum:
            raise InputError(
                f"{self.path}: found other bytes from byte {self.offset} on than before, expected "
                "a file that stays as it is, the same for every worker: run again"
            )


class Source(Protocol):
    """Records of a file, or of several: chunks, to be worked on here or elsewhere.

    Attributes:
        size: the bytes of the input.
    """

    size: int

    @property
    def next(self) -> int:
        """The number of the record after the last chunk."""

    @property
    def bytes_read(self) -> int:
        """The number of bytes read so far."""

    @property
    def digest(self) -> str:
        """``sha256:`` and the digest of the bytes, complete after the last chunk."""

    def __iter__(self) -> Iterator[Chunk]:
        """Return the chunks, to be worked on one after the other in this process.

        Raises:
            InputError: the input cannot be read.
        """

    def places(self) -> Iterator[Chunk]:
        """Return the chunks by their places, to be read by others.

        Raises:
            InputError: as the iteration.
        """


class JsonLinesSource:
    """One JSON object a line.

    Attributes:
        next: the number of the line after the last chunk.
    """

    def __init__(self, path: Path, first: int = 1) -> None:
        """Read nothing yet; ``first`` is the number of the first line."""
        self._path, self._first, self._reader = path, first, LineReader(path)
        self.next, self.size = first, size_of(path)

    @property
    def bytes_read(self) -> int:
        """The number of bytes read so far."""
        return self._reader.bytes_read

    @property
    def digest(self) -> str:
        """``sha256:`` and the digest of what was read so far."""
        return self._reader.digest

    def __iter__(self) -> Iterator[ItemChunk[bytes]]:
        """Yield the lines."""
        unread = self._reader.lines()
        while lines := _chunk_of(unread):
            yield ItemChunk(lines, self.next)
            self.next += len(lines)
        if self.next == self._first:
            raise EmptyInputError(
                f"{self._path}: the file is empty, expected one JSON record a line"
            )

    def places(self) -> Iterator[Chunk]:
        """Yield the places of the lines, or the lines of what cannot be read in parts."""
        if not is_seekable(self._path) or codec_of(self._path) is not None or not self.size:
            yield from self
            return
        # workers may have another working directory
        path, reader = self._path.absolute(), self._reader
        offset = size = checksum = unended = 0
        for block in reader.blocks():
            end = block.rfind(b"\n") + 1
            reader.lines_read += block.count(b"\n")
            size, checksum = size + end, zlib.crc32(block[:end], checksum)
            lines = self._first + reader.lines_read - self.next
            if end and _is_full(size, lines):
                yield FileChunk(path, offset, size, self.next, checksum)
                offset, self.next, size, checksum = offset + size, self.next + lines, 0, 0
            unended = len(block) - end
            size, checksum = size + unended, zlib.crc32(block[end:], checksum)
        if size:
            yield FileChunk(path, offset, size, self.next, checksum)
            # the last line of a file may have no line end
            self.next = self._first + reader.lines_read + (unended > 0)


def _chunk_of(unread: Iterator[list[bytes]]) -> list[bytes]:
    """Return the next lines, as many as are enough for a chunk; none at the end."""
    lines, size = list[bytes](), 0
    for ended in unread:
        lines += ended
        size += sum(map(len, ended))
        if _is_full(size, len(lines)):
            break
    return lines


def _is_full(size: int, lines: int) -> bool:
    """Return whether a chunk has enough bytes or lines."""
    return size >= CHUNK_BYTES or lines >= CHUNK_LINES


class ItemSource:
    """Records that a program has: mappings or lines, read once."""

    def __init__(self, items: Iterable[Mapping[str, Any] | str | bytes], first: int = 1) -> None:
        """Read nothing yet; ``first`` is the number of the first record."""
        self._items, self._first = items, first
        self.next = first
        self.size = self.bytes_read = 0
        self.digest = ""

    def __iter__(self) -> Iterator[Chunk]:
        """Yield the records."""
        remaining = iter(self._items)
        while page := [item_of(item) for item in islice(remaining, _ITEMS)]:
            chunk = ItemChunk(page, self.next)
            self.next += len(page)
            yield chunk
        if self.next == self._first:
            raise InputError("found no records, expected at least one")

    def places(self) -> Iterator[Chunk]:
        """Return the records themselves."""
        return iter(self)


def item_of(value: Mapping[str, Any] | str | bytes) -> Mapping[str, Any] | bytes:
    """Return what a program gives as chunks have it: a mapping, or a line without its line end."""
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")
    return value.removesuffix(b"\n") if isinstance(value, bytes) else value


class FolderSource:
    """The records of every file of a folder."""

    def __init__(self, path: Path, first: int, file_source: Callable[[Path, int], Source]) -> None:
        """Look which files there are; read none yet.

        Args:
            path: the folder.
            first: the number of the first record.
            file_source: the source of one file, whose first record has a number.

        Raises:
            InputError: the folder cannot be read, has no file of records, or has something else.
        """
        self._paths, self._file_source = files_of(path), file_source
        self._done: list[Source] = []
        self._first = first
        self.size = sum(path.stat().st_size for path in self._paths)

    @property
    def next(self) -> int:
        """The number of the record after the last chunk."""
        return self._done[-1].next if self._done else self._first

    @property
    def bytes_read(self) -> int:
        """The number of bytes read so far, of all files."""
        return sum(source.bytes_read for source in self._done)

    @property
    def digest(self) -> str:
        """``sha256:`` and the digest of what ``sha256sum`` prints of the files, in their order.

        Two spaces stand between the digits of a file and its name, and each ends its line.
        """
        digests = [source.digest for source in self._done]
        return _folder_digest(digests, self._paths[: len(digests)])

    def __iter__(self) -> Iterator[Chunk]:
        """Yield the chunks of the files."""
        for source in self._sources():
            yield from source

    def places(self) -> Iterator[Chunk]:
        """Yield the chunks of the files, as each has them."""
        for source in self._sources():
            yield from source.places()

    def _sources(self) -> Iterator[Source]:
        self._done = []
        for path in self._paths:
            source = self._file_source(path, self.next)
            self._done.append(source)
            yield source


def files_of(folder: Path) -> tuple[Path, ...]:
    """Return the files of records in a folder, in the order of the bytes of their names.

    The receipt of a file that is there, such as one of facts, may stand beside it.

    Raises:
        InputError: the folder cannot be read, has no file of records, or has something else.
    """
    try:
        paths = sorted(folder.iterdir(), key=lambda path: os.fsencode(path.name))
    except OSError as error:
        raise InputError(
            f"{folder}: the folder cannot be read ({error.strerror or error}): check its "
            "permissions"
        ) from error
    names = {path.name for path in paths}
    visible_files = tuple(
        path
        for path in paths
        if not path.name.startswith(".") and not is_receipt_beside(path, names)
    )
    for path in visible_files:
        _check(path)
    if not visible_files:
        raise InputError(f"{folder}: the folder is empty, expected {_SUFFIXES} files")
    return visible_files


def _check(path: Path) -> None:
    if not path.is_file():
        raise InputError(
            f"{path}: found something else than a file, expected {_SUFFIXES} files alone: move it "
            "out of the folder"
        )
    if not path.name.lower().endswith(SUFFIXES):
        raise InputError(
            f"{path}: found the extension {path.suffix or 'of no name'!r}, expected "
            f"{_SUFFIXES}: move the file out of the folder"
        )
    if "\n" in path.name or "\\" in path.name:
        raise InputError(
            f"{str(path)!r}: found a line end or a backslash in the name, expected neither in the "
            "names of a folder, as its digest covers them"
        )


def input_digest(path: Path) -> str:
    """Return the digest of a file or a folder as its source computes it, reading all of it.

    Raises:
        InputError: it cannot be read.
    """
    paths = files_of(path) if is_folder(path) else (path,)
    digests = []
    for file_path in paths:
        with opened(file_path) as file:
            digests.append(digest_of_file(file))
    return _folder_digest(digests, paths) if is_folder(path) else digests[0]


def _folder_digest(digests: Sequence[str], paths: Sequence[Path]) -> str:
    lines = (
        digest.partition(":")[2].encode() + b"  " + os.fsencode(path.name) + b"\n"
        for digest, path in zip(digests, paths, strict=True)
    )
    return digest_of_bytes(b"".join(lines))


def is_seekable(path: Path) -> bool:
    """Return whether any part of a file can be read by itself; of a pipe none can."""
    with suppress(OSError, ValueError):
        return path != STANDARD and path.is_file()
    return False


def is_folder(path: Path) -> bool:
    """Return whether a name is that of a folder; a name that no file can have is none."""
    try:
        return path != STANDARD and path.is_dir()
    except (OSError, ValueError):
        return False


def size_of(path: Path) -> int:
    """Return the size of a file in bytes; 0 where that is not known, as of a pipe."""
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0
