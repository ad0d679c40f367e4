"""Many records at once: from decoded records to columns of results, in input order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.errors import RecordError
from tallystick.formula.columns import Column, Truths
from tallystick.formula.formula import Requirement
from tallystick.numbers.nano import NANO, to_decimal
from tallystick.records.decoding import MissedDeadline
from tallystick.records.extraction import FactsOf
from tallystick.records.rejects import Reject
from tallystick.records.types import Record
from tallystick.scoring.binding import BoundType
from tallystick.scoring.requirements import check_task, unmet
from tallystick.scoring.result import DECIMALS, Result
from tallystick.scoring.scores import ScoreColumns, score_columns
from tallystick.scoring.tiers import Thresholds

Item = bytes | Mapping[str, Any]
"""A record as it came: a line of JSON, or a plain mapping."""
Decode = Callable[[Any, int], Record | MissedDeadline | Reject]
"""Makes a record of an item and its number, or says why not."""


@attrs.frozen
class DecimalColumn:
    """Nano values, and where they apply."""

    values: Column
    given: Truths

    def select(self, rows: npt.NDArray[np.intp]) -> DecimalColumn:
        """Some of the rows."""
        return DecimalColumn(self.values[rows], self.given[rows])


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
    """

    record: list[int]
    skill_type: list[str]
    task_id: list[str]
    miner_uid: list[int]
    miner_hotkey: list[str]
    role: list[str]
    axes: Mapping[str, DecimalColumn]
    decimals: Mapping[str, DecimalColumn]
    tier: npt.NDArray[np.int64]
    tiers: tuple[str, ...]
    rejects: tuple[Reject, ...]

    def __len__(self) -> int:
        return len(self.record)

    def results(self) -> Iterator[Result]:
        """The results one by one, as plain values."""
        axes = {name: _decimals(column) for name, column in self.axes.items()}
        decimals = [_decimals(self.decimals[name]) for name in DECIMALS]
        tiers = [None if t < 0 else self.tiers[t] for t in self.tier.tolist()]
        for row, number in enumerate(self.record):
            yield Result(
                record=number,
                skill_type=self.skill_type[row],
                task_id=self.task_id[row],
                miner_uid=self.miner_uid[row],
                miner_hotkey=self.miner_hotkey[row],
                role=self.role[row],
                axes={n: v for n, c in axes.items() if (v := c[row]) is not None},
                tier=tiers[row],
                **{n: c[row] for n, c in zip(DECIMALS, decimals, strict=True)},
            )


