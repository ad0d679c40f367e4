"""Tables in CSV (RFC 4180), read strictly: a header, then a row for each miner or result.

Text is UTF-8, with or without a byte order mark; a quotation is closed, a column stands once, and a
row has a cell for each column. Blank lines are no rows. A line has a maximum size, so that a file
without line ends costs no memory.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import IO

from tallystick.errors import InputError
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.io.text import escaped

_LONGEST_SHOWN = 80
_SPACES = " \t"


class CsvTable:
    """A table in an open file; its rows can be read once."""

    def __init__(self, file: IO[bytes], where: object, *, is_spaced: bool = False) -> None:
        """Read the header of a table.

        Args:
            file: the open file.
            where: its name, for errors.
            is_spaced: drop the spaces around cells, as people write them after commas.

        Raises:
            InputError: the header is no line of CSV, or has a column twice.
        """
        self._where, self._is_spaced = where, is_spaced
        self._reader = csv.reader(self._lines(file), strict=True, skipinitialspace=is_spaced)
        self.header: Sequence[str] = next(filter(None, self._cells()), [])
        twice = next((name for name, count in Counter(self.header).items() if count > 1), None)
        if twice is not None:
            column = escaped(twice[:_LONGEST_SHOWN])
            raise InputError(f"{where}:1: found the column {column} twice, expected it once")

    def __iter__(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield each row by its columns, with the number of the line at which it ends.

        Raises:
            InputError: a line is no CSV, or has another number of cells than the header.
        """
        for line, cells in self.rows():
            if len(cells) != len(self.header):
                raise InputError(
                    f"{self._where}:{line}: found {len(cells)} cells, expected "
                    f"{len(self.header)}, as the first line has"
                )
            yield line, dict(zip(self.header, cells, strict=True))

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the cells of each row, however many it has; otherwise as iteration."""
        for cells in self._cells():
            if cells:
                yield self._reader.line_num, cells

    def _cells(self) -> Iterator[list[str]]:
        try:
            for cells in self._reader:
                yield [cell.strip(_SPACES) for cell in cells] if self._is_spaced else cells
        except csv.Error as error:
            # the library's advice is for programs
            reason = f"no CSV ({error})"
            if "new-line character" in reason:
                reason = "a line end of CR alone, expected LF or CRLF"
            raise InputError(f"{self._where}:{self._reader.line_num}: found {reason}") from error

    def _lines(self, file: IO[bytes]) -> Iterator[str]:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise InputError(
                    f"{self._where}:{number}: found a line of more than {MAX_LINE_BYTES} bytes"
                )
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                byte = f"the byte 0x{line[error.start]:02x}"
                raise InputError(
                    f"{self._where}:{number}: found {byte}, expected text in UTF-8"
                ) from None
