"""Records in columns: those of one skill type, without an object a record.

They hold what a `StateEvent` holds, as far as an epoch is closed and weighed by it. A column of
names is coded, so that records are grouped by whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.numbers.nano import NANO
from tallystick_allocation.population import EMISSION, QUALITY
from tallystick_state.reputation import consensus_event
from tallystick_state.rules import StateRules
from tallystick_state.sections.reputation import REPUTATION

if TYPE_CHECKING:
    from tallystick.scoring.planner import ScoreColumns

Ints = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]
"""Positions of rows."""

_Name = TypeVar("_Name", bound=Hashable)
_LARGEST_KEY = 1 << 62


@attrs.frozen(eq=False)
class Coded(Generic[_Name]):
    """A column of names.

    Attributes:
        codes: of each row, the position of its name.
        names: each once.
    """

    codes: Ints
    names: tuple[_Name, ...]

    @classmethod
    def of(cls, values: Iterable[_Name]) -> Coded[_Name]:
        """Return the column of some names, a row each."""
        places: dict[_Name, int] = {}
        codes = [places.setdefault(value, len(places)) for value in values]
        return cls(np.array(codes, np.int64), tuple(places))

    def take(self, rows: Rows | Truths) -> Coded[_Name]:
        """Return some of the rows."""
        return Coded(self.codes[rows], self.names)

    @classmethod
    def joined(cls, parts: Iterable[Coded[_Name]]) -> Coded[_Name]:
        """Return the rows of several parts, with the names alone that a row has."""
        places: dict[_Name, int] = {}
        columns = []
        for part in parts:
            used, rows = np.unique(part.codes, return_inverse=True)
            names = (part.names[code] for code in used.tolist())
            codes = [places.setdefault(name, len(places)) for name in names]
            columns.append(np.array(codes, np.int64)[rows])
        return cls(np.concatenate(columns), tuple(places))

    def values(self) -> list[_Name]:
        """Return the name of each row."""
        names = self.names
        return [names[code] for code in self.codes.tolist()]


@attrs.frozen(eq=False)
class Numbers:
    """A column of exact numbers.

    Attributes:
        values: whole numbers of nano, or an object array of whole numbers and exact fractions; of a
            row without a number, any.
        present: the rows that have one.
    """

    values: Ints | npt.NDArray[np.object_]
    present: Truths

    def take(self, rows: Rows | Truths) -> Numbers:
        """Return some of the rows."""
        return Numbers(self.values[rows], self.present[rows])

    @classmethod
    def joined(cls, parts: Sequence[Numbers]) -> Numbers:
        """Return the rows of several parts."""
        return cls(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.present for part in parts]),
        )

    @classmethod
    def none(cls, rows: int) -> Numbers:
        """Return rows without a number."""
        return cls(np.zeros(rows, np.int64), np.zeros(rows, np.bool_))


@attrs.frozen(eq=False)
class RecordColumns:
    """Records of one skill type; each (validator, miner, task, round) stands there once.

    Attributes:
        skill_type: the type.
        validator: who recorded each.
        hotkey: of the miner.
        task_id: the task.
        role: of the miner.
        events: names of reputation events with that of the consensus, sorted; they may repeat.
        round: of the dispatch.
        epoch: whose snapshot the round is pinned to.
        missed: whether the record says that the deadline was missed.
        scored: whether it has a submission.
        values: the quality, the emission and the measures that the rule set gives, by name; of a
            record without a submission there is none.
        group: of the miner, ``""`` for none; None where the allocation names no field for it.
    """

    skill_type: str
    validator: Coded[str]
    hotkey: Coded[str]
    task_id: Coded[str]
    role: Coded[str]
    events: Coded[tuple[str, ...]]
    round: Ints
    epoch: Ints
    missed: Truths
    scored: Truths
    values: Mapping[str, Numbers] = attrs.field(factory=dict)
    group: Coded[str] | None = None

    def __len__(self) -> int:
        return len(self.round)

    def take(self, rows: Rows | Truths) -> RecordColumns:
        """Return some of the rows."""
        taken: dict[str, Any] = {}
        for field in attrs.fields(RecordColumns):
            column = getattr(self, field.name)
            if isinstance(column, Coded):
                taken[field.name] = column.take(rows)
            elif isinstance(column, np.ndarray):
                taken[field.name] = column[rows]
        values = {name: numbers.take(rows) for name, numbers in self.values.items()}
        return attrs.evolve(self, **taken, values=values)

    def is_of(self, hotkeys: Collection[str]) -> Truths:
        """Return which rows are of some miners."""
        codes = [code for code, name in enumerate(self.hotkey.names) if name in hotkeys]
        return np.isin(self.hotkey.codes, codes)


def joined(parts: Sequence[RecordColumns]) -> RecordColumns:
    """Return the records of several parts of one skill type, one part after the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    columns: dict[str, Any] = {}
    for field in attrs.fields(RecordColumns):
        own = [getattr(part, field.name) for part in parts]
        if field.name == "group" and any(own):
            own = [
                group or Coded(np.zeros(len(p), np.int64), ("",))
                for group, p in zip(own, parts, strict=True)
            ]
        if isinstance(own[0], Coded):
            columns[field.name] = Coded.joined(own)
        elif isinstance(own[0], np.ndarray):
            columns[field.name] = np.concatenate(own)
    values = {
        name: Numbers.joined([part.values.get(name) or Numbers.none(len(part)) for part in parts])
        for name in dict.fromkeys(name for part in parts for name in part.values)
    }
    return attrs.evolve(first, **columns, values=values)


