"""What is counted of a history: the tallies of every candidate, and who the miners are.

A `BatchCounter` adds batches of facts to an `Aggregate`. Those of several workers merge into that
of the history, which gives the `Outcome`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial

import attrs
import numpy as np

from tallystick.formula.columns import Column, Truths
from tallystick.records.defects import defects_of
from tallystick.records.rejects import Reject
from tallystick.scoring.facts.batch import FactBatch, FactRows
from tallystick.scoring.facts.isolation import isolated
from tallystick.scoring.facts.results import identity_at
from tallystick.scoring.planner import Rows
from tallystick.scoring.receipt import plugin_names
from tallystick_governance.backtest.candidates import Candidate
from tallystick_governance.backtest.comparison_model import (
    CandidateOutcome,
    History,
    Miner,
    OnFlips,
    Outcome,
    ThresholdRange,
    TypeOutcome,
)
from tallystick_governance.backtest.comparison_set import (
    AcceptanceGroup,
    ComparisonSet,
    all_tallies,
    comparison_set,
)
from tallystick_governance.backtest.rounds import distinct, round_keys
from tallystick_governance.backtest.row_block import PendingFlips, RowBlock, row_blocks
from tallystick_governance.backtest.tally import Tally
from tallystick_governance.backtest.tracked_thresholds import (
    TrackedThresholds,
    scored_by,
    tracks,
)

_SETS = 1 << 8
"""Most comparison sets that are kept, one for each type and thresholds of all candidates."""


@attrs.define(eq=False)
class Aggregate:
    """What is counted of a part of a history.

    Attributes:
        tallies: by skill type and the position of the candidate.
        places: by hotkey, the position of a miner in tallies and columns.
        uids: by position, the slot of the last record of each miner.
        last: by position, the line of that record.
        records: by skill type, how many good records there are.
        rejects: by code, how many lines are bad.
        defects: those rejects that are defects of the engine.
        lines: how many lines there are.
        rounds: the keys of the rounds that good records are from, as by `round_keys`.
    """

    tallies: dict[str, Mapping[int, Tally]] = attrs.field(factory=dict)
    places: dict[str, int] = attrs.field(factory=dict)
    uids: Column = attrs.field(factory=lambda: np.zeros(0, np.int64))
    last: Column = attrs.field(factory=lambda: np.zeros(0, np.int64))
    records: Counter[str] = attrs.field(factory=Counter)
    rejects: Counter[str] = attrs.field(factory=Counter)
    defects: list[Reject] = attrs.field(factory=list)
    lines: int = 0
    rounds: set[int] = attrs.field(factory=set)

    def places_of(self, hotkeys: Sequence[str]) -> Rows:
        """The positions of some miners; who is new gets the next."""
        places = self.places
        return np.array([places.setdefault(h, len(places)) for h in hotkeys], np.intp)

    def see(self, miners: Rows, uids: Column, lines: Column) -> None:
        """Keep the slot of the last record of each miner; each miner is there once."""
        missing = len(self.places) - len(self.last)
        if missing:
            self.last = np.append(self.last, np.zeros(missing, np.int64))
            self.uids = np.append(self.uids, np.zeros(missing, np.int64))
        later = lines > self.last[miners]
        self.last[miners[later]] = lines[later]
        self.uids[miners[later]] = uids[later]

    def merge(self, other: Aggregate) -> None:
        """Add what is counted of another part of the history, with the same candidates."""
        places = self.places_of(list(other.places))
        self.see(places, other.uids, other.last)
        for name, tallies in other.tallies.items():
            if name not in self.tallies:
                self.tallies[name] = {place: each.empty() for place, each in tallies.items()}
            for place, tally in tallies.items():
                own = self.tallies[name][place]
                own.reserve(len(self.places))
                own.merge(tally, places)
        self.records.update(other.records)
        self.rejects.update(other.rejects)
        self.defects += other.defects
        self.rounds |= other.rounds
        self.lines += other.lines

    def outcome(self, history: History, candidates: Sequence[Candidate]) -> Outcome:
        """The outcome of a back-test, of the aggregate of its whole history."""
        uids = self.uids.tolist()
        miners = tuple(Miner(h, uids[self.places[h]]) for h in sorted(self.places))
        found = tuple(
            CandidateOutcome(
                each.identity,
                self.types(place, miners),
                proposal=each.proposal,
                thresholds={
                    name: {key: ThresholdRange(nano, nano) for key, nano in found.items()}
                    for name, found in each.rules.thresholds.items()
                    if found and self.records[name]
                },
            )
            for place, each in enumerate(candidates)
        )
        plugins = plugin_names(candidates[0].rules.registry)
        return Outcome(history, miners, found, plugins, tracks(candidates))

    def types(self, place: int, miners: Sequence[Miner]) -> dict[str, TypeOutcome]:
        """The outcome of each type that has records under a candidate, by its position.

        Args:
            place: of the candidate.
            miners: their order; who has no record that counts has nothing.
        """
        nobody = len(self.places)
        order = [self.places.get(miner.hotkey, nobody) for miner in miners]
        return {
            name: tallies[place].outcome(name, order)
            for name, tallies in self.tallies.items()
            if place in tallies and self.records[name]
        }


class BatchCounter:
    """Counts batches of facts under all candidates, by plans that are worked out once."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        tracked: Sequence[TrackedThresholds] | None = None,
    ) -> None:
        """Plan every type of the baseline, for each stretch of epochs whose rules are the same.

        Args:
            candidates: the baseline first.
            tracked: of each candidate, the thresholds of each epoch; by default the seeds.
        """
        every = {epoch for each in candidates for epoch, _ in each.rules.spans()}
        self._begins, types = sorted(every), candidates[0].rules.types
        self._spans = [[each.at(begin) for each in candidates] for begin in self._begins]
        self._sets = {name: [comparison_set(span, name) for span in self._spans] for name in types}
        self._tracked = tracked
        self._by_thresholds: dict[Hashable, ComparisonSet] = {}

    def count(self, batch: FactBatch, into: Aggregate, on_flips: OnFlips | None = None) -> None:
        """Add what is counted of a batch to an aggregate; its flips go to ``on_flips``."""
        for name, sets in self._sets.items():
            if name not in into.tallies:
                into.tallies[name] = all_tallies(sets)
        into.lines += batch.lines
        into.rejects.update(reject.code for reject in batch.rejects)
        into.defects += defects_of(batch.rejects)
        for name, rows in batch.types.items():
            for epoch, part in self._parts(rows):
                kept = part
                if name in self._sets:
                    kept = self._count_type(self._set(name, epoch), part, into, on_flips)
                into.records[name] += len(kept)
                into.rounds.update(distinct(round_keys(kept)).tolist())

    def _parts(self, rows: FactRows) -> Iterator[tuple[int, FactRows]]:
        """The rows that are scored alike, and an epoch of them."""
        if len(self._begins) == 1 and self._tracked is None:
            yield 0, rows
            return
        begins = rows.epoch
        if self._tracked is None:
            places = np.searchsorted(self._begins, rows.epoch, side="right") - 1
            begins = np.array(self._begins, np.int64)[places]
        for begin in np.unique(begins).tolist():
            yield begin, rows.select(begins == begin)

    def _set(self, name: str, epoch: int) -> ComparisonSet:
        """A type under all candidates, as they score it in an epoch."""
        place = bisect_right(self._begins, epoch) - 1
        if self._tracked is None:
            return self._sets[name][place]
        thresholds = tuple(each.at(epoch, name) for each in self._tracked)
        key = (name, place, thresholds)
        if key not in self._by_thresholds:
            if len(self._by_thresholds) >= _SETS:
                self._by_thresholds.clear()
            span = zip(self._spans[place], thresholds, strict=True)
            self._by_thresholds[key] = comparison_set(
                [scored_by(each, name, found) for each, found in span], name
            )
        return self._by_thresholds[key]

    def _count_type(
        self,
        compared: ComparisonSet,
        rows: FactRows,
        into: Aggregate,
        on_flips: OnFlips | None,
    ) -> FactRows:
        """Add records of one type; gives those that are counted.

        One on which the engine fails under any candidate is rejected for all of them.
        """
        work = partial(_counted, compared, wants_flips=on_flips is not None, tracked=self._tracked)
        (part, flips), kept, failed = isolated(work, rows, identity_at)
        into.merge(part)
        into.rejects.update(reject.code for reject in failed)
        into.defects += defects_of(failed)
        if on_flips is not None and flips is not None:
            for each in flips.told(compared, kept):
                on_flips(each)
        return kept


