"""The formats of results: JSONL, Parquet and CSV, each written table after table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeAlias

import attrs

from tallystick.errors import OutputError
from tallystick.io.atomic import OutputFile, output_errors
from tallystick.io.streams import is_stream
from tallystick.scoring.result import GROUP, TEXTS, ResultLayout

if TYPE_CHECKING:
    import pyarrow as pa

    from tallystick.scoring.table import ResultTable

Encoded: TypeAlias = Any
"""Bytes of text; of Parquet an Arrow batch, as its file is one whole. It can be pickled."""
Encode = Callable[["ResultTable"], Encoded]
"""Makes of a table what its writer appends; it can be done in another process."""


class Writer(Protocol):
    """Takes tables of results, encoded for it, then is closed."""

    def append(self, data: Encoded) -> None:
        """Append a table, as ``encoder`` of the format makes it."""

    def close(self) -> None:
        """Write the end of the format; the file itself stays open."""


def format_of(path: Path, wanted: str | None) -> str:
    """Return the format that was asked for, or the one of the file name's extension.

    A stream, such as the standard output ``-``, is JSONL by default.

    Raises:
        OutputError: neither names one, or it cannot be a stream.
    """
    if wanted is not None and wanted not in _BY_NAME:
        names = ", ".join(FORMATS)
        raise OutputError(f"{path}: found the format {wanted!r}, expected one of {names}")
    if is_stream(path):
        streams = [name for name, output_format in _BY_NAME.items() if output_format.streams]
        if wanted is not None and wanted not in streams:
            raise OutputError(
                f"{path}: found the format {wanted!r}, expected one that can be a stream: "
                f"{', '.join(streams)}; for {wanted!r} name a file"
            )
        return wanted or streams[0]
    if wanted is not None:
        return wanted
    extension = path.suffix.lower().removeprefix(".")
    if extension not in FORMATS:
        raise OutputError(
            f"{path}: found no format in the name, expected .{', .'.join(FORMATS)}, or --format"
        )
    return extension


SHADOW = "shadow"
"""The field that marks results of rules that are not in force: true in every row of them."""


def encoder(format_name: str, layout: ResultLayout, *, shadow: bool = False) -> Encode:
    """Return the function that encodes tables for the writer; ``shadow`` marks every row."""
    return _BY_NAME[format_name].encoder(layout, shadow)


@attrs.define
class Text:
    """Lines of text, one after the other."""

    file: IO[bytes]

    def append(self, data: bytes) -> None:
        """Append a table."""
        self.file.write(data)

    def close(self) -> None:
        """Do nothing: every line is written."""


class Parquet:
    """Parquet with decimals as decimal128 of nine places."""

    def __init__(self, file: IO[bytes], layout: ResultLayout, shadow: bool) -> None:
        """Open the file with the schema of the results."""
        import pyarrow as pa

        from tallystick.io.parquet import RowGroupWriter
        from tallystick.scoring.table import schema_of

        schema = schema_of(layout)
        self._rows = RowGroupWriter(
            file,
            schema.append(pa.field(SHADOW, pa.bool_())) if shadow else schema,
            compression="zstd",
            use_dictionary=[name for name in (*TEXTS, GROUP) if name in layout.fields],
            write_statistics=False,
        )

    def append(self, data: pa.RecordBatch) -> None:
        """Append a table."""
        self._rows.append(data)

    def close(self) -> None:
        """Write the rest and the footer."""
        self._rows.close()


@contextmanager
def writing(
    format_name: str, results: OutputFile, layout: ResultLayout, *, shadow: bool = False
) -> Iterator[Writer]:
    """Yield the writer of a format, closed at the end of the block; ``shadow`` as in `encoder`."""
    with output_errors(results.path):
        out = _BY_NAME[format_name].writer(results.file, layout, shadow)
    try:
        yield out
    except BaseException:
        # the file is thrown away, but a writer that is left open complains when it is collected
        with suppress(Exception):
            out.close()
        raise
    with output_errors(results.path):
        out.close()


def _lines_encoder(_layout: ResultLayout, shadow: bool) -> Encode:
    from tallystick.scoring.result_text import json_lines

    return partial(json_lines, end=f',"{SHADOW}":true' if shadow else "")


def _lines_writer(file: IO[bytes], _layout: ResultLayout, _shadow: bool) -> Writer:
    return Text(file)


def _csv_encoder(_layout: ResultLayout, shadow: bool) -> Encode:
    from tallystick.scoring.result_text import csv_lines

    return partial(csv_lines, end=",true" if shadow else "")


def _csv_writer(file: IO[bytes], layout: ResultLayout, shadow: bool) -> Writer:
    """Return the writer of CSV, whose header is written."""
    from tallystick.scoring.result_text import csv_columns

    names = [*csv_columns(layout), *([SHADOW] if shadow else [])]
    file.write(f"{','.join(names)}\r\n".encode())
    return Text(file)


def _arrow_encoder(_layout: ResultLayout, shadow: bool) -> Encode:
    def encode(table: ResultTable) -> pa.RecordBatch:
        import pyarrow as pa

        rows = table.to_arrow()
        marks = pa.repeat(pa.scalar(value=True), len(table))
        return rows.append_column(SHADOW, marks) if shadow else rows

    return encode


@attrs.frozen
class OutputFormat:
    """A format of results.

    Attributes:
        name: the value of ``--format``.
        encoder: returns the function that makes of a table the bytes, or the Arrow batch, that the
            writer appends; the truth is whether every row is marked as of rules that are not in
            force.
        writer: returns the writer of an open file.
        streams: whether its bytes can go to a pipe as they are made: the writer only appends,
            never seeks, and what it has written before its end is of use to a reader.
    """

    name: str
    encoder: Callable[[ResultLayout, bool], Encode]
    writer: Callable[[IO[bytes], ResultLayout, bool], Writer]
    # a default would be true of some formats alone: `by_name` refuses one that has no word on it
    streams: bool | None = attrs.field(default=None, kw_only=True)


def by_name(formats: Iterable[OutputFormat]) -> dict[str, OutputFormat]:
    """Return formats of results by their names.

    Raises:
        OutputError: a format does not declare whether it can be a stream, or two have one name.
    """
    named: dict[str, OutputFormat] = {}
    for declared in formats:
        if not isinstance(declared.streams, bool):
            raise OutputError(
                f"the output format {declared.name!r}: found streams = {declared.streams!r}, "
                "expected True or False: whether a pipe can take its bytes as they are made"
            )
        if declared.name in named:
            raise OutputError(
                f"found two output formats {declared.name!r}, expected one of that name"
            )
        named[declared.name] = declared
    return named


OUTPUT_FORMATS = (
    OutputFormat("jsonl", _lines_encoder, _lines_writer, streams=True),
    OutputFormat("parquet", _arrow_encoder, Parquet, streams=False),
    OutputFormat("csv", _csv_encoder, _csv_writer, streams=True),
)
"""Every format of results; the first is the one of a stream that names none."""
_BY_NAME = by_name(OUTPUT_FORMATS)
FORMATS = tuple(_BY_NAME)
"""The names of all formats of results, which are extensions of file names too."""
