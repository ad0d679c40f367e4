"""Results as Arrow: one schema for a rule set, decimals as decimal128 with nine places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from tallystick.scoring.batch import DecimalColumn, ResultBatch
from tallystick.scoring.result import DECIMALS, FIELDS

DECIMAL = pa.decimal128(19, 9)
"""Nano as a decimal: 19 digits hold every 64-bit integer."""


def schema_of(axes: Iterable[str]) -> pa.Schema:
    """The schema of results that have these axes."""
    types = dict.fromkeys(DECIMALS, DECIMAL) | {
        "record": pa.int64(),
        "miner_uid": pa.int64(),
        "axes": pa.struct([(axis, DECIMAL) for axis in axes]),
    }
    return pa.schema([(name, types.get(name, pa.string())) for name in FIELDS])


def to_arrow(batch: ResultBatch) -> pa.RecordBatch:
    """The results of a batch."""
    schema = schema_of(batch.axes)
    decimals = _decimals([*batch.axes.values(), *batch.decimals.values()])
    axes = len(batch.axes)
    columns = {
        "record": pa.array(batch.record),
        "skill_type": _decoded(batch.skill_type),
        "task_id": _decoded(batch.task_id),
        "miner_uid": pa.array(batch.miner_uid),
        "miner_hotkey": _decoded(batch.miner_hotkey),
        "role": _decoded(batch.role),
        "tier": _tiers(batch),
        "axes": pa.StructArray.from_arrays(decimals[:axes], fields=list(schema.field("axes").type)),
    }
    columns |= dict(zip(batch.decimals, decimals[axes:], strict=True))
    return pa.record_batch([columns[name] for name in FIELDS], schema=schema)


def _decoded(texts: pa.Array) -> pa.Array:
    """Texts, also of a dictionary of texts."""
    return texts.dictionary_decode() if isinstance(texts, pa.DictionaryArray) else texts


def _tiers(batch: ResultBatch) -> pa.Array:
    """The names of the tiers; the position −1 is null, the last of the names."""
    names = pa.array([*batch.tiers, None], pa.string())
    return names.take(pa.array(batch.tier % (len(batch.tiers) + 1)))


def _decimals(columns: Sequence[DecimalColumn]) -> list[pa.Array]:
    """128-bit integers, low half first, from 64-bit ones; nulls where a value does not apply."""
    rows = columns[0].rows if columns else 0
    # in one piece, which an allocator gives and takes back faster than many large ones
    halves = np.zeros((len(columns), rows, 2), np.int64)
    found = []
    for column, both in zip(columns, halves, strict=True):
        column.write(both[:, 0])
        if column.is_signed:
            both[:, 1] = both[:, 0] >> 63
        validity = None
        if not column.given.all():
            validity = pa.py_buffer(np.packbits(column.given, bitorder="little").tobytes())
        found.append(pa.Array.from_buffers(DECIMAL, rows, [validity, pa.py_buffer(both)]))
    return found
