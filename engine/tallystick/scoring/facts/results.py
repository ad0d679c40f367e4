"""Results of facts: a batch of facts under one rule set, in the order of the records.

What a rule set requires beyond its skill types is checked here. The records are gone, so a reject
shows the value that the facts hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallystick.errors import RecordError
from tallystick.formula.columns import Column, Truths
from tallystick.formula.facts import is_opaque, path_of, reader_of, scale_of
from tallystick.formula.formula import Requirement
from tallystick.formula.tree import leaves
from tallystick.numbers.nano import NANO
from tallystick.plugins.registry import Registry
from tallystick.records.extraction import FAILURES, failed
from tallystick.records.messages import NOTHING, shown
from tallystick.records.rejects import Reject
from tallystick.scoring.batch import BatchScorer, ResultBatch, ResultColumns
from tallystick.scoring.bound import BoundType
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.compiled import Compiled
from tallystick.scoring.facts.batch import FactBatch, FactRows
from tallystick.scoring.planner import score_columns

Places = npt.NDArray[np.intp]
"""Positions of rows."""

_NONE: Column = np.zeros(0, np.int64)

FIELDS = ("task_id", "miner_uid", "miner_hotkey", "role")
"""What results show of who a record is, beside its type and line."""
CODED = ("miner_hotkey", "role")
"""Those of them that repeat: dictionaries of texts, if they are read so, are not spelled out."""


def wanted_by(scorer: BoundRules) -> dict[str, frozenset[str]]:
    """By skill type, the digests of the facts that a rule set reads."""
    return {name: frozenset(f.digest for f in b.facts) for name, b in scorer.types.items()}


def score(batch: FactBatch, scorer: BoundRules) -> ResultBatch:
    """The results of a batch, the same as those of its records, as arrays.

    Args:
        batch: its rows hold at least the facts that the rule set reads.
        scorer: the rule set.
    """
    rejects, kept = list(batch.rejects), list[FactRows]()
    for name, rows in batch.types.items():
        if name in scorer.types:
            valid, refused = judged(rows, scorer)
            kept.append(rows.select(valid))
        else:
            refused = _of_unknown_type(rows, scorer.types)
        rejects += refused
    kept = [rows for rows in kept if len(rows)]
    order = _Order.of(kept, batch.first, batch.lines)
    epochs = order.numbers([rows.epoch for rows in kept]) if scorer.pinned else _NONE
    sheet = ResultColumns(order.rows, scorer.axis_names)
    scores = BatchScorer(scorer.types, scorer.thresholds, scorer.axis_names, scorer.pinned)
    for rows, place in zip(kept, order.places, strict=True):
        _write(sheet, scores, rows, place, epochs)
    return ResultBatch(
        record=order.numbers([rows.record for rows in kept]),
        skill_type=order.names([rows.skill_type for rows in kept]),
        task_id=order.texts([rows.task_id for rows in kept]),
        miner_uid=order.numbers([rows.miner_uid for rows in kept]),
        miner_hotkey=order.texts([rows.miner_hotkey for rows in kept]),
        role=order.texts([rows.role for rows in kept]),
        axes=sheet.axes,
        decimals=sheet.decimals,
        tier=sheet.tier,
        tiers=scores.tiers,
        rejects=tuple(sorted(rejects, key=lambda reject: reject.line)),
        snapshots=frozenset(scorer.pinned.keys() & set(np.unique(epochs).tolist())),
    )


def judged(rows: FactRows, scorer: BoundRules) -> tuple[Truths, list[Reject]]:
    """Which rows meet what the rule set requires beyond their type, and why others do not."""
    bound = scorer.types[rows.skill_type]
    valid, rejects = np.ones(len(rows), np.bool_), list[Reject]()
    for broken, reason in _checks(bound, rows, scorer.registry):
        for row in np.flatnonzero(valid & broken).tolist():
            rejects.append(Reject.of(reason(row), int(rows.record[row])))
        valid &= ~broken
    return valid, rejects


class _Reason(Protocol):
    def __call__(self, row: int) -> RecordError: ...


def _checks(
    bound: BoundType, rows: FactRows, registry: Registry
) -> Iterator[tuple[Truths, _Reason]]:
    """Which rows break what, and what is said of one of them."""
    for fact in bound.facts:
        if is_opaque(fact):
            column = rows.facts[fact.digest]
            yield (
                (column <= max(FAILURES)) & rows.answered,
                lambda row, f=fact, c=column: failed(f, int(c[row]), NOTHING),
            )
    own = registry.skill_types[bound.name].requirements
    digests = [fact.digest for fact in bound.facts]
    for requirement, compiled in bound.requirements:
        if requirement not in own:
            broken = _broken(compiled, digests, rows) & rows.answered
            yield broken, lambda row, r=requirement: _unmet(r, rows, row)
    for task in bound.task_requirements:
        if task.requirement not in own and not rows.answered.all():
            broken = _broken(task.compiled, [f.digest for f in task.facts], rows) & ~rows.answered
            yield broken, lambda row, r=task.requirement: _unmet(r, rows, row)


def _broken(compiled: Compiled, digests: Sequence[str], rows: FactRows) -> Truths:
    holds = compiled.nano_columns(rows.columns(digests), {}, len(rows)) == NANO
    broken: Truths = ~holds
    return broken


def _unmet(requirement: Requirement, rows: FactRows, row: int) -> RecordError:
    """What is said of a row that does not meet a requirement."""
    value = NOTHING
    for fact in leaves(requirement.condition, "fact"):
        if path_of(fact) == requirement.path and reader_of(fact).name in ("number", "integer"):
            held, scale = int(rows.facts[fact.digest][row]), scale_of(fact)
            value = shown(held if scale == 1 else held / scale)
    return RecordError(requirement.code, requirement.path, value, requirement.expected)


def _of_unknown_type(rows: FactRows, types: Mapping[str, BoundType]) -> list[Reject]:
    names, value = "one of " + ", ".join(sorted(types)), shown(rows.skill_type)
    lines = rows.record.tolist()
    return [Reject(n, "unknown-skill-type", "skill_type", value, names) for n in lines]


@attrs.frozen(eq=False)
class _Order:
    """Where the rows of several types stand among all of them, by line.

    Attributes:
        rows: how many there are.
        places: for each type, the places of its rows.
        order: for each place, the position of its row when the types follow each other.
    """

    rows: int
    places: Sequence[Places]
    order: Places

    @classmethod
    def of(cls, kept: Sequence[FactRows], first: int, lines: int) -> _Order:
        """The order of rows whose lines are ``lines`` from ``first`` on."""
        present = np.zeros(lines, np.bool_)
        for rows in kept:
            present[rows.record - first] = True
        counted = np.cumsum(present, dtype=np.intp) - 1
        places = [counted[rows.record - first] for rows in kept]
        total = sum(map(len, places))
        order = np.empty(total, np.intp)
        if places:
            order[np.concatenate(places)] = np.arange(total)
        return cls(total, places, order)

    def numbers(self, columns: Sequence[Column]) -> Column:
        """One column of several."""
        return np.concatenate(columns)[self.order] if columns else _NONE

    def texts(self, columns: Sequence[pa.Array]) -> pa.Array:
        """One array of several."""
        joined = pa.concat_arrays(columns) if columns else pa.array([], pa.string())
        return joined.take(pa.array(self.order))

    def names(self, names: Sequence[str]) -> pa.Array:
        """For each row, the name of its type."""
        types = np.repeat(np.arange(len(names)), list(map(len, self.places)))[self.order]
        return pa.array(names, pa.string()).take(pa.array(types))


def _write(
    sheet: ResultColumns, scores: BatchScorer, rows: FactRows, place: Places, epochs: Column
) -> None:
    """Score the rows of one type that have a submission."""
    bound = scores.types[rows.skill_type]
    columns = rows.columns([fact.digest for fact in bound.facts])
    if not rows.answered.all():
        answered = np.flatnonzero(rows.answered)
        place, columns = place[answered], [column[answered] for column in columns]
    for part in scores.parts(bound.name, place, columns, epochs):
        values = score_columns(bound, part.columns, part.thresholds, len(part))
        sheet.write(part.rows, values)
