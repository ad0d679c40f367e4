"""The history of a back-test: read as batches of facts, and added up under all candidates.

A history is any file or folder of records or facts. Facts files are read as they are; of records,
the facts that the candidates read are taken on the way. Lines are numbered over all files of a
folder, as if they were one.

`count` reads the history once: an executor makes an `Aggregate` of each chunk, and these are added
up to that of the whole, which gives the `Outcome`. A further pass tells miners apart by stretches
of epochs (`RoundStretches`), for the statistics.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import closing
from functools import cached_property, partial
from pathlib import Path

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tallystick.errors import InputError
from tallystick.formula.columns import Column
from tallystick.io.sources import Chunk, Source, input_digest
from tallystick.records.defects import defects_of
from tallystick.records.rejects import Reject
from tallystick.scoring.executors.executor import Executor
from tallystick.scoring.executors.portable import BoundRulesSpec, PortableFunction
from tallystick.scoring.facts.batch import FactBatch, FactRows
from tallystick.scoring.facts.catalog import FactCatalog, catalog_of
from tallystick.scoring.facts.extraction import Extractor
from tallystick.scoring.facts.file import FactsChunk
from tallystick.scoring.facts.isolation import isolated
from tallystick.scoring.facts.results import wanted_by
from tallystick.scoring.receipt import plugin_names
from tallystick.scoring.sources import source_of
from tallystick_governance.backtest.candidates import Candidate, tracks_thresholds
from tallystick_governance.backtest.group_history import GroupHistory
from tallystick_governance.backtest.miner_calendar import Calendar, Tenure, tenures_of
from tallystick_governance.backtest.outcome import (
    ROUND_BITS,
    CandidateOutcome,
    FlipRows,
    History,
    MinerTotals,
    OnFlips,
    Outcome,
    Period,
    ThresholdRange,
    TrackedThresholds,
    TypeOutcome,
)
from tallystick_governance.backtest.type_totals import BatchCounter, TypeCandidates

Progress = Callable[[int], None]
"""Takes the number of lines that were read so far, after every chunk."""
_BETWEEN = " "
"""Separator of the stretch and the hotkey in a label."""
_MOST_STRETCHES, _FEWEST_STRETCHES = 256, 16
_CELLS = 1 << 18
"""Maximum of stretches times miners, unless that leaves fewer than the fewest stretches."""
_PLANS = 1 << 8
"""Maximum number of plans kept, one for each type and thresholds of all candidates."""


@attrs.frozen(eq=False, slots=False)
class Reader:
    """Reads a history for some candidates, as often as it is asked to.

    Attributes:
        path: a file or a folder.
        candidates: the rule sets that it is read for, the baseline first.
        groups: those that give records their consensus; None where they keep their own.
    """

    path: Path
    candidates: tuple[Candidate, ...]
    groups: GroupHistory | None = None
    _wanted: Mapping[str, Collection[str]] = attrs.field(init=False)
    _fields: Mapping[str, str] = attrs.field(init=False)

    @_wanted.default
    def _read_facts(self) -> Mapping[str, Collection[str]]:
        """Return by skill type the digests of the facts that the candidates read."""
        wanted = dict[str, set[str]]()
        for candidate in self.candidates:
            for name, facts in wanted_by(candidate.rules).items():
                wanted.setdefault(name, set()).update(facts)
        return wanted

    @_fields.default
    def _group_fields(self) -> Mapping[str, str]:
        """Return by skill type the field that says the group of a miner, where there is one.

        Raises:
            InputError: two candidates make groups by other fields of the records of one type.
        """
        fields = dict[str, str]()
        spans = (rules for candidate in self.candidates for _, rules in candidate.rules.spans())
        for name, bound in (item for rules in spans for item in rules.types.items()):
            if bound.group is not None and fields.setdefault(name, bound.group) != bound.group:
                raise InputError(
                    f"found groups of {name} by {fields[name]} and by {bound.group}, expected "
                    "candidates that make them by one field: compare them one by one"
                )
        return fields

    def of(self, positions: Iterable[int]) -> Reader:
        """Return the reader for the candidates at some positions."""
        return attrs.evolve(self, candidates=tuple(self.candidates[n] for n in positions))

    def source(self) -> Source:
        """Return the history as chunks.

        Raises:
            InputError: it cannot be read.
        """
        return source_of(self.path)

    def batches(self) -> Iterator[FactBatch]:
        """Return the facts, batch after batch.

        Raises:
            InputError: a file cannot be read, or its facts are of other definitions.
        """
        # a map lets go of a batch before it asks for the next
        return map(self.batch, self.source())

    def batch(self, chunk: Chunk) -> FactBatch:
        """Return the facts of one chunk.

        Raises:
            InputError: it cannot be read, its facts are of other definitions, or a line of the
                groups is none.
        """
        if self.groups is not None:
            return self.groups.batch(chunk, self._extractor)
        if isinstance(chunk, FactsChunk):
            return chunk.facts(self._catalogs, self._wanted)
        return self._extractor.facts(chunk.items(), chunk.first)

    @cached_property
    def _catalogs(self) -> Mapping[str, FactCatalog]:
        return catalog_of(self.candidates[0].rules.registry)

    @cached_property
    def _extractor(self) -> Extractor:
        selections = (
            attrs.evolve(catalog.only(self._wanted.get(name, ())), group=self._fields.get(name))
            for name, catalog in self._catalogs.items()
        )
        return Extractor(selections)


def reader_of(path: Path, candidates: Iterable[Candidate], groups: Path | None = None) -> Reader:
    """Return the reader of a history for some candidates.

    Args:
        path: a file or a folder.
        candidates: the rule sets.
        groups: a file of the groups that give the records their consensus; without one they keep
            their own.

    Raises:
        InputError: the history can be read only once, or no candidate has a consensus of groups.
    """
    try:
        is_special = path.exists() and not (path.is_file() or path.is_dir())
    except (OSError, ValueError):
        is_special = False  # what is wrong with the path is said when it is read
    if is_special:
        raise InputError(
            f"{path}: found a pipe or a device, expected a file or a folder, as a history is read "
            "more than once: write it to a file first"
        )
    every = tuple(candidates)
    if groups is None:
        return Reader(path, every)
    consensus = GroupHistory.of(groups, every)
    consensus.check_used()
    return Reader(path, consensus.numbered(every), consensus)


@attrs.frozen
class ReaderSpec:
    """A reader as a value that workers can be sent.

    Attributes:
        path: of the history.
        scorers: the rule sets, the baseline first.
        groups: the file of the groups of the history and its digest; None without one.
    """

    path: Path
    scorers: tuple[BoundRulesSpec, ...]
    groups: tuple[Path, str] | None

    @classmethod
    def of(cls, reader: Reader) -> ReaderSpec:
        """Return the specification of a reader."""
        rules = (candidate.rules for candidate in reader.candidates)
        return cls(
            # workers may have another working directory
            reader.path.absolute(),
            BoundRulesSpec.of_each(rules, __package__),
            None if reader.groups is None else reader.groups.place,
        )

    def reader(self, positions: Iterable[int]) -> Reader:
        """Return the reader for the candidates at some positions.

        Raises:
            EngineError: the worker is not like the process that began it.
            InputError: the groups cannot be read, or are others than before.
        """
        candidates = tuple(Candidate.of_spec(self.scorers[position]) for position in positions)
        if self.groups is None:
            return Reader(self.path, candidates)
        check_unchanged(*self.groups)
        groups = GroupHistory.of(self.groups[0], candidates)
        return Reader(self.path, groups.numbered(candidates), groups)


def check_unchanged(path: Path, digest: str) -> None:
    """Check that a history is the one that was read before.

    Raises:
        InputError: it is not.
    """
    if input_digest(path) != digest:
        raise InputError(
            f"{path}: found another history than before, expected one that stays as it is, the "
            "same for every worker: run again"
        )


def round_keys(rows: FactRows) -> Column:
    """Return a key for the round of each record, ascending by epoch and then by round."""
    keys: Column = rows.epoch << ROUND_BITS | rows.round
    return keys


@attrs.frozen
class RoundStretches:
    """A history as stretches of consecutive epochs, or of rounds where it has one epoch.

    Stretches have one length, or one more.

    Attributes:
        keys: of the epochs, ascending; of the rounds where there is one epoch.
        count: how many stretches there are.
        by_epoch: whether the keys are of epochs.
        rounds: how many rounds there are.
    """

    keys: tuple[int, ...] = attrs.field(repr=False)
    count: int
    by_epoch: bool
    rounds: int

    @classmethod
    def of(cls, keys: Sequence[int], miners: int) -> RoundStretches:
        """Make one stretch of each epoch, unless the epochs or the miners are too many.

        Args:
            keys: of the rounds, ascending.
            miners: how many there are.
        """
        epochs = tuple(dict.fromkeys(key >> ROUND_BITS for key in keys))
        by_epoch = len(epochs) > 1
        units = epochs if by_epoch else tuple(keys)
        most = min(_MOST_STRETCHES, max(_FEWEST_STRETCHES, _CELLS // max(miners, 1)))
        return cls(units, min(len(units), most), by_epoch, len(keys))

    @property
    def epochs(self) -> int:
        """The number of epochs."""
        return len(self.keys) if self.by_epoch else 1

    def labelled(self, batch: FactBatch) -> FactBatch:
        """Return the batch with another miner in each stretch, whose slot is the stretch."""
        types = dict[str, FactRows]()
        for name, rows in batch.types.items():
            keys = rows.epoch if self.by_epoch else round_keys(rows)
            units = np.searchsorted(np.array(self.keys, np.int64), keys)
            stretches = units * self.count // len(self.keys)
            texts = pa.array(stretches).cast(rows.miner_hotkey.type)
            labels = pc.binary_join_element_wise(texts, rows.miner_hotkey, _BETWEEN)
            types[name] = attrs.evolve(rows, miner_uid=stretches, miner_hotkey=labels)
        return attrs.evolve(batch, types=types)

    def amounts(
        self, aggregate: Aggregate, candidate: int, measure: str, hotkeys: Sequence[str]
    ) -> list[list[int]]:
        """Return the amounts of all types under a candidate by stretch and miner, in nano.

        Args:
            aggregate: the counts of the labelled history.
            candidate: its position among those that were counted.
            measure: the amount.
            hotkeys: of the miners, in their order.
        """
        columns = {hotkey: n for n, hotkey in enumerate(hotkeys)}
        amounts = [[0] * len(columns) for _ in range(self.count)]
        for outcome in aggregate.types(candidate).values():
            for label, amount in (outcome.sums(measure) or {}).items():
                stretch, _, hotkey = label.partition(_BETWEEN)
                amounts[int(stretch)][columns[hotkey]] += amount
        return amounts


@attrs.define(eq=False)
class Aggregate:
    """The counts of a part of a history, or of the whole.

    Attributes:
        outcomes: by skill type and the position of the candidate.
        tenures: by hotkey of a miner, when it has records, and its slots.
        records: by skill type, how many good records there are.
        rejects: by code, how many lines are bad.
        defects: those rejects that are defects of the engine.
        lines: how many lines there are.
        rounds: how many good records there are of each round, by its key of `round_keys`.
        digest: of the history, once it is counted to its end.
    """

    outcomes: dict[str, dict[int, TypeOutcome]] = attrs.field(factory=dict)
    tenures: dict[str, Tenure] = attrs.field(factory=dict)
    records: Counter[str] = attrs.field(factory=Counter)
    rejects: Counter[str] = attrs.field(factory=Counter)
    defects: list[Reject] = attrs.field(factory=list)
    lines: int = 0
    rounds: Counter[int] = attrs.field(factory=Counter)
    digest: str = ""

    def merge(self, other: Aggregate) -> None:
        """Add the counts of another part of the history, with the same candidates."""
        self._join(other.tenures.items())
        for name, by_candidate in other.outcomes.items():
            own = self.outcomes.setdefault(name, {})
            for candidate, outcome in by_candidate.items():
                if candidate in own:
                    own[candidate].add(outcome)
                else:
                    own[candidate] = outcome
        self.records.update(other.records)
        self.rejects.update(other.rejects)
        self.defects += other.defects
        self.rounds.update(other.rounds)
        self.lines += other.lines

    def reject(self, rejects: Sequence[Reject]) -> None:
        """Add some bad lines."""
        self.rejects.update(reject.code for reject in rejects)
        self.defects += defects_of(rejects)

    def note(self, rows: FactRows) -> None:
        """Add some good records of one type: how many there are, of whom, and when."""
        self.records[rows.skill_type] += len(rows)
        keys, counts = np.unique(round_keys(rows), return_counts=True)
        self.rounds.update(dict(zip(keys.tolist(), counts.tolist(), strict=True)))
        self._join(tenures_of(rows))

    def _join(self, tenures: Iterable[tuple[str, Tenure]]) -> None:
        for hotkey, tenure in tenures:
            own = self.tenures.get(hotkey)
            self.tenures[hotkey] = tenure if own is None else own.joined(tenure)

    def outcome(self, reader: Reader) -> Outcome:
        """Return the outcome of a back-test, from the counts of its whole history.

        Args:
            reader: the history, and the candidates that were counted.
        """
        groups, candidates = reader.groups, reader.candidates
        history = History(
            str(reader.path),
            self.digest,
            self.lines,
            dict(sorted(self.records.items())),
            dict(sorted(self.rejects.items())),
            Period(tuple(sorted(self.rounds))) if self.rounds else None,
            tuple(self.defects),
            {} if groups is None else {"source": str(groups.path), "digest": groups.digest},
        )
        epochs = Counter[int]()
        for key, many in sorted(self.rounds.items()):
            epochs[key >> ROUND_BITS] += many
        calendar = Calendar(
            dict(epochs), self.tenures, frozenset(defect.line for defect in self.defects)
        )
        miners = tuple(
            MinerTotals(hotkey, tenure.latest[1])
            for hotkey, tenure in sorted(self.tenures.items())
            if tenure.types & self.outcomes.keys()
        )
        outcomes = tuple(
            CandidateOutcome(
                candidate.identity,
                self.types(position),
                proposal=candidate.proposal,
                thresholds={
                    name: {key: ThresholdRange(nano, nano) for key, nano in thresholds.items()}
                    for name, thresholds in candidate.rules.thresholds.items()
                    if thresholds and self.records[name]
                },
            )
            for position, candidate in enumerate(candidates)
        )
        plugins = plugin_names(candidates[0].rules.registry)
        tracks = tracks_thresholds(candidates)
        return Outcome(history, miners, outcomes, plugins, tracks, calendar)

    def types(self, candidate: int) -> dict[str, TypeOutcome]:
        """Return the outcome of each type that has records under a candidate, by its position."""
        return {
            name: by_candidate[candidate]
            for name, by_candidate in self.outcomes.items()
            if candidate in by_candidate
        }


Counted = tuple[Aggregate, list[FlipRows]]
"""The counts of a chunk, and its flips by type, then by candidate, then by line."""


@attrs.frozen
class CountOptions:
    """Options of a count, a value that workers can be sent.

    Attributes:
        flips: whether flips are wanted.
        stretches: of epochs or rounds, whose miners are to be told apart; None if they are not.
        tracked: of each candidate, the thresholds of each epoch; None for the seeds.
    """

    flips: bool
    stretches: RoundStretches | None
    tracked: tuple[TrackedThresholds, ...] | None


@attrs.frozen(eq=False, slots=False)
class ChunkCounter:
    """Counts chunks of a history under all candidates; a function that executors map.

    Attributes:
        reader: takes the facts of a chunk.
        options: of the count.
    """

    reader: Reader
    options: CountOptions
    _plans: dict[Hashable, TypeCandidates] = attrs.field(factory=dict, init=False)

    def __call__(self, chunk: Chunk) -> Counted:
        """Return the counts of one chunk, and its flips by type, then by candidate, then by line.

        Raises:
            InputError: the chunk cannot be read.
        """
        batch, stretches = self.reader.batch(chunk), self.options.stretches
        if stretches is not None:
            batch = stretches.labelled(batch)
        into, flips = Aggregate(lines=batch.lines), list[FlipRows]()
        into.reject(batch.rejects)
        for name, rows in batch.types.items():
            for epoch, part in self._by_rules(rows):
                counted = part
                if name in self.reader.candidates[0].rules.types:
                    # a record on which the engine fails under a candidate is rejected for all
                    work = partial(self._counted, self._plan(name, epoch))
                    found, counted, failed = isolated(work, part)
                    into.reject(failed)
                    if len(counted):
                        into.merge(Aggregate({name: found.outcomes}))
                    flips += found.flips()
                if stretches is None:
                    into.note(counted)
        return into, flips

    def _counted(self, plan: TypeCandidates, rows: FactRows) -> BatchCounter:
        """Count the records of one type."""
        counter = BatchCounter(plan, rows, keeps_flips=self.options.flips)
        counter.count(self.options.tracked)
        return counter

    @cached_property
    def _begins(self) -> list[int]:
        """The epochs from which on some candidate has other rules, ascending."""
        return sorted(
            {epoch for candidate in self.reader.candidates for epoch, _ in candidate.rules.spans()}
        )

    @cached_property
    def _spans(self) -> list[list[Candidate]]:
        """The candidates from each of these epochs on."""
        return [
            [candidate.at(begin) for candidate in self.reader.candidates] for begin in self._begins
        ]

    def _by_rules(self, rows: FactRows) -> Iterator[tuple[int, FactRows]]:
        """Yield the rows that are scored alike, after an epoch of them."""
        if len(self._begins) == 1 and self.options.tracked is None:
            yield 0, rows
            return
        begins = rows.epoch
        if self.options.tracked is None:
            spans = np.searchsorted(self._begins, rows.epoch, side="right") - 1
            begins = np.array(self._begins, np.int64)[spans]
        for begin in np.unique(begins).tolist():
            yield begin, rows.select(begins == begin)

    def _plan(self, name: str, epoch: int) -> TypeCandidates:
        """Return the plan of a type for the rules and the thresholds of an epoch."""
        span = bisect_right(self._begins, epoch) - 1
        thresholds = tuple(own.at(epoch, name) for own in self.options.tracked or ())
        key = (name, span, thresholds)
        if key not in self._plans:
            if len(self._plans) >= _PLANS:
                self._plans.clear()
            candidates = self._spans[span]
            if thresholds:
                pairs = zip(candidates, thresholds, strict=True)
                candidates = [own.with_thresholds(name, dict(tracked)) for own, tracked in pairs]
            self._plans[key] = TypeCandidates.of(candidates, name)
        return self._plans[key]


@attrs.frozen
class CounterSpec(PortableFunction[Chunk, Counted]):
    """The arguments of a `ChunkCounter` as a value that workers can be sent.

    Attributes:
        reader: of the history.
        options: of the count.
    """

    reader: ReaderSpec
    options: CountOptions

    def make(self) -> ChunkCounter:
        """Bind the rule sets.

        Raises:
            EngineError: the worker is not like the process that began it.
        """
        return ChunkCounter(self.reader.reader(range(len(self.reader.scorers))), self.options)


def count(  # noqa: PLR0913  # a history, and who takes what
    reader: Reader,
    executor: Executor,
    *,
    on_flips: OnFlips | None = None,
    stretches: RoundStretches | None = None,
    tracked: tuple[TrackedThresholds, ...] | None = None,
    progress: Progress | None = None,
) -> Aggregate:
    """Count a history under all candidates.

    Args:
        reader: the history, and the candidates.
        executor: who counts.
        on_flips: takes the flips.
        stretches: of epochs or rounds, whose miners are to be told apart; by default they are not.
        tracked: of each candidate, the thresholds of each epoch; by default the seeds.
        progress: takes the number of lines so far.

    Raises:
        InputError: the history cannot be read.
        EngineError: the workers cannot be used.
    """
    # the types of the baseline, in their order
    whole = Aggregate({name: {} for name in reader.candidates[0].rules.types})
    options, source = CountOptions(on_flips is not None, stretches, tracked), reader.source()
    if executor.is_elsewhere:
        counted = executor.map(CounterSpec(ReaderSpec.of(reader), options), source.places())
    else:
        counted = executor.map(ChunkCounter(reader, options), source)
    # workers end with the block, whatever ends it
    with closing(counted) as counts:
        for part, rows in counts:
            whole.merge(part)
            for of_candidate in rows:
                if on_flips is not None:
                    on_flips(of_candidate)
            if progress is not None:
                progress(whole.lines)
    whole.digest = source.digest
    return whole
