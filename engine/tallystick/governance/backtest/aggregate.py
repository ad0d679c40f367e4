"""Counting: batches of facts through the plans of all candidates, into their tallies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy

import attrs
import numpy as np

from tallystick.formula.columns import Column
from tallystick.governance.backtest.candidates import Candidate
from tallystick.governance.backtest.comparison_model import (
    CandidateOutcome,
    History,
    Miner,
    OnFlips,
    Outcome,
)
from tallystick.governance.backtest.comparison_set import ComparisonSet, comparison_set
from tallystick.governance.backtest.row_block import PendingFlips, RowBlock, row_blocks
from tallystick.governance.backtest.tally import Tally
from tallystick.scoring.facts.batch import FactBatch, FactRows
from tallystick.scoring.planner import Rows


@attrs.frozen(eq=False)
class Counted:
    """What was counted of a part of a history, as a value.

    Attributes:
        tallies: by skill type and the position of the candidate.
        hotkeys: of the miners, in the order of their positions.
        uids: the slot of the last record of each.
        last: the line of that record.
        records: by skill type, how many good records there were.
        rejects: by code, how many lines were bad.
        lines: how many lines there were.
    """

    tallies: Mapping[str, Mapping[int, Tally]]
    hotkeys: tuple[str, ...]
    uids: Column
    last: Column
    records: Counter[str]
    rejects: Counter[str]
    lines: int


class Counting:
    """The tallies of all candidates over the batches that it was given so far.

    Attributes:
        records: by skill type, how many good records there were.
        rejects: by code, how many lines were bad.
        lines: how many lines there were.
    """

    def __init__(self, candidates: Sequence[Candidate], on_flips: OnFlips | None = None) -> None:
        """Plan every type of the baseline."""
        self.candidates, self._on_flips = candidates, on_flips
        self._begin({name: comparison_set(candidates, name) for name in candidates[0].scorer.types})

    def _begin(self, types: Mapping[str, ComparisonSet]) -> None:
        self._types = types
        self._places: dict[str, int] = {}
        self._uids, self._last = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.records, self.rejects = Counter[str](), Counter[str]()
        self.lines = 0

    def add(self, batch: FactBatch) -> None:
        """Count a batch."""
        self.lines += batch.lines
        self.rejects.update(reject.code for reject in batch.rejects)
        for name, rows in batch.types.items():
            self.records[name] += len(rows)
            if name in self._types and len(rows):
                self._add_type(self._types[name], rows)

    def emptied(self, on_flips: OnFlips | None) -> Counting:
        """The same plans with nothing counted."""
        found = copy(self)
        found._on_flips = on_flips  # noqa: SLF001  # of the same class
        found._begin({name: each.empty() for name, each in self._types.items()})  # noqa: SLF001  # as above
        return found

    def counted(self) -> Counted:
        """What was counted so far."""
        return Counted(
            {name: compared.tallies for name, compared in self._types.items()},
            tuple(self._places),
            self._uids,
            self._last,
            self.records,
            self.rejects,
            self.lines,
        )

    def merge(self, other: Counted) -> None:
        """Add what was counted of another part of the history, with the same candidates."""
        places = self._places_of(other.hotkeys)
        self._seen(places, other.uids, other.last)
        for name, tallies in other.tallies.items():
            for candidate, tally in tallies.items():
                self._types[name].tallies[candidate].merge(tally, places)
        self.records.update(other.records)
        self.rejects.update(other.rejects)
        self.lines += other.lines

    def outcome(self, history: History) -> Outcome:
        """What it came to."""
        hotkeys = sorted(self._places)
        order = [self._places[hotkey] for hotkey in hotkeys]
        uids = self._uids.tolist()
        miners = tuple(Miner(h, uids[p]) for h, p in zip(hotkeys, order, strict=True))
        found = tuple(
            CandidateOutcome(
                each.identity,
                {
                    name: compared.tallies[place].outcome(name, order)
                    for name, compared in self._types.items()
                    if place in compared.tallies and self.records[name]
                },
            )
            for place, each in enumerate(self.candidates)
        )
        return Outcome(history, miners, found)

    def _add_type(self, compared: ComparisonSet, rows: FactRows) -> None:
        encoded = rows.miner_hotkey.dictionary_encode()
        places = self._places_of(encoded.dictionary.to_pylist())
        miners = places[encoded.indices.to_numpy()]
        latest = _latest(miners)
        self._seen(miners[latest], rows.miner_uid[latest], rows.record[latest])
        valid = [compared.accepted(group, rows) for group in compared.groups]
        pending = None if self._on_flips is None else PendingFlips()
        for places in row_blocks(rows, miners):
            accepted = [None if v is None else np.flatnonzero(v[places]) for v in valid]
            RowBlock(compared, rows, places, miners[places], pending).count(accepted)
        if self._on_flips is not None and pending is not None:
            for flips in pending.told(compared, rows):
                self._on_flips(flips)

    def _places_of(self, hotkeys: Sequence[str]) -> Rows:
        places = self._places
        return np.array([places.setdefault(h, len(places)) for h in hotkeys], np.intp)

    def _seen(self, miners: Rows, uids: Column, lines: Column) -> None:
        """Keep the slot of the last record of each miner."""
        missing = len(self._places) - len(self._last)
        if missing:
            self._last = np.append(self._last, np.zeros(missing, np.int64))
            self._uids = np.append(self._uids, np.zeros(missing, np.int64))
        later = lines > self._last[miners]
        self._last[miners[later]] = lines[later]
        self._uids[miners[later]] = uids[later]


def _latest(miners: Rows) -> Rows:
    """The last row of each miner."""
    found = np.full(int(miners.max()) + 1, -1)
    # of several rows of one miner the last stays
    found[miners] = np.arange(len(miners))
    return found[found >= 0]
