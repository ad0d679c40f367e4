"""Results as Arrow: one schema for a rule set, decimals as decimal128 with nine places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tallystick.scoring.batch import DecimalColumn, ResultBatch
from tallystick.scoring.result import DECIMALS, FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    columns = {
        "record": pa.array(batch.record),
        "skill_type": _decoded(batch.skill_type),
        "task_id": _decoded(batch.task_id),
        "miner_uid": pa.array(batch.miner_uid),
        "miner_hotkey": _decoded(batch.miner_hotkey),
        "role": _decoded(batch.role),
        "tier": _tiers(batch),
        "axes": pa.StructArray.from_arrays(
            [_decimal(column) for column in batch.axes.values()],
            fields=list(schema.field("axes").type),
        ),
    }
    columns |= {name: _decimal(batch.decimals[name]) for name in DECIMALS}
    return pa.record_batch([columns[name] for name in FIELDS], schema=schema)


def _decoded(texts: pa.Array) -> pa.Array:
    """Texts, also of a dictionary of texts."""
    return texts.dictionary_decode() if isinstance(texts, pa.DictionaryArray) else texts


def _tiers(batch: ResultBatch) -> pa.Array:
    """The names of the tiers; the position −1 is null, the last of the names."""
    names = pa.array([*batch.tiers, None], pa.string())
    return names.take(pa.array(batch.tier % (len(batch.tiers) + 1)))


def _decimal(column: DecimalColumn) -> pa.Array:
    """128-bit integers, low half first, from 64-bit ones; nulls where a value does not apply."""
    halves = np.empty((len(column.values), 2), np.int64)
    halves[:, 0] = column.values
    halves[:, 1] = column.values >> 63
    validity = None
    if not column.given.all():
        validity = pa.py_buffer(np.packbits(column.given, bitorder="little").tobytes())
    buffers = [validity, pa.py_buffer(halves)]
    return pa.Array.from_buffers(DECIMAL, len(column.values), buffers)