def _counted(
    compared: ComparisonSet,
    rows: FactRows,
    *,
    wants_flips: bool,
    tracked: Sequence[TrackedThresholds] | None,
) -> tuple[Aggregate, PendingFlips | None]:
    """What is counted of the records of one type, block by block, and what flips."""
    into, pending = Aggregate(), PendingFlips() if wants_flips else None
    if not len(rows):
        return into, pending
    tallies = into.tallies[rows.skill_type] = compared.tallies()
    encoded = rows.miner_hotkey.dictionary_encode()
    places = into.places_of(encoded.dictionary.to_pylist())
    miners = places[encoded.indices.to_numpy()]
    latest = _latest(miners)
    into.see(miners[latest], rows.miner_uid[latest], rows.record[latest])
    for tally in tallies.values():
        tally.reserve(len(into.places))
    valid = [
        compared.accepted(group, rows, tallies, _displaced(group, rows, tracked))
        for group in compared.groups
    ]
    for places in row_blocks(rows, miners):
        accepted = [None if v is None else np.flatnonzero(v[places]) for v in valid]
        RowBlock(compared, tallies, rows, places, miners[places], pending).count(accepted)
    return into, pending


def _displaced(
    group: AcceptanceGroup, rows: FactRows, tracked: Sequence[TrackedThresholds] | None
) -> Truths | None:
    """Which rows repeat an earlier record that a group of candidates accepts; None for none."""
    if tracked is None:
        return None
    # whoever accepts the same records counts the same of them
    lines = tracked[min(work.candidate for work in group.plan.works)].lines
    return np.isin(rows.record, lines) if len(lines) else None


def _latest(miners: Rows) -> Rows:
    """The last row of each miner."""
    found = np.full(int(miners.max()) + 1, -1)
    # of several rows of one miner the last stays
    found[miners] = np.arange(len(miners))
    return found[found >= 0]
