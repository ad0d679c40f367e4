"""The formats of results: JSONL, Parquet and CSV, each written table after table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import attrs

from tallystick.errors import OutputError
from tallystick.io.streams import is_stream
from tallystick.scoring.result import GROUP, TEXTS, ResultLayout

if TYPE_CHECKING:
    from tallystick.io.parquet import RowGroupWriter
    from tallystick.scoring.receipt import Writer
    from tallystick.scoring.table import ResultTable

Encoded: TypeAlias = Any
"""Bytes of text; of Parquet an Arrow batch, as its file is one whole. It can be pickled."""


@attrs.frozen
class OutputFormat:
    """A format of results, the value of ``--format``.

    Attributes:
        encode: makes of a table the bytes, or the Arrow batch, that the writer appends, in any
            process.
        writer: returns the writer of an open file.
        streams: whether its bytes can go to a pipe as they are made: the writer only appends,
            never seeks, and what it has written before its end is of use to a reader.
    """

    encode: Callable[[ResultTable], Encoded]
    writer: Callable[[IO[bytes], ResultLayout], Writer]
    streams: bool


@attrs.define
class Text:
    """Lines of text, one after the other."""

    file: IO[bytes]

    def append(self, data: bytes) -> None:
        """Append a table."""
        self.file.write(data)

    def close(self) -> None:
        """Do nothing: every line is written."""

    def abandon(self) -> None:
        """Do nothing: there is no end to write."""


def _encode_lines(table: ResultTable) -> bytes:
    from tallystick.scoring.result_text import json_lines  # help needs no Arrow

    return json_lines(table)


def _write_lines(file: IO[bytes], _layout: ResultLayout) -> Text:
    return Text(file)


def _encode_csv(table: ResultTable) -> bytes:
    from tallystick.scoring.result_text import csv_lines

    return csv_lines(table)


def _write_csv(file: IO[bytes], layout: ResultLayout) -> Text:
    """Return the writer of CSV, whose header is written."""
    from tallystick.scoring.result_text import csv_columns

    file.write(f"{','.join(csv_columns(layout))}\r\n".encode())
    return Text(file)


def _encode_rows(table: ResultTable) -> Encoded:
    return table.to_arrow()


def _write_rows(file: IO[bytes], layout: ResultLayout) -> RowGroupWriter:
    """Return the writer of Parquet with decimals as decimal128 of nine places."""
    from tallystick.io.parquet import RowGroupWriter
    from tallystick.scoring.table import schema_of

    return RowGroupWriter(
        file,
        schema_of(layout),
        compression="zstd",
        use_dictionary=[name for name in (*TEXTS, GROUP) if name in layout.fields],
        write_statistics=False,
    )


OUTPUT_FORMATS = {
    "jsonl": OutputFormat(_encode_lines, _write_lines, streams=True),
    "parquet": OutputFormat(_encode_rows, _write_rows, streams=False),
    "csv": OutputFormat(_encode_csv, _write_csv, streams=True),
}
"""Every format of results by its name; the first is the one of a stream that names none."""
FORMATS = tuple(OUTPUT_FORMATS)
"""The names of all formats of results, which are extensions of file names too."""


def format_of(path: Path, wanted: str | None) -> OutputFormat:
    """Return the format that was asked for, or the one of the file name's extension.

    A stream, such as the standard output ``-``, is JSONL by default.

    Raises:
        OutputError: neither names one, or it cannot be a stream.
    """
    if wanted is not None and wanted not in OUTPUT_FORMATS:
        names = ", ".join(FORMATS)
        raise OutputError(f"{path}: found the format {wanted!r}, expected one of {names}")
    if is_stream(path):
        streams = [name for name, output_format in OUTPUT_FORMATS.items() if output_format.streams]
        if wanted is not None and wanted not in streams:
            raise OutputError(
                f"{path}: found the format {wanted!r}, expected one that can be a stream: "
                f"{', '.join(streams)}; for {wanted!r} name a file"
            )
        return OUTPUT_FORMATS[wanted or streams[0]]
    name = wanted or path.suffix.lower().removeprefix(".")
    if name not in OUTPUT_FORMATS:
        raise OutputError(
            f"{path}: found no format in the name, expected .{', .'.join(FORMATS)}, or --format"
        )
    return OUTPUT_FORMATS[name]
