"""Results as text, JSON lines and CSV: column by column, by the kernels of Arrow.

A text that has to be escaped is written by itself, as the format has it; nearly none has to be.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pyarrow as pa

from tallystick.io.arrow import (
    content,
    joined,
    matching,
    nano_texts,
    where,
    whole_texts,
    without_end,
)
from tallystick.scoring.result import AXES, GROUP, IDENTITY, MEASURES, TIER, WHOLE, ResultLayout
from tallystick.scoring.table import ResultTable

_OF_JSON = r'[\x00-\x1f"\\]'
_OF_CSV = '[",\r\n]'


def json_lines(table: ResultTable, end: str) -> bytes:
    """Return the rows as JSON objects, fields and axes in order, decimals as text of nine places.

    Args:
        table: the results.
        end: what stands behind the last field of a row.
    """
    if not len(table):
        return b""
    parts = list[pa.Array | str]()
    for name in table.layout.fields:
        key = f'{"," if parts else "{"}"{name}":'
        if name == GROUP:
            # a row of a type without groups lacks the field
            parts.append(joined(key, _quoted(table.texts(name))))
        else:
            parts += [key, _json(table, name)]
    return content(joined(*parts, f"{end}}}\n", null=""))


def csv_lines(table: ResultTable, end: str) -> bytes:
    """Return the rows as comma-separated values (RFC 4180); null is empty.

    Args:
        table: the results.
        end: what stands behind the last cell of a row.
    """
    if not len(table):
        return b""
    *cells, last = (
        _escaped(texts, _OF_CSV, _quoted_cell) if is_text else texts
        for texts, is_text in (_cell(table, name) for name in csv_columns(table.layout))
    )
    return content(joined(*cells, joined(last, f"{end}\r\n", null=""), between=",", null=""))


def csv_columns(layout: ResultLayout) -> list[str]:
    """Return the names of the columns of CSV: one for each axis and each measure."""
    flat = {AXES: layout.axes, MEASURES: tuple(layout.measures)}
    return [
        column
        for field in layout.fields
        for column in ([f"{field}.{name}" for name in flat[field]] if field in flat else [field])
    ]


def _cell(table: ResultTable, name: str) -> tuple[pa.Array, bool]:
    """Return a column as text, null where there is none; and whether its texts are of strangers."""
    if name in WHOLE:
        return whole_texts(table.numbers(name)), False
    if name == TIER:
        return table.tier, True
    if name in IDENTITY or name == GROUP:
        return table.texts(name), True
    column = table.column(name)
    return column.ratios() if column.is_ratio else nano_texts(column.values, column.given), False


def _json(table: ResultTable, name: str) -> pa.Array:
    """Return a field of each row as JSON."""
    if name in {AXES, MEASURES}:
        return _object(table, name)
    texts, is_text = _cell(table, name)
    if name in WHOLE:
        return texts
    return _or_null(_quoted(texts) if is_text else joined('"', texts, '"'))


def _object(table: ResultTable, name: str) -> pa.Array:
    """Return the axes of each row as an object, or the measures of its type."""
    members = []
    for key in table.layout.axes if name == AXES else table.layout.measures:
        column = f"{name}.{key}"
        texts, _ = _cell(table, column)
        if name == AXES:
            members.append(joined(f'"{key}":"', texts, '",'))
        else:
            value = _or_null(joined('"', texts, '"'))
            members.append(where(table.column(column).declared, joined(f'"{key}":', value, ",")))
    return joined("{", without_end(joined(*members, null=""), ","), "}") if members else "{}"


def _or_null(values: pa.Array) -> pa.Array:
    return joined(values, null="null") if values.null_count else values


def _quoted(texts: pa.Array) -> pa.Array:
    return joined('"', _escaped(texts, _OF_JSON, _escaped_json), '"')


def _escaped(texts: pa.Array, pattern: str, escape: Callable[[str], str]) -> pa.Array:
    """Return texts, those of them escaped that a pattern matches a part of."""
    special = matching(texts, pattern)
    if not special.any():
        return texts
    pairs = zip(texts.to_pylist(), special.tolist(), strict=True)
    return pa.array(
        [escape(text) if is_special else text for text, is_special in pairs], texts.type
    )


def _escaped_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _quoted_cell(text: str) -> str:
    return f'"{text.replace(chr(34), chr(34) * 2)}"'
