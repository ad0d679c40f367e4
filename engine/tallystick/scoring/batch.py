"""Many records at once: from decoded records to columns of results, in input order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.formula.columns import Column, Truths
from tallystick.numbers.nano import NANO, to_decimal
from tallystick.records.rejects import Reject
from tallystick.scoring.bound import BoundType
from tallystick.scoring.gathering import Decode, Gathered, Item, TypeFacts, gather
from tallystick.scoring.planner import ScoreColumns, score_columns
from tallystick.scoring.requirements import unmet
from tallystick.scoring.result import DECIMALS, Result
from tallystick.scoring.threshold_snapshots import Thresholds, ThresholdSnapshot, thresholds_at

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

    def select(self, rows: Rows) -> DecimalColumn:
        """Some of the rows."""
        return DecimalColumn(self.values[rows], self.given[rows])


@attrs.frozen
class ResultBatch:
    """Results of consecutive records, a column for each field, and what was rejected among them.

    Whole numbers and texts are lists, or NumPy and Arrow arrays where they come from such.

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

    record: list[int] | Column
    skill_type: list[str] | pa.Array
    task_id: list[str] | pa.Array
    miner_uid: list[int] | Column
    miner_hotkey: list[str] | pa.Array
    role: list[str] | pa.Array
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


class BatchScorer:
    """Scores batches of records under the bound types of one rule set."""

    def __init__(
        self,
        types: Mapping[str, BoundType],
        thresholds: Mapping[str, Thresholds],
        axis_names: tuple[str, ...],
        pinned: Mapping[int, ThresholdSnapshot] | None = None,
    ) -> None:
        """Take the types by name, the tier thresholds of each, the axes to show, and snapshots."""
        self.types, self.thresholds, self.axis_names = types, thresholds, axis_names
        self.pinned = pinned or {}
        levels = [bound.tiers.levels for bound in types.values() if bound.tiers is not None]
        self.tiers = levels[0] if levels else ()

    def score(self, items: Iterable[Item], decode: Decode, first: int = 1) -> ResultBatch:
        """The results of consecutive records.

        Args:
            items: the records as they came.
            decode: makes a record of each.
            first: the line of the first.
        """
        came = list(items)
        found = gather(came, decode, first, self.types, epochs=bool(self.pinned))
        kept, epochs = np.ones(len(found.record), np.bool_), np.array(found.epoch, np.int64)
        sheet = ResultColumns(len(kept), self.axis_names)
        for facts in found.facts.values():
            if facts.rows:
                rows, columns = self._valid(facts, found, kept, came, first)
                for part in self.parts(facts.bound.name, rows, columns, epochs):
                    scores = score_columns(facts.bound, part.columns, part.thresholds, len(part))
                    sheet.write(part.rows, scores)
        return self._assembled(found, kept, sheet)

    def parts(self, name: str, rows: Rows, columns: list[Column], epochs: Column) -> list[Part]:
        """The rows of one type, those apart that are scored by other thresholds."""
        if not self.pinned:
            return [Part(rows, columns, self.thresholds[name])]
        shared: dict[tuple[tuple[str, int], ...], list[int]] = {}
        for epoch in np.unique(epochs[rows]).tolist():
            thresholds = thresholds_at(self.thresholds, self.pinned, name, epoch)
            shared.setdefault(tuple(sorted(thresholds.items())), []).append(epoch)
        parts = []
        for items, among in shared.items():
            chosen = np.isin(epochs[rows], among)
            part = Part(rows[chosen], [column[chosen] for column in columns], dict(items))
            parts.append(part)
        return parts

    @staticmethod
    def _valid(
        facts: TypeFacts, found: Gathered, kept: Truths, items: Sequence[Item], first: int
    ) -> tuple[Rows, list[Column]]:
        """The rows and facts that meet the requirements; the others are rejected."""
        rows, columns = np.array(facts.rows, np.intp), facts.columns()
        valid = np.ones(len(rows), np.bool_)
        for requirement, compiled in facts.bound.requirements:
            holds = compiled.nano_columns(columns, {}, len(rows)) == NANO
            for row in rows[valid & ~holds].tolist():
                line = found.record[row]
                error = unmet(requirement, items[line - first])
                found.rejects.append(Reject.of(error, line))
            valid &= holds
        if valid.all():
            return rows, columns
        kept[rows[~valid]] = False
        return rows[valid], [column[valid] for column in columns]

    def _assembled(self, found: Gathered, kept: Truths, sheet: ResultColumns) -> ResultBatch:
        every, chosen = bool(kept.all()), np.flatnonzero(kept)

        def some(values: list[Any]) -> list[Any]:
            return values if every else [values[row] for row in chosen.tolist()]

        def columns(values: Mapping[str, DecimalColumn]) -> dict[str, DecimalColumn]:
            return {n: column if every else column.select(chosen) for n, column in values.items()}

        return ResultBatch(
            record=some(found.record),
            skill_type=some(found.skill_type),
            task_id=some(found.task_id),
            miner_uid=some(found.miner_uid),
            miner_hotkey=some(found.miner_hotkey),
            role=some(found.role),
            axes=columns(sheet.axes),
            decimals=columns(sheet.decimals),
            tier=sheet.tier if every else sheet.tier[chosen],
            tiers=self.tiers,
            rejects=tuple(sorted(found.rejects, key=lambda reject: reject.line)),
            snapshots=frozenset(self.pinned.keys() & set(some(found.epoch)) if self.pinned else ()),
        )


@attrs.frozen
class Part:
    """Rows of one type that are scored by the same thresholds, and their facts."""

    rows: Rows
    columns: list[Column]
    thresholds: Thresholds

    def __len__(self) -> int:
        return len(self.rows)


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


def _listed(values: Any) -> list[Any]:  # noqa: ANN401  # a list or an array
    listed: list[Any] = values if isinstance(values, list) else values.tolist()
    return listed


def _empty(rows: int) -> DecimalColumn:
    return DecimalColumn(np.zeros(rows, np.int64), np.zeros(rows, np.bool_))


def _decimals(column: DecimalColumn, rows: slice) -> list[Any]:
    pairs = zip(column.values[rows].tolist(), column.given[rows].tolist(), strict=True)
    return [to_decimal(nano) if given else None for nano, given in pairs]
