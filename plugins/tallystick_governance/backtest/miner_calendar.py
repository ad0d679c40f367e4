"""The calendar of a history: its epochs, and the miners with their slots and their time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tallystick.io.arrow import decoded
from tallystick.records.rejects import Reject
from tallystick.scoring.facts.batch import FactRows
from tallystick_governance.backtest.group_history import own_facts
from tallystick_governance.backtest.history import Reader
from tallystick_state.record_columns import Coded


@attrs.frozen
class Tenure:
    """The time and the slot of a miner in a history.

    Attributes:
        first: the epoch of its first record.
        last: that of its last.
        uid: the slot of its first record.
        line: of that record.
    """

    first: int
    last: int
    uid: int
    line: int

    def joined(self, other: Tenure) -> Tenure:
        """Return the tenure over the records of both."""
        earlier = min(self, other, key=lambda tenure: (tenure.first, tenure.line))
        return attrs.evolve(earlier, last=max(self.last, other.last))


@attrs.frozen(eq=False)
class Calendar:
    """The miners of a history, and the number of good records of each epoch.

    Attributes:
        records: by epoch, ascending.
        types: by hotkey, the skill types that it has records of.
        tenures: by hotkey, when it has records, and its slot.
        defects: the lines of records that are left out, as the engine fails on them.
    """

    records: Mapping[int, int]
    types: Mapping[str, frozenset[str]]
    tenures: Mapping[str, Tenure] = attrs.field(factory=dict)
    defects: frozenset[int] = frozenset()

    @property
    def first(self) -> int:
        """The first epoch; 0 of no records."""
        return min(self.records, default=0)

    def replaced(self) -> dict[str, str]:
        """Return by hotkey whose slot it takes over as the epoch of its first record begins."""
        by_slot = defaultdict[int, list[str]](list)
        for hotkey, tenure in self.tenures.items():
            by_slot[tenure.uid].append(hotkey)
        ordered = (
            sorted(hotkeys, key=lambda hotkey: (self.tenures[hotkey].first, hotkey))
            for hotkeys in by_slot.values()
        )
        # a slot of miners who overlap is none: then each has its own
        return {
            after: before
            for hotkeys in ordered
            for before, after in pairwise(hotkeys)
            if self.tenures[before].last < self.tenures[after].first
        }


def calendar_of(reader: Reader, defects: Iterable[Reject] = ()) -> Calendar:
    """Read a history for its calendar, without its known defects."""
    lines = frozenset(defect.line for defect in defects)
    records, types = Counter[int](), defaultdict[str, set[str]](set)
    tenures = dict[str, Tenure]()
    for batch in reader.batches():
        for name, every in batch.types.items():
            rows = _without(every, lines)
            epochs, counts = np.unique(rows.epoch, return_counts=True)
            records.update(dict(zip(epochs.tolist(), counts.tolist(), strict=True)))
            for hotkey, tenure in _tenures(rows):
                types[hotkey].add(name)
                known = tenures.get(hotkey)
                tenures[hotkey] = tenure if known is None else known.joined(tenure)
    return Calendar(
        dict(sorted(records.items())),
        {key: frozenset(names) for key, names in types.items()},
        tenures,
        lines,
    )


def _tenures(rows: FactRows) -> Iterator[tuple[str, Tenure]]:
    """Yield the hotkeys of some records, each with its tenure."""
    if not len(rows):
        return
    hotkeys = coded(rows.miner_hotkey)
    order = np.lexsort((rows.record, rows.epoch, hotkeys.codes))
    codes = hotkeys.codes[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    ends = np.append(starts[1:], len(codes))
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        first, last = order[start], order[end - 1]
        tenure = Tenure(
            int(rows.epoch[first]),
            int(rows.epoch[last]),
            int(rows.miner_uid[first]),
            int(rows.record[first]),
        )
        yield hotkeys.names[codes[start]], tenure


def coded(column: pa.Array) -> Coded[str]:
    """Return a column of text; ``""`` where there is none."""
    if column.null_count:
        column = pc.fill_null(column.cast(pa.string()), "")
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return Coded(codes, tuple(encoded.dictionary.to_pylist()))


def _without(rows: FactRows, lines: frozenset[int]) -> FactRows:
    return rows.select(~np.isin(rows.record, [*lines])) if lines else rows


def by_epoch(reader: Reader, calendar: Calendar) -> Iterator[tuple[int, list[FactRows]]]:
    """Yield the records of each epoch by skill type, ascending, as soon as all are there."""
    left, waiting = dict(calendar.records), defaultdict[int, dict[str, list[FactRows]]](dict)
    due = iter(calendar.records)
    current = next(due, None)
    for batch in reader.batches():
        for name, every in batch.types.items():
            rows = _without(every, calendar.defects)
            for epoch in np.unique(rows.epoch).tolist():
                part = rows.select(rows.epoch == epoch)
                waiting[epoch].setdefault(name, []).append(part)
                left[epoch] -= len(part)
        while current is not None and not left[current]:
            yield current, [_joined(parts) for parts in waiting.pop(current).values()]
            current = next(due, None)


def _joined(parts: Sequence[FactRows]) -> FactRows:
    """Return the records of several parts of one skill type, one part after the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    columns: dict[str, Any] = {}
    for field in attrs.fields(FactRows):
        own = [getattr(part, field.name) for part in parts]
        if isinstance(own[0], np.ndarray):
            columns[field.name] = np.concatenate(own)
        elif isinstance(own[0], pa.Array):
            # parts of other files may have other dictionaries
            columns[field.name] = pa.concat_arrays([decoded(column) for column in own])
    facts = {
        name: np.concatenate([own_facts(part, name) for part in parts])
        for name in dict.fromkeys(name for part in parts for name in part.facts)
    }
    return attrs.evolve(first, **columns, facts=facts)
