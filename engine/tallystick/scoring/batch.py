"""Results of many records as columns, in the order of the input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.formula.columns import Column, Truths
from tallystick.numbers.nano import to_decimal
from tallystick.records.rejects import Reject
from tallystick.scoring.planner import ScoreColumns
from tallystick.scoring.result import DECIMALS, Result

if TYPE_CHECKING:
    import pyarrow as pa

Rows = npt.NDArray[np.intp]
"""Positions in a batch."""


_WHO = ("record", "skill_type", "task_id", "miner_uid", "miner_hotkey", "role")
"""The first fields of a result, in order."""
_ROWS = 1 << 12
"""How many results are made of columns at a time."""


@attrs.frozen
class DecimalColumn:
    """Nano values, and where they apply."""

    values: Column
    given: Truths


@attrs.frozen
class ResultBatch:
    """Results of consecutive records, a column for each field, and what was rejected among them.

    Attributes:
        record: the line of each record.
        skill_type: the names of the types.
        task_id: the tasks.
        miner_uid: the miners' slots.
        miner_hotkey: the miners' keys.
        role: the roles.
        axes: a column for each axis of the rule set.
        decimals: a column for each name of ``DECIMALS``.
        tier: the position of the tier's name in ``tiers``, −1 for none.
        tiers: the names of the tiers.
        rejects: the rejected records, by line.
        snapshots: those epochs of the records whose snapshots were pinned.
    """

    record: Column
    skill_type: pa.Array
    task_id: pa.Array
    miner_uid: Column
    miner_hotkey: pa.Array
    role: pa.Array
    axes: Mapping[str, DecimalColumn]
    decimals: Mapping[str, DecimalColumn]
    tier: npt.NDArray[np.int64]
    tiers: tuple[str, ...]
    rejects: tuple[Reject, ...]
    snapshots: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self.record)

    def results(self) -> Iterator[Result]:
        """The results one by one, as plain values; few are held at a time."""
        for start in range(0, len(self), _ROWS):
            yield from self._results(slice(start, start + _ROWS))

    def _results(self, rows: slice) -> Iterator[Result]:
        axes = {name: _decimals(column, rows) for name, column in self.axes.items()}
        decimals = [_decimals(self.decimals[name], rows) for name in DECIMALS]
        tiers = [None if t < 0 else self.tiers[t] for t in self.tier[rows].tolist()]
        who = [_listed(getattr(self, name)[rows]) for name in _WHO]
        for row, values in enumerate(zip(*who, strict=True)):
            record, skill_type, task_id, uid, hotkey, role = values
            yield Result(
                record=record,
                skill_type=skill_type,
                task_id=task_id,
                miner_uid=uid,
                miner_hotkey=hotkey,
                role=role,
                axes={n: v for n, c in axes.items() if (v := c[row]) is not None},
                tier=tiers[row],
                **{n: c[row] for n, c in zip(DECIMALS, decimals, strict=True)},
            )


class ResultColumns:
    """Empty columns for a batch, into which each type writes its rows."""

    def __init__(self, rows: int, axes: Iterable[str]) -> None:
        """Make them, for so many rows and these axes."""
        self.axes = {name: _empty(rows) for name in axes}
        self.decimals = {name: _empty(rows) for name in DECIMALS}
        self.tier = np.full(rows, -1, np.int64)

    def write(self, rows: Rows, scores: ScoreColumns) -> None:
        """Put the scores of one type into its rows."""
        for value, column in scores.columns.items():
            if value.role == "tier":
                self.tier[rows] = column
                continue
            decimals = self.axes if value.role == "axis" else self.decimals
            decimals[value.name].values[rows] = column
            decimals[value.name].given[rows] = scores.given.get(value, True)


def _listed(values: Column | pa.Array) -> list[Any]:
    # by way of NumPy, as Arrow makes one Python object after the other
    array = values if isinstance(values, np.ndarray) else values.to_numpy(zero_copy_only=False)
    return list(array.tolist())


def _empty(rows: int) -> DecimalColumn:
    return DecimalColumn(np.zeros(rows, np.int64), np.zeros(rows, np.bool_))


def _decimals(column: DecimalColumn, rows: slice) -> list[Any]:
    pairs = zip(column.values[rows].tolist(), column.given[rows].tolist(), strict=True)
    return [to_decimal(nano) if given else None for nano, given in pairs]
