"""The formats of results: JSONL, Parquet and CSV, each written table after table.

Text is made column by column, by the kernels of Arrow. What has to be escaped is written by itself,
as the format has it; nearly nothing has to be.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeAlias

import attrs
import pyarrow as pa

from tallystick.errors import OutputError
from tallystick.io.arrow import (
    content,
    filled,
    joined,
    where,
    whole_texts,
    without_end,
)
from tallystick.io.parquet import RowGroupWriter
from tallystick.io.streams import is_stream
from tallystick.scoring.result import (
    AXES,
    FORMATS,
    GROUP,
    MEASURES,
    TEXTS,
    TIER,
    WHOLE,
    ResultLayout,
)
from tallystick.scoring.run_files import Writer
from tallystick.scoring.table import ResultTable, schema_of

Encoded: TypeAlias = Any
"""Bytes of text; of Parquet an Arrow batch, as its file is one whole. It can be pickled."""
_OF_JSON = bytes(range(0x20)) + b'"\\'
"""The characters that JSON escapes."""
_OF_CSV = b'",\r\n'
"""The characters for which CSV quotes a cell."""


@attrs.frozen
class OutputFormat:
    """A format of results, the value of ``--format``.

    Attributes:
        encode: makes of a table the bytes, or the Arrow batch, that the writer appends, in any
            process.
        writer: returns the writer of results of a layout to an open file.
        streams: whether its bytes can go to a pipe as they are made: the writer only appends,
            never seeks, and what it has written before its end is of use to a reader.
    """

    encode: Callable[[ResultTable], Encoded]
    writer: Callable[[ResultLayout, IO[bytes]], Writer]
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


def _write_lines(_layout: ResultLayout, file: IO[bytes]) -> Text:
    return Text(file)


def _write_csv(layout: ResultLayout, file: IO[bytes]) -> Text:
    """Return the writer of CSV, whose header is written."""
    file.write(f"{','.join(csv_columns(layout))}\r\n".encode())
    return Text(file)


def _write_rows(layout: ResultLayout, file: IO[bytes]) -> RowGroupWriter:
    """Return the writer of Parquet with decimals as decimal128 of nine places."""
    return RowGroupWriter(
        file,
        schema_of(layout),
        compression="zstd",
        use_dictionary=[name for name in (*TEXTS, GROUP) if name in layout.fields],
        write_statistics=False,
    )


def json_lines(table: ResultTable) -> bytes:
    """Return the rows as JSON objects, fields and axes in order, decimals as text of nine places.

    Args:
        table: the results.
    """
    if not len(table):
        return b""
    parts = [_field(table, name, "," if n else "{") for n, name in enumerate(table.layout.fields)]
    return content(joined(*parts, "}\n", null=""))


def csv_lines(table: ResultTable) -> bytes:
    """Return the rows as comma-separated values (RFC 4180); null is empty.

    Args:
        table: the results.
    """
    if not len(table):
        return b""
    *cells, last = (_cell(table, name) for name in csv_columns(table.layout))
    return content(joined(*cells, joined(last, "\r\n", null=""), between=",", null=""))


def csv_columns(layout: ResultLayout) -> list[str]:
    """Return the names of the columns of CSV: one for each axis and each measure."""
    flat = {AXES: layout.axes, MEASURES: tuple(layout.measures)}
    return [
        column
        for field in layout.fields
        for column in ([f"{field}.{name}" for name in flat[field]] if field in flat else [field])
    ]


def _cell(table: ResultTable, name: str) -> pa.Array:
    """Return a column of CSV; null where there is none."""
    if name in WHOLE:
        return whole_texts(table.numbers(name))
    if _is_text(name):
        return _escaped(_texts(table, name), _OF_CSV, _quoted_cell)
    return table.column(name).texts()


def _field(table: ResultTable, name: str, start: str) -> pa.Array:
    """Return a field of each row as JSON, behind its name; null where a row lacks the field."""
    key = f'{start}"{name}":'
    if name in {AXES, MEASURES}:
        return joined(key, _object(table, name))
    if name in WHOLE:
        return joined(key, whole_texts(table.numbers(name)))
    if not _is_text(name):
        return filled(table.column(name).texts(f'{key}"', '"'), f"{key}null")
    texts = _escaped(_texts(table, name), _OF_JSON, _escaped_json)
    member = joined(f'{key}"', texts, '"')
    # a row of a type without groups lacks that field
    return member if name == GROUP else filled(member, f"{key}null")


def _object(table: ResultTable, name: str) -> pa.Array | str:
    """Return the axes of each row as an object, or the measures of its type."""
    members = []
    for key in table.layout.axes if name == AXES else table.layout.measures:
        column = f"{name}.{key}"
        member = table.column(column).texts(f'"{key}":"', '",')
        if name == MEASURES:
            declared = table.column(column).declared
            member = where(declared, filled(member, f'"{key}":null,'))
        members.append(member)
    return joined("{", without_end(joined(*members, null=""), ","), "}") if members else "{}"


def _is_text(name: str) -> bool:
    return name in TEXTS or name == GROUP


def _texts(table: ResultTable, name: str) -> pa.Array:
    return table.tier if name == TIER else table.texts(name)


def _escaped(texts: pa.Array, characters: bytes, escape: Callable[[str], str]) -> pa.Array:
    """Return texts, those of them escaped that have one of some characters."""
    data = content(texts)
    if len(data.translate(None, characters)) == len(data):
        return texts
    special = frozenset(characters.decode())
    return pa.array(
        (
            text if text is None or special.isdisjoint(text) else escape(text)
            for text in texts.to_pylist()
        ),
        texts.type,
    )


def _escaped_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _quoted_cell(text: str) -> str:
    return f'"{text.replace(chr(34), chr(34) * 2)}"'


OUTPUT_FORMATS = {
    "jsonl": OutputFormat(json_lines, _write_lines, streams=True),
    "parquet": OutputFormat(ResultTable.to_arrow, _write_rows, streams=False),
    "csv": OutputFormat(csv_lines, _write_csv, streams=True),
}
"""Every format of results by its name; the first is the one of a stream that names none."""


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