@attrs.define
class _Facts:
    """The facts of the records of one type, record after record."""

    bound: BoundType
    packed: list[bytes] = attrs.field(factory=list)
    rows: list[int] = attrs.field(factory=list)
    facts_of: FactsOf = attrs.field(init=False)
    pack: Callable[..., bytes] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Take from the type what every record needs."""
        self.facts_of, self.pack = self.bound.facts_of, self.bound.pack

    def columns(self) -> list[Column]:
        """A column for each fact."""
        values = np.frombuffer(b"".join(self.packed), np.int64)
        return list(np.ascontiguousarray(values.reshape(len(self.rows), -1).T))


Identity = tuple[int, str, str, int, str, str, Item]
"""Line, skill type, task, uid, hotkey and role of a record, and the record as it came."""


class BatchScorer:
    """Scores batches of records under the bound types of one rule set."""

    def __init__(
        self,
        types: Mapping[str, BoundType],
        thresholds: Mapping[str, Thresholds],
        axis_names: tuple[str, ...],
    ) -> None:
        """Take the types by name, the tier thresholds of each, and the axes to show."""
        self.types, self.thresholds, self.axis_names = types, thresholds, axis_names
        levels = [bound.tiers.levels for bound in types.values() if bound.tiers is not None]
        self.tiers = levels[0] if levels else ()

    def score(self, items: Iterable[Item], decode: Decode, first: int = 1) -> ResultBatch:
        """The results of consecutive records.

        Args:
            items: the records as they came.
            decode: makes a record of each.
            first: the line of the first.
        """
        facts = {name: _Facts(bound) for name, bound in self.types.items()}
        gathered, rejects = self._gather(items, decode, first, facts)
        kept = np.ones(len(gathered), np.bool_)
        scored = [self._scored(f, gathered, kept, rejects) for f in facts.values() if f.rows]
        return self._assembled(gathered, kept, scored, rejects)

    @staticmethod
    def _gather(
        items: Iterable[Item], decode: Decode, first: int, facts: Mapping[str, _Facts]
    ) -> tuple[list[Identity], list[Reject]]:
        """Who the good records are, with their facts put away by type; and the bad ones."""
        gathered, rejects = list[Identity](), list[Reject]()
        for number, item in enumerate(items, first):
            record = decode(item, number)
            if isinstance(record, Reject):
                rejects.append(record)
                continue
            try:
                if isinstance(record, MissedDeadline):
                    missed, record = record, record.record
                    check_task(facts[record.skill_type].bound, missed, item)
                else:
                    found = facts[record.skill_type]
                    found.packed.append(found.pack(*found.facts_of(record)))
                    found.rows.append(len(gathered))
            except RecordError as error:
                rejects.append(reject_of(error, number))
                continue
            uid, hotkey = record.miner.uid, record.miner.hotkey
            kind, task = record.skill_type, record.task_id
            gathered.append((number, kind, task, uid, hotkey, record.role, item))
        return gathered, rejects

    def _scored(
        self, found: _Facts, gathered: Sequence[Identity], kept: Truths, rejects: list[Reject]
    ) -> tuple[BoundType, npt.NDArray[np.intp], ScoreColumns]:
        bound = found.bound
        rows = np.array(found.rows, np.intp)
        columns = found.columns()
        valid = np.ones(len(rows), np.bool_)
        for requirement, compiled in bound.requirements:
            holds = compiled.nano_columns(columns, {}, len(rows)) == NANO
            unmet = rows[valid & ~holds].tolist()
            rejects.extend(_unmet(requirement, gathered[row]) for row in unmet)
            valid &= holds
        if not valid.all():
            kept[rows[~valid]] = False
            rows, columns = rows[valid], [column[valid] for column in columns]
        return bound, rows, score_columns(bound, columns, self.thresholds[bound.name], len(rows))

    def _assembled(
        self,
        gathered: Sequence[Identity],
        kept: Truths,
        scored: Iterable[tuple[BoundType, npt.NDArray[np.intp], ScoreColumns]],
        rejects: list[Reject],
    ) -> ResultBatch:
        sheet = _Sheet(len(kept), self.axis_names)
        for bound, rows, scores in scored:
            sheet.write(bound, rows, scores)
        every, chosen = bool(kept.all()), np.flatnonzero(kept)
        good = gathered if every else [gathered[row] for row in chosen.tolist()]
        identity: list[list[Any]] = [list(column) for column in zip(*good, strict=True)]
        record, skill_type, task_id, miner_uid, miner_hotkey, role, _ = identity or [
            [] for _ in range(7)
        ]
        return ResultBatch(
            record=record,
            skill_type=skill_type,
            task_id=task_id,
            miner_uid=miner_uid,
            miner_hotkey=miner_hotkey,
            role=role,
            axes={n: c if every else c.select(chosen) for n, c in sheet.axes.items()},
            decimals={n: c if every else c.select(chosen) for n, c in sheet.decimals.items()},
            tier=sheet.tier if every else sheet.tier[chosen],
            tiers=self.tiers,
            rejects=tuple(sorted(rejects, key=lambda reject: reject.line)),
        )


class _Sheet:
    """Empty columns for a batch, into which each type writes its rows."""

    def __init__(self, rows: int, axes: Iterable[str]) -> None:
        self.axes = {name: _empty(rows) for name in axes}
        self.decimals = {name: _empty(rows) for name in DECIMALS}
        self.tier = np.full(rows, -1, np.int64)

    def write(self, bound: BoundType, rows: npt.NDArray[np.intp], scores: ScoreColumns) -> None:
        for name, values in scores.axes.items():
            _write(self.axes[name], rows, values)
        _write(self.decimals["quality"], rows, scores.quality)
        if scores.level is not None:
            self.tier[rows] = scores.level
        if scores.emission is None or bound.base_weight is None:
            return
        self.decimals["base_weight"].values[rows] = bound.base_weight
        self.decimals["base_weight"].given[rows] = True
        _write(self.decimals["tier_multiplier"], rows, scores.tier_multiplier)
        _write(self.decimals["emission"], rows, scores.emission)
        for name, factor in scores.factors.items():
            if name in self.decimals:
                _write(self.decimals[name], rows, factor.values)
                if factor.given is not None:
                    self.decimals[name].given[rows] = factor.given


def reject_of(error: RecordError, number: int) -> Reject:
    """The reject of a record that raised."""
    return Reject(number, error.code, error.path, error.value, error.expected)


def _unmet(requirement: Requirement, identity: Identity) -> Reject:
    number, *_, item = identity
    return reject_of(unmet(requirement, item), number)


def _empty(rows: int) -> DecimalColumn:
    return DecimalColumn(np.zeros(rows, np.int64), np.zeros(rows, np.bool_))


def _write(column: DecimalColumn, rows: npt.NDArray[np.intp], values: Column | None) -> None:
    if values is not None:
        column.values[rows] = values
        column.given[rows] = True


def _decimals(column: DecimalColumn) -> list[Any]:
    pairs = zip(column.values.tolist(), column.given.tolist(), strict=True)
    return [to_decimal(nano) if given else None for nano, given in pairs]
