"""Outcome of a back-test: the sums, counts and flips of each candidate that reports need.

Everything is exact: sums are whole counts of 1e-9 (nano) of any size, counts are whole. Nothing
here is a share, a rank or a mean; those are metrics of these values. What grows with the history
(`FlipRows`, `EpochState`) is not kept: it goes to a writer, part after part.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import attrs
import numpy as np
import pyarrow as pa

from tallystick.errors import TallystickError
from tallystick.formula.columns import Column
from tallystick.records.rejects import Reject
from tallystick_allocation.recipients import slot_of
from tallystick_governance.backtest.candidates import Identity, Proposal
from tallystick_governance.backtest.miner_calendar import Calendar

EMISSION = "emission"
"""The measure of distributed amounts."""
QUALITY = "quality"
"""The measure of types where a rule set has no emission."""
NOTHING = "none"
"""The measure of types that have neither: they have measures of their rule set alone."""
Counts = tuple[int, ...]
"""A whole number for each of some miners, in their order."""
UNKNOWN = -1
"""The uid of a hotkey that has a weight and is no miner of the history."""
ROUND_BITS = 31
"""Bits of a round number; the key of a round is epoch << 31 | round."""
NamedThresholds = tuple[tuple[str, int], ...]
"""Tracked thresholds of one skill type: names, and values in nano."""


@attrs.frozen
class MinerTotals:
    """A miner of the history.

    Attributes:
        hotkey: who it is; miners are told apart by hotkey.
        uid: the slot of its last record in the order of the history.
    """

    hotkey: str
    uid: int


def others_of(miners: Iterable[MinerTotals], keys: Iterable[str]) -> tuple[MinerTotals, ...]:
    """Return the slots and hotkeys among the keys of weights that are no miner of the history."""
    others = {*keys}.difference(miner.hotkey for miner in miners)
    slots = ((key, slot_of(key)) for key in sorted(others))
    return tuple(MinerTotals(key, UNKNOWN if slot is None else slot) for key, slot in slots)


@attrs.frozen
class FlipCounts:
    """Records that both the baseline and a candidate score, and those of them that flip.

    Attributes:
        compared: how many records both score.
        tier: records whose tier has another name under the candidate.
        gate: records that the gate of another axis decides, or that one decides and none did, or
            none any more.
        records: records with a flip of either kind, each counted once.
    """

    compared: int = 0
    tier: int = 0
    gate: int = 0
    records: int = 0

    def __add__(self, other: FlipCounts) -> FlipCounts:
        return FlipCounts(*map(operator.add, attrs.astuple(self), attrs.astuple(other)))


@attrs.define
class TypeOutcome:
    """The records of one skill type under one candidate; those of parts of a history add up.

    The baseline is compared with itself: no flips, and no record changes its tier.

    Attributes:
        tiers: the tiers of the baseline and of the candidate, each from the lowest; None where
            either has none for the type.
        has_quality: whether records have a quality.
        has_emission: whether they have an emission; the ``quality`` of a type without, such as a
            workflow, counts instead.
        records: by hotkey, how many records the candidate scores.
        quality: by hotkey, Σ quality over those records, in nano, exact.
        emission: by hotkey, Σ emission over those records, in nano, exact.
        applying: by measure, of how many records it applies to.
        measures: by measure, Σ of it over those records, in nano, exact.
        rejected: how many records only this rule set refuses, by a requirement of its own, by the
            code of the first requirement that is not met.
        migration: how many compared records went from which tier to which, by the names of both.
        flips: how many records are compared, and how many of them flip.
    """

    tiers: tuple[tuple[str, ...], tuple[str, ...]] | None
    has_quality: bool
    has_emission: bool
    records: Counter[str] = attrs.field(factory=Counter)
    quality: Counter[str] = attrs.field(factory=Counter)
    emission: Counter[str] = attrs.field(factory=Counter)
    applying: Counter[str] = attrs.field(factory=Counter)
    measures: Counter[str] = attrs.field(factory=Counter)
    rejected: Counter[str] = attrs.field(factory=Counter)
    migration: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    flips: FlipCounts = FlipCounts()

    @property
    def scored(self) -> int:
        """The number of records that the candidate scores."""
        return self.records.total()

    @property
    def migration_rows(self) -> list[list[int]]:
        """The counts of `migration` by baseline tier (rows) and candidate tier (columns)."""
        before, after = self.tiers or ((), ())
        return [[self.migration[old, new] for new in after] for old in before]

    def sums(self, measure: str) -> Mapping[str, int] | None:
        """Return the sums of an amount by hotkey; None where the type does not have it."""
        if measure == EMISSION and self.has_emission:
            return self.emission
        return self.quality if measure == QUALITY and self.has_quality else None

    def add(self, other: TypeOutcome) -> None:
        """Add the outcome of another part of the history under the same candidate.

        Raises:
            TallystickError: the candidate has other tiers there, as it adopts other rules.
        """
        if self.tiers != other.tiers:
            raise TallystickError(
                f"found the tiers {other.tiers} in some epochs and {self.tiers} in others, "
                "expected the same in all: compare the rule sets without an adoption"
            )
        self.has_quality |= other.has_quality
        self.has_emission |= other.has_emission
        self.records.update(other.records)
        self.quality.update(other.quality)
        self.emission.update(other.emission)
        self.applying.update(other.applying)
        self.measures.update(other.measures)
        self.rejected.update(other.rejected)
        self.migration.update(other.migration)
        self.flips += other.flips


@attrs.frozen
class EpochState:
    """The state of one candidate as an epoch begins.

    Attributes:
        candidate: the position of the candidate, 0 for the baseline.
        epoch: the number of the epoch.
        records: how many records that were accepted closed the epochs since the state before; 0
            for the first.
        thresholds: by skill type, the tracked tier thresholds in nano, by name.
        reputations: by hotkey and skill type, in nano; empty where the rule set has no reputation.
    """

    candidate: int
    epoch: int
    records: int
    thresholds: Mapping[str, Mapping[str, int]]
    reputations: Mapping[str, Mapping[str, int]]


@attrs.frozen
class StateOutcome:
    """The replay of the epochs of the history under one candidate.

    Attributes:
        epochs: how many epochs were closed, those without records between them included.
        final: the state after the last.
        emission: by skill type, Σ emission in nano under the thresholds that the state tracked,
            exact; types without an emission are left out.
        round_scores: by hotkey, Σ of its round scores in nano; None where the rule set has none.
        defects: the records that only the replay leaves out, as the engine fails on them.
        displaced: the lines of records that repeat an earlier one, ascending; they do not count.
    """

    epochs: int
    final: EpochState
    emission: Mapping[str, int]
    round_scores: Mapping[str, int] | None
    defects: tuple[Reject, ...] = ()
    displaced: tuple[int, ...] = attrs.field(default=(), repr=False, eq=False)


@attrs.frozen
class WeightOutcome:
    """The weights under one candidate, as each epoch of the history ends.

    Attributes:
        epochs: those with records, ascending.
        weights: of each, in nano by hotkey, or ``uid:N`` of a slot that burns; empty where nobody
            has one.
        reasons: of each, why nobody has a weight; empty where somebody has.
        unknown: why the weights are not known; empty where they are.
        switches: by name of a switch of the rules, how often the history exercised it.
    """

    epochs: tuple[int, ...] = attrs.field(default=(), repr=False)
    weights: tuple[Mapping[str, int], ...] = attrs.field(default=(), repr=False)
    reasons: tuple[str, ...] = attrs.field(default=(), repr=False)
    unknown: str = ""
    switches: Mapping[str, int] = attrs.field(factory=dict, repr=False)


@attrs.frozen(slots=False)
class TrackedThresholds:
    """The thresholds of each epoch under one candidate; a value that workers can be sent.

    Attributes:
        epochs: the epochs that have records, ascending.
        thresholds: of each, by skill type, the tracked thresholds in nano, by name.
        displaced: the lines of records that repeat an earlier one and do not count, ascending.
    """

    epochs: tuple[int, ...] = attrs.field(repr=False)
    thresholds: tuple[tuple[tuple[str, NamedThresholds], ...], ...] = attrs.field(repr=False)
    displaced: tuple[int, ...] = attrs.field(repr=False)

    @classmethod
    def of(cls, states: Sequence[EpochState], outcome: StateOutcome) -> TrackedThresholds:
        """Collect the thresholds of a replay.

        Args:
            states: as each epoch with records begins, ascending.
            outcome: of the replay.
        """
        named = (
            tuple(
                (name, tuple(thresholds.items())) for name, thresholds in state.thresholds.items()
            )
            for state in states
        )
        return cls(tuple(state.epoch for state in states), tuple(named), outcome.displaced)

    def at(self, epoch: int, skill_type: str) -> NamedThresholds:
        """Return the tracked thresholds of a type in an epoch; none before the first."""
        position = bisect_right(self.epochs, epoch)
        return self._types[position - 1].get(skill_type, ()) if position else ()

    @cached_property
    def lines(self) -> Column:
        """The lines that do not count."""
        return np.array(self.displaced, np.int64)

    @cached_property
    def _types(self) -> list[Mapping[str, NamedThresholds]]:
        return [dict(by_type) for by_type in self.thresholds]


@attrs.frozen
class ThresholdRange:
    """One threshold from the first epoch of a history to its end, in nano.

    Attributes:
        first: as the first epoch begins.
        last: as the last has ended; without a replay as the first.
    """

    first: int
    last: int


@attrs.frozen
class CandidateOutcome:
    """The outcome of one candidate.

    Attributes:
        identity: which rule set it is.
        types: by skill type, in the order of the baseline; types that the candidate does not have,
            or of which the history has no record, are left out. With a replay each record is
            scored by the thresholds of its epoch, and counts once; without one by the seeds.
        state: with ``--with-state``, the replay; otherwise None.
        proposal: what it says of itself, and what it changes of the baseline.
        seeded: with a replay, the types as they are by the seeds; otherwise None.
        thresholds: by skill type and name.
        tracked: with a replay, the thresholds of each epoch.
        weights: with a replay, those of each epoch.
    """

    identity: Identity
    types: Mapping[str, TypeOutcome]
    state: StateOutcome | None = None
    proposal: Proposal = attrs.field(factory=Proposal)
    seeded: Mapping[str, TypeOutcome] | None = attrs.field(default=None, repr=False)
    thresholds: Mapping[str, Mapping[str, ThresholdRange]] = attrs.field(factory=dict)
    tracked: TrackedThresholds | None = attrs.field(default=None, repr=False)
    weights: WeightOutcome | None = attrs.field(default=None, repr=False)


@attrs.frozen
class Period:
    """The rounds and epochs of the good records of a history.

    A round is told apart by the epoch that it is pinned to and its number.

    Attributes:
        keys: a number for each round, ascending: the epoch in the bits above the 31 of the round.
    """

    keys: tuple[int, ...] = attrs.field(repr=False)

    @property
    def epochs(self) -> list[int]:
        """The epochs that have records, ascending."""
        return sorted({key >> ROUND_BITS for key in self.keys})

    @property
    def rounds(self) -> tuple[int, int]:
        """The smallest and the largest number of a round."""
        numbers = [key & ((1 << ROUND_BITS) - 1) for key in self.keys]
        return min(numbers), max(numbers)


@attrs.frozen
class History:
    """The history as it was read.

    Attributes:
        source: the file or folder as the user named it.
        digest: ``sha256:…`` of its bytes, or of the names and digests of its files.
        lines: how many lines or rows there were, good and bad.
        records: by skill type, how many good records there were; also of types that no candidate
            has.
        rejects: by code, how many lines were no valid record of their type, for any rule set; a
            facts file does not hold them, they are the difference of its lines and records.
        period: of the good records; None when there is none.
        defects: those of the rejects that are defects of the engine.
        groups: the ``source`` and the ``digest`` of the groups that gave its records their
            consensus; empty where they kept their own.
    """

    source: str
    digest: str
    lines: int
    records: Mapping[str, int]
    rejects: Mapping[str, int]
    period: Period | None = None
    defects: tuple[Reject, ...] = attrs.field(default=(), repr=False)
    groups: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class Outcome:
    """The outcome of a back-test.

    Attributes:
        history: what was read.
        miners: those with a record of a compared type, sorted by hotkey.
        candidates: the baseline first, then the others as they were given.
        plugins: the distribution and version of each plugin in use.
        tracks: whether a state tracks a threshold of a candidate.
        calendar: the epochs of the history, and the time of each miner.
    """

    history: History
    miners: tuple[MinerTotals, ...]
    candidates: tuple[CandidateOutcome, ...]
    plugins: Mapping[str, str] = attrs.field(factory=dict)
    tracks: bool = False
    calendar: Calendar = attrs.field(factory=Calendar, repr=False)

    @property
    def baseline(self) -> CandidateOutcome:
        """The first candidate, which the others are compared with."""
        return self.candidates[0]

    @property
    def thresholds(self) -> str:
        """The kind of thresholds that score records: ``replayed``, ``seed`` or ``fixed``."""
        if any(candidate.state is not None for candidate in self.candidates):
            return "replayed"
        return "seed" if self.tracks else "fixed"


@attrs.frozen(eq=False)
class FlipRows:
    """Records of one type whose gate or tier differs between the baseline and one candidate.

    One row a record, ascending by line within one value. Nano values are int64 columns; a text
    column is null where nothing applies, and so is a distance.

    Attributes:
        candidate: the position of the candidate, from 1.
        skill_type: the type.
        record: the line of each record.
        task_id: its task, text.
        miner_uid: its miner's slot.
        miner_hotkey: its miner's key, text.
        baseline_quality: nano.
        candidate_quality: nano.
        baseline_tier: text, or null without tiers.
        candidate_tier: text, or null without tiers.
        baseline_emission: nano; None without an emission.
        candidate_emission: nano; None without an emission.
        baseline_gate: the axis of the gate that decides (the last that applies), null for none.
        candidate_gate: as ``baseline_gate``.
        tier_distance: int64 with nulls, where the tier flips: the candidate's quality minus the
            nearest threshold that it crossed, by the candidate's own thresholds. At least 0 when
            the record rose, below 0 when it fell; 0 is the cliff itself. Null, too, when the
            baseline's tier is none of the candidate's.
        gate_distance: int64 with nulls, where the gate flips: the axis of the gate that binds on
            one side only, as the candidate publishes it, minus ``below`` of the candidate's gate
            of that axis (of the baseline's, if the candidate has none). Below 0 the gate binds.
            Null when the candidate does not have the axis.
    """

    candidate: int
    skill_type: str
    record: Column
    task_id: pa.Array
    miner_uid: Column
    miner_hotkey: pa.Array
    baseline_quality: Column
    candidate_quality: Column
    baseline_tier: pa.Array
    candidate_tier: pa.Array
    baseline_emission: Column | None
    candidate_emission: Column | None
    baseline_gate: pa.Array
    candidate_gate: pa.Array
    tier_distance: pa.Array
    gate_distance: pa.Array

    def __len__(self) -> int:
        return len(self.record)


OnFlips = Callable[[FlipRows], None]
"""Takes the flips of one stretch of the history. Called in the order of the history; within one
stretch by skill type and then by candidate; rows ascend by line."""
OnEpoch = Callable[[EpochState], None]
"""Takes the state of a candidate as each epoch begins that the history has records of, and after
the last; all epochs of one candidate in order, then those of the next."""