def values_of(scores: ScoreColumns, answered: Rows | Truths, rows: int) -> dict[str, Numbers]:
    """Return the quality, the emission and the measures of records, present where they apply.

    Args:
        scores: of the records with an answer.
        answered: which they are.
        rows: the number of all records.
    """

    def spread(column: Any, applies: Truths | None = None) -> Numbers:  # noqa: ANN401  # of either kind
        every, present = np.zeros(rows, column.dtype), np.zeros(rows, np.bool_)
        every[answered] = column
        present[answered] = True if applies is None else applies
        return Numbers(every, present)

    values = {QUALITY: spread(scores.quality)} if scores.bound.has_quality else {}
    if scores.emission is not None:
        values[EMISSION] = spread(scores.emission)
    for value in scores.bound.measures:
        column = scores.ratios[value] if value in scores.ratios else scores.columns[value]
        values[value.name] = spread(column, scores.given.get(value))
    return values


def first_of_each(records: RecordColumns) -> Rows:
    """Return the rows that come first of each validator, miner, task and round, ascending."""
    identity = (records.validator.codes, records.hotkey.codes, records.task_id.codes, records.round)
    order, starts = alike(*identity)
    # the sort is stable: of equal rows the first comes first
    return np.sort(order[starts])


def alike(*columns: Ints) -> tuple[Rows, Rows]:
    """Group rows that are equal in some columns.

    Returns:
        The rows, such that those of a group stand together, in their order; and the position there
        at which each group begins.
    """
    # the last key is the first for NumPy; equal rows keep their order
    order = np.lexsort(columns[::-1])
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = np.any([np.diff(column[order]) != 0 for column in columns], axis=0)
    return order, np.flatnonzero(is_first)


def combined(make: Callable[..., _Name], *columns: Coded[Any]) -> Coded[_Name]:
    """Return the column of what is made of the names of each row, once of each combination."""
    order, starts = alike(*(column.codes for column in columns))
    own = (column.take(order[starts]).values() for column in columns)
    # of two combinations the same may be made
    made = Coded.of(map(make, *own))
    codes = np.empty(len(order), np.int64)
    codes[order] = np.repeat(made.codes, counts_of(order, starts))
    return Coded(codes, made.names)


def consensus_events(rules: StateRules, consensus: Ints) -> Coded[str | None]:
    """Return the event that each consensus in nano is; the first name is None, for no event."""
    reputation = rules.rule_set.section(REPUTATION)
    bands = [] if reputation is None else [event.consensus for event in reputation.events.values()]
    ends = {
        -int(-end * NANO // 1)
        for band in bands
        if band is not None
        for end in (band.at_least, band.below)
        if end is not None
    }
    # between the ends of the bands the event is one and the same
    edges = sorted(ends)
    samples = [edges[0] - 1, *edges] if edges else [0]
    names = (None, *(consensus_event(rules, sample) for sample in samples))
    return Coded(np.searchsorted(np.array(edges, np.int64), consensus, side="right") + 1, names)


def counts_of(order: Rows, starts: Rows) -> Ints:
    """Return the number of rows of each group of `alike`."""
    return np.diff(np.append(starts, len(order))).astype(np.int64)


def totals_of(values: Any, order: Rows, starts: Rows) -> list[Any]:  # noqa: ANN401  # of either kind
    """Return the exact sum of the values of each group of `alike`."""
    return sums_of(values[order], starts)


def sums_of(ordered: Any, starts: Rows) -> list[Any]:  # noqa: ANN401  # of either kind
    """Return the exact sum of the values from each start to the next, the first of which is 0."""
    if not len(starts):
        return []
    if ordered.dtype != np.object_:
        largest = max(abs(int(ordered.min())), abs(int(ordered.max())))
        if largest * len(ordered) >= _LARGEST_KEY:
            # they could overflow: whole numbers of any length
            ordered = ordered.astype(np.object_)
    totals: list[Any] = np.add.reduceat(ordered, starts).tolist()
    return totals


def total_of(values: Any) -> Any:  # noqa: ANN401  # of either kind
    """Return the exact sum of some values; 0 of none."""
    return sum(sums_of(values, np.zeros(min(len(values), 1), np.intp)))
