"""The calendar of a history: its epochs, and the miners with their slots and their time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tallystick.scoring.facts.batch import FactRows
from tallystick_state.record_columns import Coded

_EPOCH_BITS = 31


@attrs.frozen
class Tenure:
    """The time and the slots of a miner in a history.

    Attributes:
        types: the skill types that it has records of.
        first: the epoch of its first record.
        last: that of its last.
        uid: the slot of its first record.
        line: of that record.
        latest: the line, and then the slot, of its last record in the order of the history.
    """

    types: frozenset[str]
    first: int
    last: int
    uid: int
    line: int
    latest: tuple[int, int]

    def joined(self, other: Tenure) -> Tenure:
        """Return the tenure over the records of both."""
        earlier = min(self, other, key=lambda tenure: (tenure.first, tenure.line))
        return attrs.evolve(
            earlier,
            types=self.types | other.types,
            last=max(self.last, other.last),
            latest=max(self.latest, other.latest),
        )


@attrs.frozen
class Calendar:
    """The miners of a history, and the number of good records of each epoch.

    Attributes:
        records: by epoch, ascending.
        tenures: by hotkey, when it has records, and its slots.
        defects: the lines of records that are left out, as the engine fails on them.
    """

    records: Mapping[int, int] = attrs.field(factory=dict)
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


def tenures_of(rows: FactRows) -> Iterator[tuple[str, Tenure]]:
    """Yield the hotkeys of some records, which ascend by line, each with its tenure."""
    hotkeys, types = coded(rows.miner_hotkey), frozenset((rows.skill_type,))
    keys, earliest = np.unique(hotkeys.codes << _EPOCH_BITS | rows.epoch, return_index=True)
    starts = np.flatnonzero(np.diff(keys >> _EPOCH_BITS, prepend=-1))
    latest = np.zeros(len(hotkeys.names), np.intp)
    # of several rows of one miner the last stays
    latest[hotkeys.codes] = np.arange(len(rows))
    last = keys[np.append(starts[1:], len(keys)) - 1] if len(keys) else keys
    for first, key in zip(earliest[starts].tolist(), last.tolist(), strict=True):
        code = key >> _EPOCH_BITS
        end = latest[code]
        yield (
            hotkeys.names[code],
            Tenure(
                types,
                int(rows.epoch[first]),
                key & ((1 << _EPOCH_BITS) - 1),
                int(rows.miner_uid[first]),
                int(rows.record[first]),
                (int(rows.record[end]), int(rows.miner_uid[end])),
            ),
        )


def coded(column: pa.Array) -> Coded[str]:
    """Return a column of text; ``""`` where there is none."""
    if column.null_count:
        column = pc.fill_null(column.cast(pa.string()), "")
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return Coded(codes, tuple(encoded.dictionary.to_pylist()))
