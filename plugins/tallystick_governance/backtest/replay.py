"""Replay: the epochs of a history under one candidate, by the pure transitions of the state.

Every miner of the history is registered from the beginning, for the types that it has records of.
The records of an epoch are scored by the snapshot that they are pinned to, become events, and
close it. Of records that the same validator gave of one miner, task and round in an epoch the first
counts. The result is what a ledger gives that is fed the same records, epoch by epoch. A record on
which the engine fails is left out.

Records of an epoch wait until all of them were read; so a history in the order of its epochs needs
little memory. The replays of all candidates are one task each, by whoever an executor has. A worker
reads the history by its path. It gives the states of a candidate back with the outcome, so those of
a few candidates wait in memory for their turn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from fractions import Fraction
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from tallystick.errors import InputError, StateError
from tallystick.formula.columns import Truths
from tallystick.records.defects import defects_of
from tallystick.records.rejects import Reject
from tallystick.rules.timeline import Timeline
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.executors.executor import Executor
from tallystick.scoring.executors.portable import PortableFunction, ScorerSpec
from tallystick.scoring.facts.batch import FactRows
from tallystick.scoring.facts.isolation import isolated
from tallystick.scoring.facts.results import identity_at, judged
from tallystick.scoring.planner import ScoreColumns, columns_of
from tallystick_allocation.rules import round_score
from tallystick_consensus.group_record import CONSENSUS
from tallystick_governance.backtest.candidates import Candidate
from tallystick_governance.backtest.history import COUNTED, Reader, check_unchanged, reader_of
from tallystick_governance.backtest.outcome import (
    Counts,
    EpochState,
    OnEpoch,
    Outcome,
    StateOutcome,
)
from tallystick_state.adoption import adopt
from tallystick_state.epoch import close_epoch
from tallystick_state.event import StateEvent
from tallystick_state.miners import FLAG, flag, pinned_reputation
from tallystick_state.model import MinerEntry, State
from tallystick_state.reputation import (
    consensus_event,
    events_of_record,
    initial_reputation,
)
from tallystick_state.round_scores import round_scores
from tallystick_state.rules import StateRules, state_rules_of
from tallystick_state.sections.epochs import EPOCHS
from tallystick_state.sections.reputation import REPUTATION

_Who = tuple[Any, ...]
"""Validator, hotkey, task, role, events, group, round, epoch, whether the deadline was missed."""
_Values = tuple[int | None, int | None, int | None, Mapping[str, int | Fraction]]
"""Quality, emission and consensus in nano, as far as there are any, and measures."""
_NOTHING: _Values = (None, None, None, {})


@attrs.frozen(eq=False)
class Calendar:
    """The miners of a history, and the number of good records of each epoch.

    Attributes:
        records: by epoch, ascending.
        types: by hotkey, the skill types that it has records of.
        defects: the lines of records that are left out, as the engine fails on them.
    """

    records: Mapping[int, int]
    types: Mapping[str, frozenset[str]]
    defects: frozenset[int] = frozenset()


def calendar_of(reader: Reader, defects: Iterable[Reject] = ()) -> Calendar:
    """Read a history for its calendar, without its known defects."""
    lines = frozenset(defect.line for defect in defects)
    records, types = Counter[int](), defaultdict[str, set[str]](set)
    for batch in reader.batches(COUNTED):
        for name, every in batch.types.items():
            rows = _without(every, lines)
            epochs, counts = np.unique(rows.epoch, return_counts=True)
            records.update(dict(zip(epochs.tolist(), counts.tolist(), strict=True)))
            for hotkey in rows.miner_hotkey.unique().to_pylist():
                types[hotkey].add(name)
    return Calendar(
        dict(sorted(records.items())),
        {key: frozenset(names) for key, names in types.items()},
        lines,
    )


def _without(rows: FactRows, lines: frozenset[int]) -> FactRows:
    return rows.select(~np.isin(rows.record, [*lines])) if lines else rows


def _by_epoch(reader: Reader, calendar: Calendar) -> Iterator[tuple[int, list[FactRows]]]:
    """Yield the records of each epoch, ascending, as soon as all are there."""
    left, waiting = dict(calendar.records), defaultdict[int, list[FactRows]](list)
    due = iter(calendar.records)
    current = next(due, None)
    for batch in reader.batches():
        for every in batch.types.values():
            rows = _without(every, calendar.defects)
            for epoch in np.unique(rows.epoch).tolist():
                part = rows.select(rows.epoch == epoch)
                waiting[epoch].append(part)
                left[epoch] -= len(part)
        while current is not None and not left[current]:
            yield current, waiting.pop(current)
            current = next(due, None)


class _EpochReplay:
    """One candidate on its way through the epochs."""

    def __init__(
        self,
        position: int,
        scorer: BoundRules,
        timeline: Timeline[StateRules],
        calendar: Calendar,
    ) -> None:
        self.position, self.types = position, calendar.types
        self.epochs = list[EpochState]()
        self.all_rules, self.timeline = scorer, timeline
        self.state = State(0, {}, timeline.first.seeds)
        self.flagged: dict[str, Counter[str]] = defaultdict(Counter)
        self.first = min(calendar.records, default=0)
        self.defects, self.displaced = list[Reject](), list[int]()
        self.records = 0
        self.emission: dict[str, Counter[str]] = defaultdict(Counter)
        self.quality: dict[str, Counter[str]] = defaultdict(Counter)
        self.scores, self.rounds = Counter[str](), Counter[str]()
        self._follow(0)

    def close(self, epoch: int, parts: Iterable[FactRows]) -> None:
        """Close the epochs up to one, and this one with its records."""
        self._skip_to(epoch)
        self._note_state()
        events = self._distinct(pair for part in parts for pair in self._events(part))
        self._sum(events)
        before = self.state
        flags = Counter(
            (s.hotkey, s.validator) for s in events for event in s.events if event == FLAG
        )
        for (hotkey, validator), more in flags.items():
            self.flagged[hotkey][validator] += more
        flagged = flag(before, self.rules, flags)
        self.state = close_epoch(flagged, events, self.rules, {epoch: before})
        self._adopt()
        self.records = len(events)

    def _follow(self, epoch: int) -> None:
        """Go by the rules of an epoch, and register miners for the types that are new in them."""
        self.scorer, self.rules = self.all_rules.rules_at(epoch), self.timeline.at(epoch)
        # many records have one consensus
        self.consensus_event = lru_cache(maxsize=1 << 14)(partial(consensus_event, self.rules))
        miners = _registered(self.state.miners, self.rules, self.types)
        self.state = attrs.evolve(self.state, miners=miners)

    def _adopt(self) -> None:
        """Adopt the rules that begin with the epoch that is open now, if any do."""
        if self.timeline.begins(self.state.epoch) is not None:
            old, new = self.rules, self.timeline.at(self.state.epoch)
            self.state = adopt(self.state, old, new, flagged_by=self.flagged)
            self._follow(self.state.epoch)

    def _skip_to(self, epoch: int) -> None:
        """Close epochs without records."""
        for begin, _ in self.timeline.later:
            if self.state.epoch < begin <= epoch:
                self.state = _skipped(self.state, begin, self.rules)
                self._adopt()
        self.state = _skipped(self.state, epoch, self.rules)

    def outcome(self, miners: Sequence[str]) -> StateOutcome:
        """Return the sums, and the state after the last epoch."""
        self._note_state()
        has_rounds = round_score(self.rules.rule_set) is not None
        return StateOutcome(
            first=self.first,
            epochs=self.state.epoch - self.first,
            final=self.epochs[-1],
            emission={name: _counts(sums, miners) for name, sums in self.emission.items()},
            quality={name: _counts(sums, miners) for name, sums in self.quality.items()},
            round_scores=_counts(self.scores, miners) if has_rounds else None,
            rounds=_counts(self.rounds, miners),
            defects=tuple(self.defects),
            displaced=tuple(sorted(self.displaced)),
        )

    def _note_state(self) -> None:
        """Note the state as an epoch begins."""
        miners = self.state.miners.items()
        self.epochs.append(
            EpochState(
                candidate=self.position,
                epoch=self.state.epoch,
                records=self.records,
                thresholds=self.state.thresholds,
                reputations={hotkey: dict(miner.reputation) for hotkey, miner in miners},
            )
        )

    def _sum(self, events: Sequence[StateEvent]) -> None:
        rounds = defaultdict[int, list[StateEvent]](list)
        for event in events:
            rounds[event.round].append(event)
            if event.quality is not None:
                self.quality[event.skill_type][event.hotkey] += event.quality
            if event.emission is not None:
                self.emission[event.skill_type][event.hotkey] += event.emission
        for of_round in rounds.values():
            for hotkey, score in round_scores(of_round, self.rules, self._reputation).items():
                self.scores[hotkey] += score
                self.rounds[hotkey] += 1

    def _reputation(self, event: StateEvent) -> int:
        return pinned_reputation(self.state, self.rules, event.hotkey, event.skill_type)

    def _events(self, rows: FactRows) -> Iterable[tuple[int, StateEvent]]:
        """Return the lines and events of the records of one type that are accepted."""
        if rows.skill_type not in self.scorer.types:
            return ()
        valid, refused = judged(rows, self.scorer)
        events, scored, failed = isolated(self._scored, rows.select(valid), identity_at)
        self.defects += [*defects_of(refused), *failed]
        return zip(scored.record.tolist(), events, strict=True)

    def _distinct(self, events: Iterable[tuple[int, StateEvent]]) -> list[StateEvent]:
        """Return the first event of each record; the lines of the others are displaced."""
        first: dict[tuple[str, str, str, str, int], StateEvent] = {}
        for line, event in events:
            if first.setdefault(_SAME(event), event) is not event:
                self.displaced.append(line)
        return list(first.values())

    def _scored(self, rows: FactRows) -> list[StateEvent]:
        """Return the events of accepted records of one type."""
        bound = self.scorer.types[rows.skill_type]
        if bound.group is not None and rows.group is None:
            raise InputError(
                "found facts alone, expected records: with states the miners of the rule set have "
                f"groups by the field {bound.group}, which no facts file keeps"
            )
        if bound.group is None:
            rows = attrs.evolve(rows, group=None)  # another candidate asked for it
        answered = rows.select(rows.answered)
        tracked = self.state.thresholds.get(bound.name, {})
        thresholds = bound.tiers.thresholds(tracked) if bound.tiers is not None else {}
        scores = columns_of(bound).score(answered.facts.__getitem__, thresholds, len(answered))
        agreed: list[int | None] = [None] * len(answered)
        for factor in bound.factors:
            if factor.name == CONSENSUS:
                agreed = _applying(scores.columns[factor], scores.given.get(factor))
        emission: list[int | None] = [None] * len(answered)
        if scores.emission is not None:
            emission = scores.emission.tolist()
        quality: list[int | None] = [None] * len(answered)
        if bound.has_quality:
            quality = scores.quality.tolist()
        scored = zip(quality, emission, agreed, _measures(scores, len(answered)), strict=True)
        return [
            self._event(rows.skill_type, who, next(scored) if is_answered else _NOTHING)
            for who, is_answered in zip(_who(rows), rows.answered.tolist(), strict=True)
        ]

    def _event(self, skill_type: str, who: _Who, scored: _Values) -> StateEvent:
        validator, hotkey, task_id, role, events, group, number, epoch, missed = who
        quality, emission, agreed, measures = scored
        consensus = None if agreed is None else self.consensus_event(agreed)
        return StateEvent(
            validator=validator,
            hotkey=hotkey,
            skill_type=skill_type,
            task_id=task_id,
            round=number,
            epoch=epoch,
            events=events_of_record(events or (), consensus),
            role=role,
            missed=missed,
            quality=quality,
            emission=emission,
            measures=measures,
            group=group,
        )


def _measures(scores: ScoreColumns, rows: int) -> list[dict[str, int | Fraction]]:
    """Return the measures that apply to each row, as a state takes them."""
    by_row: list[dict[str, int | Fraction]] = []
    by_row += ({} for _ in range(rows))
    for value in scores.bound.measures:
        column = scores.ratios[value] if value in scores.ratios else scores.columns[value]
        for measures, measure in zip(
            by_row, _applying(column, scores.given.get(value)), strict=True
        ):
            if measure is not None:
                measures[value.name] = measure
    return by_row


def _applying(values: Any, applies: Truths | None) -> list[Any]:  # noqa: ANN401  # nano or ratios
    every: list[Any] = values.tolist()
    if applies is None:
        return every
    return [value if there else None for value, there in zip(every, applies.tolist(), strict=True)]


def _who(rows: FactRows) -> Iterator[_Who]:
    """Yield the identities of the records, one after the other."""
    groups = pa.nulls(len(rows)) if rows.group is None else rows.group
    texts = (rows.validator, rows.miner_hotkey, rows.task_id, rows.role, rows.events, groups)
    return zip(
        *(pa.array(column).to_pylist() for column in texts),
        rows.round.tolist(),
        rows.epoch.tolist(),
        rows.missed.tolist(),
        strict=True,
    )


_SAME = attrgetter("validator", "hotkey", "skill_type", "task_id", "round")


def _registered(
    miners: Mapping[str, MinerEntry], rules: StateRules, types: Mapping[str, frozenset[str]]
) -> dict[str, MinerEntry]:
    """Register each miner for the types of the rule set that it has records of.

    A type that is new to a miner has the initial reputation.
    """
    has_reputation = rules.rule_set.section(REPUTATION) is not None
    initial = initial_reputation(rules) if has_reputation else 0
    registered = dict(miners)
    for hotkey, names in types.items():
        miner = miners.get(hotkey, MinerEntry(hotkey, None, (), {}))
        new = names & rules.rule_set.skill_types.keys() - set(miner.types)
        if new:
            start = dict.fromkeys(sorted(new), initial) if has_reputation else {}
            registered[hotkey] = attrs.evolve(
                miner,
                types=tuple(sorted({*miner.types, *new})),
                reputation={**start, **miner.reputation},
            )
    return dict(sorted(registered.items()))


def _skipped(state: State, epoch: int, rules: StateRules) -> State:
    """Close epochs without records; once one changes nothing, none does."""
    while state.epoch < epoch:
        after = close_epoch(state, (), rules, {})
        if attrs.evolve(after, epoch=state.epoch) == state:
            return attrs.evolve(state, epoch=epoch)
        state = after
    return state


def _counts(sums: Mapping[str, int], miners: Sequence[str]) -> Counts:
    return tuple(sums.get(hotkey, 0) for hotkey in miners)


def replays(
    reader: Reader,
    candidates: Sequence[Candidate],
    outcome: Outcome,
    on_epoch: OnEpoch,
    executor: Executor,
) -> Generator[StateOutcome, None, None]:
    """Replay the epochs of a history under each candidate, in their order.

    Args:
        reader: the history.
        candidates: the rule sets.
        outcome: what the history comes to without epochs.
        on_epoch: takes the states.
        executor: who replays.

    Raises:
        StateError: a rule set has no epochs.
        InputError: the history cannot be read.
        EngineError: the workers cannot be used.
    """
    calendar = calendar_of(reader, outcome.history.defects)
    miners = tuple(miner.hotkey for miner in outcome.miners)
    function = PortableFunction(
        lambda: ReplaySpec(
            tuple(ScorerSpec.of(candidate.rules) for candidate in candidates),
            # workers may have another working directory
            reader.path.absolute(),
            outcome.history.digest,
            calendar,
            miners,
        ),
        Replay(candidates.__getitem__, lambda _: reader, calendar, miners),
    )
    with closing(executor.map(function, range(len(candidates)))) as replayed:
        for replay, epochs in replayed:
            for state in epochs:
                on_epoch(state)
            yield replay


@attrs.frozen(eq=False)
class Replay:
    """Replays a history under the candidate at a position; a function that executors map.

    Attributes:
        candidate: the candidate at a position.
        reader: the history as a candidate needs it.
        calendar: of the history.
        miners: the hotkeys in the order of the outcome's counts.
    """

    candidate: Callable[[int], Candidate]
    reader: Callable[[Candidate], Reader]
    calendar: Calendar
    miners: tuple[str, ...]

    def __call__(self, position: int) -> tuple[StateOutcome, list[EpochState]]:
        """Return the sums and the last state of one candidate, and its states in their order.

        Raises:
            EngineError: the worker is not like the process that began it.
            InputError: the history cannot be read, or is another one than before.
            StateError: the rule set has no epochs.
        """
        candidate = self.candidate(position)
        timeline = Timeline(candidate.rules, candidate.rules.later).map(state_rules_of)
        for rules in timeline.values():
            if rules.rule_set.section(EPOCHS) is None:
                raise StateError(
                    f"found no [epochs] in {rules.rule_set.reference}, expected a rule set that "
                    "has it"
                )
        run = _EpochReplay(position, candidate.rules, timeline, self.calendar)
        for epoch, parts in _by_epoch(self.reader(candidate), self.calendar):
            run.close(epoch, parts)
        return run.outcome(self.miners), run.epochs


@attrs.frozen(eq=False)
class ReplaySpec:
    """The arguments of a `Replay` as a value that workers can be sent.

    Attributes:
        scorers: the rule sets.
        path: of the history.
        digest: of the history, by which another one of that name is known.
        calendar: of the history.
        miners: the hotkeys in the order of the outcome's counts.
    """

    scorers: tuple[ScorerSpec, ...]
    path: Path
    digest: str
    calendar: Calendar = attrs.field(repr=False)
    miners: tuple[str, ...] = attrs.field(repr=False)

    def make(self) -> Replay:
        """Return the function, which binds a candidate when it is its turn."""
        return Replay(
            lambda position: Candidate.of_spec(self.scorers[position]),
            self._reader,
            self.calendar,
            self.miners,
        )

    def _reader(self, candidate: Candidate) -> Reader:
        check_unchanged(self.path, self.digest)
        return reader_of(self.path, [candidate])
