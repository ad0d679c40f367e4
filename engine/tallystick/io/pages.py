"""The pages of a Parquet file: what reading them comes to, before any of it is read.

The footer of a file may say anything, and a page of a few bytes may hold a billion values. What is
believed are the headers of the pages, which the reader goes by, and the levels in the pages. By
these the bytes of a batch of rows are bounded: by the values of the longest row, and by the pages
that rows can be in.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import attrs
import numpy as np
import pyarrow as pa

from tallystick.errors import InputError
from tallystick.io.thrift import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    CompactReader,
    Struct,
    varint,
    zigzag,
)

if TYPE_CHECKING:
    import pyarrow.parquet as pq

BUDGET = 24 << 20
"""Maximum size of a batch of rows while it is read, in bytes; Arrow needs up to three times as
much.
"""

_FOOTER_BYTES, _FOOTER_SHARE = 4 << 20, 128
"""The longest footer, or its part of the file: in memory it takes thirty times as much."""
_COLUMN_BYTES = 16 << 10
"""Memory of a column, in bytes, however few of its values are read."""
_SLOT_BYTES, _LISTED_BYTES = 4, 12
"""Memory of a value beside its bytes: a place in a dictionary; in a list two levels, too."""
_WIDTHS = {"BOOLEAN": 1, "INT32": 8, "INT64": 8, "INT96": 12, "FLOAT": 8, "DOUBLE": 8}
"""Bytes of a value of each physical type; texts are counted by their pages."""
_TEXT = "BYTE_ARRAY"

_PLAIN = 0
_ENCODINGS = {0: "PLAIN", 2: "PLAIN_DICTIONARY", 3: "RLE", 5: "DELTA_BINARY_PACKED"}
_ENCODINGS |= {8: "RLE_DICTIONARY", 9: "BYTE_STREAM_SPLIT"}
"""What is read. With the others a few bytes make texts, or lengths of texts, without end."""
_RLE = 3
_LARGE_DICTIONARY, _PACKED_BYTES = 8 << 20, 1 << 15
_PADDING = 100
"""Bytes after a column that the reader takes for a part of it, as old writers miscounted."""

# fields by number and type, after
# https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
_ROW_GROUPS, _COLUMNS, _OF_COLUMN = (4, LIST), (1, LIST), (3, STRUCT)
_CODEC, _STORED_VALUES, _STORED_BYTES = (4, I32), (5, I64), (7, I64)
_FIRST_PAGE, _DICTIONARY_PAGE = (9, I64), (11, I64)
_KIND, _SIZE, _COMPRESSED = (1, I32), (2, I32), (3, I32)
_VALUES, _ENCODING, _LEVELS_ENCODING = (1, I32), (2, I32), (4, I32)
_ENCODING_2, _LEVELS_2 = (4, I32), (6, I32)
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_HEADERS = {_DATA: (5, STRUCT), _DICTIONARY: (7, STRUCT), _DATA_2: (8, STRUCT)}
"""The kinds of pages, and the part of a header that is of that kind alone."""
_CODECS = {0: "", 1: "snappy", 2: "gzip", 4: "brotli", 5: "lz4", 6: "zstd", 7: "lz4_raw"}
"""Compression codecs by number; the old ``lz4`` cannot be read here and counts as the worst one."""
# Nearly all headers have one of two forms, by which a pattern reads them twenty times as fast.
_NUMBER = rb"[\x80-\xff]{0,9}[\x00-\x7f]"
_NAME = b"(?:%s)" % b"|".join(re.escape(bytes([size])) + b".{%d}" % size for size in range(32))
_COUNT = rb"\x15" + _NUMBER + rb"\x15" + _NUMBER + rb"\x15" + _NUMBER + rb"\x00"


def _listed(kind: int, item: bytes) -> bytes:
    """Return the pattern of a list of up to four items of a type."""
    lists = (re.escape(bytes([count << 4 | kind])) + item * count for count in range(5))
    return b"(?:%s)" % b"|".join(lists)


_USUAL_COLUMN = re.compile(
    rb"\x26%(n)b\x1c\x15%(n)b\x19%(encodings)b\x19%(path)b"
    rb"\x15(%(n)b)\x16(%(n)b)\x16%(n)b\x16(%(n)b)\x26(%(n)b)(?:\x26(%(n)b)\x29|\x49)%(pages)b"
    rb"(?:\x3c(?:\x16%(n)b)?(?:[\x19\x29]%(levels)b){0,2}\x00)?\x00\x00"
    % {
        b"n": _NUMBER,
        b"encodings": _listed(I32, _NUMBER),
        b"path": _listed(BINARY, _NAME),
        b"pages": _listed(STRUCT, _COUNT),
        b"levels": _listed(I64, _NUMBER),
    },
    re.DOTALL,
)
"""The entry of a column as Arrow writes it, without statistics: the codec, the number of values,
the bytes, the places of the first page and of the dictionary."""
_USUAL_PAGE = re.compile(
    rb"\x15(%(n)b)\x15(%(n)b)\x15(%(n)b)\x15%(n)b"
    rb"(?:\x1c\x15(%(n)b)\x15(%(n)b)\x15%(n)b\x15(%(n)b)(?:\x1c\x00)?"
    rb"|\x3c\x15%(n)b\x15(%(n)b)[\x11\x12])"
    rb"\x00\x00" % {b"n": _NUMBER},
    re.DOTALL,
)
"""The header of a page with a checksum as Arrow writes it: kind and sizes; of data the values,
their encoding and that of the levels; of a dictionary its encoding."""
_HEADER_BYTES, _LONGEST_HEADER = 1 << 8, 1 << 22
"""Bytes of a header that are read at first, and at most: statistics may make it long."""


@attrs.frozen
class Page:
    """A page, as its header says.

    Attributes:
        offset: where its bytes begin in the file, after the header.
        size: how many bytes it has, decompressed.
        compressed: how many it has in the file.
        values: how many values it holds, also nulls; none of a dictionary.
        encoding: the number of its encoding.
        is_dictionary: whether it holds the values that others name.
        levels: how many bytes of repetition levels it begins with, where its header says so.
        levels_encoding: the number of their encoding.
    """

    offset: int
    size: int
    compressed: int
    values: int
    encoding: int
    is_dictionary: bool
    levels: int | None
    levels_encoding: int


@attrs.frozen(eq=False, slots=False)
class Footer:
    """The footer of a file.

    Attributes:
        metadata: what it says.
        data: its bytes.
    """

    metadata: pq.FileMetaData
    data: bytes = attrs.field(repr=False)

    @cached_property
    def schema(self) -> tuple[tuple[str, str, int, int], ...]:
        """Return the path, the physical type, the length and the depth of each column."""
        columns = map(self.metadata.schema.column, range(self.metadata.num_columns))
        return tuple((c.path, c.physical_type, c.length, c.max_repetition_level) for c in columns)

    @cached_property
    def columns(self) -> list[list[Struct]]:
        """The entry of each column of each row group, by number and type of the format.

        Of ``metadata`` it cannot be asked: what is wrong there would end the process.

        Raises:
            ValueError: there are no columns in it.
        """
        groups = CompactReader(self.data, usual_column).struct().get(_ROW_GROUPS, ())
        try:
            return [[column[_OF_COLUMN] for column in group[_COLUMNS]] for group in groups]
        except KeyError as error:
            raise ValueError("found a row group without columns") from error


def usual_column(data: bytes, place: int) -> tuple[Struct, int] | None:
    """Return the entry of a column of the usual form, and where it ends; else None."""
    match = _USUAL_COLUMN.match(data, place)
    if match is None:
        return None
    codec, values, stored, first, dictionary = match.groups()
    entry = {
        _CODEC: _whole(codec),
        _STORED_VALUES: _whole(values),
        _STORED_BYTES: _whole(stored),
        _FIRST_PAGE: _whole(first),
    }
    if dictionary is not None:
        entry[_DICTIONARY_PAGE] = _whole(dictionary)
    return {_OF_COLUMN: entry}, match.end()


def usual_page(data: bytes, place: int) -> tuple[Struct, int] | None:
    """Return the header of a page of the usual form, and where it ends; else None."""
    match = _USUAL_PAGE.match(data, place)
    if match is None:
        return None
    kind, size, compressed, values, encoding, levels, of_dictionary = match.groups()
    header: Struct = {_KIND: _whole(kind), _SIZE: _whole(size), _COMPRESSED: _whole(compressed)}
    if values is None:
        header[_HEADERS[_DICTIONARY]] = {_ENCODING: _whole(of_dictionary)}
    else:
        header[_HEADERS[_DATA]] = {
            _VALUES: _whole(values),
            _ENCODING: _whole(encoding),
            _LEVELS_ENCODING: _whole(levels),
        }
    return header, match.end()


@lru_cache(maxsize=1 << 12)
def _whole(number: bytes) -> int:
    return zigzag(varint(number, 0)[0])


def footer_of(path: Path, file: BinaryIO) -> Footer:
    """Return the footer of a file.

    Raises:
        InputError: it would take too much memory.
    """
    import pyarrow.parquet as pq  # who reads lines needs no Parquet

    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    length = int.from_bytes(file.read(4), "little")
    allowed = max(_FOOTER_BYTES, size // _FOOTER_SHARE)
    if allowed < length <= size:
        raise InputError(
            f"{path}: found a footer of {length} bytes, expected at most {allowed}: write the file "
            "with fewer columns or larger row groups"
        )
    file.seek(max(0, size - 8 - length))
    data = file.read(min(length, size))
    return Footer(pq.read_metadata(file), data)


def rows_at_a_time(path: Path, file: BinaryIO, footer: Footer, most: int) -> int:
    """Return the number of rows that can be read at a time within ``BUDGET`` bytes.

    Args:
        path: the file, for errors.
        file: the same, open.
        footer: its footer.
        most: so many are enough.

    Raises:
        InputError: already one row may take more, or the pages cannot be read.
    """
    for group in range(footer.metadata.num_row_groups):
        most = _rows(path, group, _columns(path, file, footer, group), most)
    return most


def check_group(
    path: Path, file: BinaryIO, footer: Footer, group: int, names: Collection[str]
) -> None:
    """Refuse a row group whose texts and lists, read as one, may take four times ``BUDGET``.

    Args:
        path: the file, for errors.
        file: the same, open.
        footer: its footer.
        group: which row group.
        names: the columns that are read, without what is in them.

    Raises:
        InputError: they may take more, or the pages cannot be read.
    """
    memory, allowed = dict[str, int](), 4 * BUDGET
    for column in _columns(path, file, footer, group, names):
        values = sum(page.values for page in column.pages)
        # of whole numbers there are as many as rows, and one column is read after the other
        is_open = column.depth > 0 or column.physical == _TEXT or column.fixed > allowed
        memory[column.name] = column.fixed + int(column.row_bytes(values)) if is_open else 0
    if sum(memory.values()) > allowed:
        largest = max(memory, key=memory.__getitem__)
        raise InputError(
            f"{path}: row group {group}: found texts that may take {sum(memory.values())} bytes of "
            f"memory, most for the column {largest}, expected at most {allowed}: make the facts "
            "of the records again"
        )


def _rows(path: Path, group: int, columns: Sequence[_Column], most: int) -> int:
    """Return the number of rows of a group that can be read at a time."""
    fixed = sum(column.fixed for column in columns)
    left = BUDGET - fixed
    row = sum(column.row_bytes(column.values) for column in columns)
    if most * row > left:
        # the number of values is of all rows; the levels say how many of them one row has
        row = sum(column.row_bytes(column.longest(left)) for column in columns)
    if row > left:
        largest = max(columns, key=lambda column: column.fixed + column.row_bytes(column.values))
        raise InputError(
            f"{path}: row group {group}: found that to read one row may take {int(fixed + row)} "
            f"bytes of memory, most for the column {largest.name}, expected at most {BUDGET}: "
            "leave out what is no record, or write smaller pages, as with write_batch_size=64 of "
            "pyarrow"
        )
    return min(most, int(left / row)) if row else most


@attrs.define(eq=False, slots=False)
class _Column:
    """A column of a row group.

    Attributes:
        name: its path.
        physical: the name of its physical type.
        length: how many bytes its values have, if all have as many.
        depth: how many lists its values are in.
        codec: the name of the compression of its pages, or none.
        file: where the pages are.
        pages: those that the reader comes to.
    """

    name: str
    physical: str
    length: int
    depth: int
    codec: str
    file: BinaryIO
    pages: Sequence[Page]

    @cached_property
    def values(self) -> int:
        """Return the maximum number of values in a row, by the headers."""
        return sum(page.values for page in self.pages) if self.depth else 1

    @cached_property
    def fixed(self) -> int:
        """Return the memory of reading few rows, in bytes: a page and a dictionary."""
        page = max((page.size + page.compressed for page in self._of_data()), default=0)
        # a batch may have all texts of a page, and of the next
        texts = 2 * max((page.size for page in self._plain()), default=0)
        return _COLUMN_BYTES + 2 * sum(page.size for page in self._dictionaries()) + page + texts

    @cached_property
    def value_bytes(self) -> float:
        """Return the maximum bytes of a value; of a text in its page, the average."""
        slot = _LISTED_BYTES if self.depth else _SLOT_BYTES
        if self.physical != _TEXT:
            return slot + _WIDTHS.get(self.physical, self.length)
        named = max(map(self._longest_text, self._dictionaries()), default=0)
        return slot + max((p.size / max(p.values, 1) for p in self._plain()), default=0) + named

    def row_bytes(self, values: int) -> float:
        """Return the memory of rows with that many values, in bytes."""
        return values * self.value_bytes

    def longest(self, enough: int) -> int:
        """Return the number of values in the longest row, at most ``enough``."""
        if not self.depth:
            return 1
        rows = _RowLengths()
        for page in self._of_data():
            levels = self._levels(page)
            if levels is None:
                return self.values
            try:
                rows.add(levels, self.depth.bit_length(), page.values)
            except (IndexError, ValueError):
                return self.values
            if self.row_bytes(rows.longest) > enough:
                break
        return rows.longest

    def _of_data(self) -> Iterator[Page]:
        return (page for page in self.pages if not page.is_dictionary)

    def _dictionaries(self) -> Iterator[Page]:
        return (page for page in self.pages if page.is_dictionary)

    def _plain(self) -> Iterator[Page]:
        """Return the pages that hold texts themselves."""
        is_text = self.physical == _TEXT
        return (p for p in self._of_data() if is_text and p.encoding == _PLAIN)

    def _longest_text(self, page: Page) -> int:
        """Return the bytes of the longest text of a dictionary; of all, if it cannot be read."""
        data = self._data(page) if page.size <= _LARGE_DICTIONARY else None
        offset = longest = 0
        while data and offset < len(data):
            size = int.from_bytes(data[offset : offset + 4], "little")
            longest, offset = max(longest, size), offset + 4 + size
        return page.size if data is None or offset > len(data) else longest

    def _levels(self, page: Page) -> bytes | None:
        """Return the repetition levels of a page; None where they cannot be read."""
        if page.levels_encoding != _RLE:
            return None
        if page.levels is not None:
            self.file.seek(page.offset)
            return self.file.read(page.levels)
        data = self._data(page)
        return None if data is None else data[4 : 4 + int.from_bytes(data[:4], "little")]

    def _data(self, page: Page) -> bytes | None:
        """Return the bytes of a page, decompressed; None where that is not possible."""
        self.file.seek(page.offset)
        data = self.file.read(page.compressed)
        if not self.codec:
            return data
        try:
            decompressed: bytes = pa.Codec(self.codec).decompress(data, page.size, asbytes=True)
        except (OSError, ValueError, pa.ArrowException):
            return None
        return decompressed


def _columns(
    path: Path,
    file: BinaryIO,
    footer: Footer,
    group: int,
    names: Collection[str] | None = None,
) -> list[_Column]:
    """Return the columns of a row group; given names, those that are named, or within one.

    Raises:
        InputError: their pages cannot be read.
    """
    size, columns = file.seek(0, os.SEEK_END), []
    for index, (name, physical, length, depth) in enumerate(footer.schema):
        if names is not None and name.partition(".")[0] not in names:
            continue
        try:
            stored = footer.columns[group][index]
            codec = _CODECS[stored[_CODEC]]
            pages = list(_pages(file, stored, size))
        except (EOFError, LookupError, ValueError) as error:
            raise InputError(
                f"{path}: row group {group}: the column {name} cannot be read as Parquet "
                f"({error}): check that the file is whole"
            ) from error
        _check_encodings(path, group, name, pages)
        columns.append(_Column(name, physical, length, depth, codec, file, pages))
    return columns


def _check_encodings(path: Path, group: int, column: str, pages: Sequence[Page]) -> None:
    other = sorted({page.encoding for page in pages} - _ENCODINGS.keys())
    if other:
        raise InputError(
            f"{path}: row group {group}: found the encoding {other[0]} in the column {column}, "
            f"expected one of {', '.join(_ENCODINGS.values())}: write the file with another one"
        )


def _pages(file: BinaryIO, column: Struct, size: int) -> Iterator[Page]:
    """Yield the pages of a column that the reader reads.

    Raises:
        EOFError: one is not whole.
        ValueError: one has no header that can be read.
    """
    start, dictionary = column[_FIRST_PAGE], column.get(_DICTIONARY_PAGE, 0)
    if 0 < dictionary < start:
        start = dictionary
    end, seen = min(size, start + column[_STORED_BYTES] + _PADDING), 0
    while seen < column[_STORED_VALUES] and 0 <= start < end:
        page = _page(file, start)
        seen += page.values
        start = page.offset + page.compressed
        yield page


def _page(file: BinaryIO, offset: int) -> Page:
    """Return the page whose header begins there."""
    length = _HEADER_BYTES
    while True:
        file.seek(offset)
        header = CompactReader(file.read(length), usual_page)
        try:
            fields = header.struct()
            break
        except IndexError:
            if length > min(len(header.data), _LONGEST_HEADER):
                raise EOFError(f"no whole page at byte {offset}") from None
            length *= 8
    size, compressed = fields.get(_SIZE, 0), fields.get(_COMPRESSED, 0)
    if size < 0 or compressed < 0:
        raise ValueError(f"a page of less than no bytes at byte {offset}")
    kind = fields.get(_KIND, -1)
    data = fields.get(_HEADERS[kind], {}) if kind in _HEADERS else {}
    values = data.get(_VALUES, 0) if kind in (_DATA, _DATA_2) else 0
    if values < 0:
        raise ValueError(f"a page of less than no values at byte {offset}")
    return Page(
        offset=offset + header.place,
        size=max(size, compressed),
        compressed=compressed,
        values=values,
        encoding=data.get(_ENCODING_2 if kind == _DATA_2 else _ENCODING, _PLAIN),
        is_dictionary=kind == _DICTIONARY,
        levels=data.get(_LEVELS_2, 0) if kind == _DATA_2 else None,
        levels_encoding=_RLE if kind == _DATA_2 else data.get(_LEVELS_ENCODING, _RLE),
    )


class _RowLengths:
    """The most values of a row, of rows that go on from page to page.

    Attributes:
        longest: of the rows so far.
    """

    def __init__(self) -> None:
        self.longest = self._open = 0

    def add(self, levels: bytes, bits: int, count: int) -> None:
        """Count the values of the next page; a level of 0 begins a row.

        Args:
            levels: run-length encoded or packed, as Parquet has them.
            bits: how many a level has.
            count: how many levels there are.

        Raises:
            IndexError: there are less.
        """
        offset = 0
        while count > 0:
            head, offset = varint(levels, offset)
            if head & 1:
                size = (head >> 1) * bits
                packed, offset = levels[offset : offset + size], offset + size
                self._packed(packed, bits, count)
                count -= len(packed) * 8 // bits
                if len(packed) < size:
                    break
            else:
                run, level = min(head >> 1, count), levels[offset]
                offset += 1
                count -= run
                if level:
                    self._open += run
                elif run:
                    self._close(self._open)
                    self._open = 1
        self._close(self._open)

    def _packed(self, packed: bytes, bits: int, count: int) -> None:
        for start in range(0, len(packed), _PACKED_BYTES * bits):
            part = np.frombuffer(packed[start : start + _PACKED_BYTES * bits], np.uint8)
            bit_array = np.unpackbits(part, bitorder="little")[: max(0, count * bits - start * 8)]
            levels = bit_array[: len(bit_array) // bits * bits].reshape(-1, bits)
            begun = np.flatnonzero(~levels.any(axis=1))
            if len(begun):
                self._close(self._open + int(begun[0]))
                self._close(int(np.diff(begun).max(initial=1)))
                self._open = len(levels) - int(begun[-1])
            else:
                self._open += len(levels)

    def _close(self, length: int) -> None:
        self.longest = max(self.longest, length)
