"""Results as text, JSON lines and CSV: column by column, by the kernels of Arrow.

A text that has to be escaped is written by itself, as the format has it; nearly none has to be.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pyarrow as pa

from tallystick.io.arrow import (
    content,
    filled,
    joined,
    where,
    whole_texts,
    without_end,
)
from tallystick.scoring.result import AXES, GROUP, MEASURES, TEXTS, TIER, WHOLE, ResultLayout
from tallystick.scoring.table import ResultTable

_OF_JSON = bytes(range(0x20)) + b'"\\'
"""The characters that JSON escapes."""
_OF_CSV = b'",\r\n'
"""The characters for which CSV quotes a cell."""


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
