"""Sources: an input as chunks of consecutive records, read once with bounded memory.

A chunk is worked on by itself. In this process it is read as its records are decoded, while each is
still in the cache; others are given the place of a smaller one in the file, or its records where
they cannot read it themselves. Where a chunk of lines ends is a function of the bytes alone: at the
first line end by which it has so many bytes or lines.

A folder is the files in it, in the order of the bytes of their names. Records are numbered over all
of them, as if the files were one. Hidden files are passed over; anything else that is not a file of
records is refused, because what is left out in silence is missed by nobody.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

import attrs
import numpy as np

from tallystick.canonical import digest_of_bytes, digest_of_file
from tallystick.errors import EmptyInputError, InputError
from tallystick.io.inputs import CODECS, codec_of, opened
from tallystick.io.lines import LineReader, Splitter
from tallystick.io.paths import is_receipt_beside
from tallystick.io.streams import STANDARD

if TYPE_CHECKING:
    import numpy.typing as npt

SUFFIXES = (".jsonl", *CODECS, ".parquet")
"""Endings of the names of files of records, and of facts, in lower case."""
CHUNK_BYTES, CHUNK_LINES = 3 << 23, 1 << 15
"""Size and number of lines that end a chunk: then a type has rows enough for columns to pay."""

_SUFFIXES = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
_ITEMS = 1 << 12
"""Number of records of a program in a chunk."""
_READ_BYTES = 1 << 17
_LINE_END = 10


_Item = TypeVar("_Item", bytes, bytes | Mapping[str, Any])


class Chunk(Protocol):
    """Consecutive records of any kind of input; those that go by their place can be pickled."""

    @property
    def first(self) -> int:
        """The number of the first record, over the whole input."""

    def items(self) -> Sequence[bytes | Mapping[str, Any]]:
        """Return the records as they came: lines without their line ends, or mappings.

        Raises:
            InputError: they cannot be read, now or when they are looked at.
        """


@attrs.frozen
class ItemChunk(Generic[_Item]):
    """Consecutive records themselves: lines, or mappings of a program."""

    records: Sequence[_Item]
    first: int

    def items(self) -> Sequence[_Item]:
        """Return the records."""
        return self.records


class Lines(Sequence[bytes]):
    """Lines that are read as somebody first goes through them, and kept."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        """Read nothing yet; one that is too long is cut as by ``Splitter``."""
        self._blocks, self._splitter, self._read = blocks, Splitter(), list[bytes]()

    def __iter__(self) -> Iterator[bytes]:
        # a call for each block, not each line
        return chain.from_iterable(chain((self._read,), self._unread()))

    def _unread(self) -> Iterator[list[bytes]]:
        """Yield the lines of each block that nobody has looked at yet."""
        ended = map(self._splitter.lines, self._blocks)
        for lines in chain(ended, iter(self._splitter.rest, [])):
            self._read += lines
            yield lines

    def _whole(self) -> list[bytes]:
        for _ in self._unread():
            pass
        return self._read

    def __len__(self) -> int:
        return len(self._whole())

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        return self._whole()[index]


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

    def items(self) -> Lines:
        """Return the lines.

        Raises:
            InputError: when they are read: the file cannot be, or does not have these bytes.
        """
        return Lines(self._blocks())

    def _blocks(self) -> Iterator[bytes]:
        checksum, left = 0, self.size
        with opened(self.path) as file:
            try:
                file.seek(self.offset)
                while left and (data := file.read(min(_READ_BYTES, left))):
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


class JsonLinesSource:
    """One JSON object a line.

    Attributes:
        reader: of the file.
        next: the number of the line after the last chunk.
    """

    def __init__(self, path: Path, first: int = 1, reader: LineReader | None = None) -> None:
        """Read nothing yet.

        Args:
            path: the file.
            first: the number of the first line.
            reader: how it is read, if not by default.
        """
        self._path, self._first = path, first
        self.reader = reader or LineReader(path)
        self.next, self.size = first, size_of(path)

    @property
    def bytes_read(self) -> int:
        """The number of bytes read so far."""
        return self.reader.bytes_read

    @property
    def digest(self) -> str:
        """``sha256:`` and the digest of what was read so far."""
        return self.reader.digest

    def __iter__(self) -> Iterator[ItemChunk[bytes]]:
        """Yield the lines, which are read as they are looked at, at the latest before the next."""
        for parts in self._chunks():
            lines = Lines(part.data for part in parts if part.data)
            yield ItemChunk(lines, self.next)
            self.next += len(lines)

    def places(self) -> Iterator[Chunk]:
        """Yield the places of the lines, or the lines of what cannot be read in parts."""
        by_place = is_seekable(self._path) and codec_of(self._path) is None
        # workers may have another working directory
        path, offset = self._path.absolute(), 0
        for parts in self._chunks():
            if by_place:
                size = lines = checksum = 0
                end = b""
                for part in parts:
                    size, lines = size + len(part.data), lines + part.line_ends
                    checksum, end = zlib.crc32(part.data, checksum), part.data[-1:] or end
                yield FileChunk(path, offset, size, self.next, checksum)
                # the last line of a file may have no line end
                offset, self.next = offset + size, self.next + lines + (end != b"\n")
            else:
                held = [*Lines(part.data for part in parts if part.data)]
                yield ItemChunk(held, self.next)
                self.next += len(held)

    def _chunks(self) -> Iterator[Iterator[_Part]]:
        """Yield the parts of each chunk; those of one have to be read before the next."""
        parts = self._parts(_Cutter(CHUNK_BYTES, CHUNK_LINES))
        for part in parts:
            if part.data:
                yield _to_the_last(chain((part,), parts))
        if self.next == self._first:
            raise EmptyInputError(
                f"{self._path}: the file is empty, expected one JSON record a line"
            )

    def _parts(self, cutter: _Cutter) -> Iterator[_Part]:
        for block in self.reader.blocks():
            for part in cutter.parts(block):
                self.reader.lines_read += part.line_ends
                yield part
        yield _Part(b"", 0, last=True)


def _to_the_last(parts: Iterator[_Part]) -> Iterator[_Part]:
    for part in parts:
        yield part
        if part.last:
            return


@attrs.define
class _Cutter:
    """Finds the ends of chunks; it knows how much the chunk at hand has so far."""

    most_bytes: int
    most_lines: int
    size: int = 0
    lines: int = 0

    def parts(self, data: bytes) -> Iterator[_Part]:
        """Yield the bytes of one block, apart by chunk."""
        # several times as fast as bytes.count
        lines = int(np.count_nonzero(np.frombuffer(data, np.uint8) == _LINE_END))
        if self.size + len(data) < self.most_bytes and self.lines + lines < self.most_lines:
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
        by_size = int(np.searchsorted(ends, start + self.most_bytes - self.size))
        return max(passed, min(by_size, passed + self.most_lines - self.lines - 1))


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
        while page := [_item(item) for item in islice(remaining, _ITEMS)]:
            chunk = ItemChunk(page, self.next)
            self.next += len(page)
            yield chunk
        if self.next == self._first:
            raise InputError("found no records, expected at least one")

    def places(self) -> Iterator[Chunk]:
        """Return the records themselves."""
        return iter(self)


def _item(value: Mapping[str, Any] | str | bytes) -> Mapping[str, Any] | bytes:
    """Return a record as chunks have it; a line of text ends before its line end."""
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
