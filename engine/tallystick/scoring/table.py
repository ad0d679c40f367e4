"""Results as Arrow: one schema for a rule set, decimals as decimal128 with nine places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tallystick.io.arrow import decoded, integers, take
from tallystick.numbers import ratio
from tallystick.numbers.nano import to_text
from tallystick.scoring.batch import DecimalColumn, RatioColumn, ResultBatch
from tallystick.scoring.result import GROUP, MEASURES, ResultLayout

DECIMAL = pa.decimal128(19, 9)
"""Nano as a decimal: 19 digits hold every 64-bit integer."""


def schema_of(layout: ResultLayout) -> pa.Schema:
    """Return the schema of results; a measure that is a ratio is text.

    Where no type has axes there is no column of them: Parquet has no struct without fields.
    """
    measures = (
        (n, pa.string() if is_ratio else DECIMAL) for n, is_ratio in layout.measures.items()
    )
    types = dict.fromkeys(layout.decimals, DECIMAL) | {
        "record": pa.int64(),
        "miner_uid": pa.int64(),
        "axes": pa.struct([(axis, DECIMAL) for axis in layout.axes]),
        MEASURES: pa.struct(list(measures)),
    }
    return pa.schema([(name, types.get(name, pa.string())) for name in _fields(layout)])


def _fields(layout: ResultLayout) -> list[str]:
    return [name for name in layout.fields if name != "axes" or layout.axes]


def to_arrow(batch: ResultBatch) -> pa.RecordBatch:
    """Return the results of a batch."""
    schema, layout = schema_of(batch.layout), batch.layout
    decimals = {
        **{("axes", name): column for name, column in batch.axes.items()},
        **{(MEASURES, n): c for n, c in batch.measures.items() if isinstance(c, DecimalColumn)},
        **{("", name): column for name, column in batch.decimals.items()},
    }
    arrays = dict(zip(decimals, _decimals([*decimals.values()]), strict=True))
    columns = {
        "record": integers(batch.record),
        "skill_type": decoded(batch.skill_type),
        "task_id": decoded(batch.task_id),
        "miner_uid": integers(batch.miner_uid),
        "miner_hotkey": decoded(batch.miner_hotkey),
        "role": decoded(batch.role),
        "tier": _tiers(batch),
    }
    if layout.axes:
        axes = [arrays["axes", name] for name in batch.axes]
        columns["axes"] = _struct(axes, schema, "axes")
    columns |= {name: arrays["", name] for name in batch.decimals}
    if layout.measures:
        measures = [
            _texts(column) if isinstance(column, RatioColumn) else arrays[MEASURES, name]
            for name, column in batch.measures.items()
        ]
        columns[MEASURES] = _struct(measures, schema, MEASURES)
    if batch.group is not None:
        columns[GROUP] = batch.group
    return pa.record_batch([columns[name] for name in _fields(layout)], schema=schema)


def _struct(columns: Sequence[pa.Array], schema: pa.Schema, name: str) -> pa.Array:
    return pa.StructArray.from_arrays(columns, fields=list(schema.field(name).type))


def _texts(column: RatioColumn) -> pa.Array:
    """Fractions in lowest terms, nano as decimals."""
    labels = (
        None if v is None else to_text(v) if isinstance(v, int) else ratio.to_text(v)
        for v in column.nano()
    )
    return pa.array(labels, pa.string())


def _tiers(batch: ResultBatch) -> pa.Array:
    """Return the names of the tiers; the position −1 is null, the last of the names."""
    names = pa.array([*batch.tiers, None], pa.string())
    return take(names, batch.tier % (len(batch.tiers) + 1))


def _decimals(columns: Sequence[DecimalColumn]) -> list[pa.Array]:
    """128-bit integers, low half first, from 64-bit ones; nulls where a value does not apply."""
    rows = columns[0].rows if columns else 0
    # in one piece, which an allocator gives and takes back faster than many large ones
    halves = np.zeros((len(columns), rows, 2), np.int64)
    result = []
    for column, both in zip(columns, halves, strict=True):
        column.write(both[:, 0])
        if column.is_signed:
            both[:, 1] = both[:, 0] >> 63
        validity = None
        if not column.given.all():
            validity = pa.py_buffer(np.packbits(column.given, bitorder="little").tobytes())
        result.append(pa.Array.from_buffers(DECIMAL, rows, [validity, pa.py_buffer(both)]))
    return result
