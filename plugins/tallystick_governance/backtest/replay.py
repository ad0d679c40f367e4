"""Replay: the epochs of a history under one candidate, by the pure transitions of the state.

The records of an epoch are scored in columns by the snapshot that they are pinned to, close it, and
are weighed (`tallystick_state.epoch_columns`). Of records that the same validator gave of one
miner, task and round in an epoch the first counts. The result is what a ledger gives that is fed
the same records, epoch by epoch. A record on which the engine fails is left out.

A replay *follows* where thresholds and reputations lead from epoch to epoch. Where it does not,
every epoch begins with those of a new network; windows and carried columns move all the same.

Every miner of the history is registered from the beginning, for the types that it has records of,
and holds a slot. Who has its first record after the last one of another miner of that slot takes
the slot over as that epoch begins.

Records of an epoch wait until all of them were read; so a history in the order of its epochs needs
little memory. In this process the replays of a few candidates that do not follow are one pass over
the history; all others have one of their own. A worker reads the history by its path. It gives the
states of a candidate back with the outcome, so those of a few candidates wait in memory for their
turn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, get_args

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tallystick.errors import InputError, StateError
from tallystick.io.arrow import decoded
from tallystick.records.defects import defects_of
from tallystick.records.rejects import Reject
from tallystick.scoring.bound import BoundType
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.executors.executor import Executor
from tallystick.scoring.executors.portable import PortableFunction
from tallystick.scoring.facts.batch import FactRows
from tallystick.scoring.facts.isolation import isolated
from tallystick.scoring.facts.results import accepted_by
from tallystick.scoring.planner import ScoreColumns, score_columns
from tallystick_allocation.population import EMISSION
from tallystick_allocation.rules import round_score
from tallystick_consensus.group_record import CONSENSUS
from tallystick_governance.backtest.candidates import Candidate
from tallystick_governance.backtest.group_history import GroupFlags, GroupHistory, own_facts, under
from tallystick_governance.backtest.history import (
    Reader,
    ReaderSpec,
    check_unchanged,
)
from tallystick_governance.backtest.miner_calendar import Calendar, coded
from tallystick_governance.backtest.outcome import (
    EpochState,
    Outcome,
    StateOutcome,
    WeightOutcome,
)
from tallystick_simulation.switches import event, of_rules, of_scores, of_weights, role
from tallystick_state.adoption import adopt
from tallystick_state.attributes import NO_ATTRIBUTES
from tallystick_state.epoch_columns import NOTHING_YET, EpochOutcome, close
from tallystick_state.miners import without_slots
from tallystick_state.model import MinerEntry, State
from tallystick_state.record_columns import (
    Coded,
    RecordColumns,
    alike,
    combined,
    consensus_events,
    counts_of,
    first_of_each,
    total_of,
    values_of,
)
from tallystick_state.reputation import events_of_record
from tallystick_state.roles import Role
from tallystick_state.rules import StateRules, state_rules_of
from tallystick_state.sections.reputation import REPUTATION

_TOGETHER = 8
"""Maximum number of candidates that are replayed in one pass over the history."""
_BETWEEN = "\n"
"""Separator of the names of events in a text; no name has it."""
_LATE, _MISSED = "late submission", "missed deadline without a submission"
_SEVERAL = "several validators of a task"
_NEWCOMER, _ABSENT, _REPLACED = "newcomer", "absent miner", "replaced hotkey"
_ALWAYS = (_LATE, _MISSED, _SEVERAL, _NEWCOMER, _ABSENT, _REPLACED)
"""Switches of every rule set: parts of it that only some records, miners or epochs reach."""


@attrs.frozen(eq=False)
class Start:
    """The beginning of a replay in a network that lives.

    Attributes:
        state: as the first epoch begins, whatever its number; its windows are not known, and
            begin empty.
        rules: by line, the rules that lead to it; a candidate of a line adopts it from them.
    """

    state: State
    rules: Mapping[str, StateRules]

    def under(self, candidate: BoundRules, epoch: int) -> State:
        """Return the state as an epoch begins with the rules of a candidate."""
        rules = state_rules_of(candidate)
        # no history has all records of a state: its first epoch is the first here
        state = attrs.evolve(self.state, epoch=epoch)
        before = self.rules.get(rules.line)
        if before is not None and before.digest != rules.digest:
            state = adopt(state, before, rules)
        return attrs.evolve(state, thresholds={**rules.seeds, **state.thresholds})


@attrs.frozen
class ReplayOptions:
    """Options of replays, the same for all candidates; a value that workers can be sent.

    Attributes:
        calendar: of the history.
        starts: by position of a candidate, the state as the first epoch begins; None for a new
            network.
        follows: whether thresholds and reputations follow from epoch to epoch.
    """

    calendar: Calendar = attrs.field(repr=False)
    starts: tuple[State, ...] | None = attrs.field(repr=False)
    follows: bool


class _EpochReplay:
    """One candidate on its way through the epochs."""

    def __init__(
        self,
        position: int,
        candidate: Candidate,
        options: ReplayOptions,
        groups: GroupHistory | None = None,
    ) -> None:
        """Begin a new network, or a given one.

        Args:
            position: of the candidate.
            candidate: the rules, and those that it adopts.
            options: of the replay.
            groups: of the history, if any.
        """
        calendar = options.calendar
        own = None if groups is None else groups.groups_of(candidate)
        self.groups = None if own is None else GroupFlags(own)
        self.variant, rules = candidate.variant, candidate.rules
        self.position, self.calendar, self.follows = position, calendar, options.follows
        self.epochs = list[EpochState]()
        self.all_rules = rules
        self.timeline = rules.timeline.map(state_rules_of)
        self.state, self.memory = State(0, {}, self.timeline.first.seeds), NOTHING_YET
        self.flagged: dict[str, Counter[str]] = defaultdict(Counter)
        self.first = calendar.first
        self.defects, self.displaced = list[Reject](), list[int]()
        self.records = 0
        self.emission, self.scores = Counter[str](), Counter[str]()
        self.weighed, self.unknown = list[tuple[int, Mapping[str, int], str]](), ""
        self.switches, self.present = Counter[str](), set[str]()
        self.replaced = calendar.replaced()
        self.slots = {*calendar.tenures} - {*self.replaced}
        if options.starts is not None:
            self._begin_with(options.starts[position])
        self._follow(0)

    def _begin_with(self, state: State) -> None:
        """Begin with the miners, thresholds and carried columns of a state."""
        known = {hotkey: miner.uid for hotkey, miner in state.miners.items()}
        self.slots -= {hotkey for hotkey, uid in known.items() if uid is None}
        self.slots |= {hotkey for hotkey, uid in known.items() if uid is not None}
        self.replaced = {new: old for new, old in self.replaced.items() if new not in known}
        self.state = state

    def close(self, epoch: int, parts: Iterable[FactRows]) -> None:
        """Close the epochs up to one, and this one with its records."""
        if self.unknown and not self.follows:
            return
        self._skip_to(epoch)
        self._seat(epoch)
        self._note_state()
        try:
            records = [*self._records(parts)]
            outcome = self._closed(epoch, records)
        except (StateError, InputError) as error:
            if self.follows:
                raise
            # a back-test without a replay has a result all the same, but for the weights
            self.unknown = str(error)
            return
        self._sum(records, outcome)
        self._notice(epoch, records, outcome)
        self._weigh(epoch, outcome)
        self.state, self.memory = outcome.state, outcome.memory
        for (hotkey, validator), more in outcome.flags.items():
            self.flagged[hotkey][validator] += more
        self._adopt()
        if not self.follows:
            self._begin_anew()
        self.records = sum(map(len, records))

    def _weigh(self, epoch: int, outcome: EpochOutcome) -> None:
        """Note the weights of an epoch; they are not known where a step lacks an attribute."""
        allocation = self.rules.allocation
        weighed = outcome.weighed
        if weighed.refused and allocation is not None and allocation.attributes:
            self.unknown = self.unknown or weighed.refused
        self.weighed.append((epoch, weighed.weights, weighed.reason))

    def _closed(self, epoch: int, records: Sequence[RecordColumns]) -> EpochOutcome:
        later = {rules.digest: rules for rules in self.timeline.values()}
        flags = [] if self.groups is None else self.groups.of_epoch(epoch, records, self.rules)

        def closed(state: State) -> EpochOutcome:
            return close(
                state,
                records,
                self.rules,
                {epoch: state},
                base_rules=self.timeline.at,
                alone=flags,
                memory=self.memory,
                attributes=NO_ATTRIBUTES,
                later=later.values(),
            )

        if self.unknown:
            return closed(without_slots(self.state))
        try:
            return closed(self.state)
        except StateError as error:
            # what is carried may depend on what no history contains
            outcome = closed(without_slots(self.state))
            self.unknown = str(error)
            return outcome

    def _follow(self, epoch: int) -> None:
        """Go by the rules of an epoch, and register miners for the types that are new in them."""
        self.scorer, self.rules = self.all_rules.rules_at(epoch), self.timeline.at(epoch)
        miners = _registered(self.state.miners, self.rules, self.calendar, self.slots)
        self.state = attrs.evolve(self.state, miners=miners)

    def _seat(self, epoch: int) -> None:
        """Let those whose first record is of an epoch take over a slot."""
        new = {h for h in self.replaced if self.calendar.tenures[h].first == epoch}
        if new:
            self.slots = (self.slots | new) - {self.replaced[hotkey] for hotkey in new}
            miners = _registered(self.state.miners, self.rules, self.calendar, self.slots)
            self.state = attrs.evolve(self.state, miners=miners)

    def _begin_anew(self) -> None:
        """Take the thresholds and reputations of a new network; slots and what is carried stay."""
        state = State(self.state.epoch, {}, self.rules.seeds, self.state.carry)
        flags = {hotkey: miner.flags for hotkey, miner in self.state.miners.items()}
        miners = _registered({}, self.rules, self.calendar, self.slots)
        self.state = attrs.evolve(
            state,
            miners={
                hotkey: attrs.evolve(miner, flags=flags.get(hotkey, 0))
                for hotkey, miner in miners.items()
            },
        )

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

    def outcome(self) -> StateOutcome:
        """Return the sums, and the state after the last epoch."""
        self._note_state()
        has_rounds = round_score(self.rules.rule_set) is not None
        return StateOutcome(
            epochs=self.state.epoch - self.first,
            final=self.epochs[-1],
            emission=self.emission,
            round_scores=self.scores if has_rounds else None,
            defects=tuple(self.defects),
            displaced=tuple(sorted(self.displaced)),
        )

    def weights(self) -> WeightOutcome:
        """Return the weights of each epoch, and how often the history exercised each switch."""
        switches = {name: self.switches[name] for name in sorted(_switches_of(self.all_rules))}
        if self.unknown:
            return WeightOutcome(unknown=self.unknown, switches=switches)
        epochs, weights, reasons = zip(*self.weighed, strict=True) if self.weighed else ((),) * 3
        return WeightOutcome(epochs, weights, reasons, switches=switches)

    def _note_state(self) -> None:
        """Note the state as an epoch begins."""
        if not self.follows:
            return
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

    def _sum(self, records: Iterable[RecordColumns], outcome: EpochOutcome) -> None:
        """Add up what an outcome with states tells, which others do not."""
        if not self.follows:
            return
        for part in records:
            if EMISSION in part.values:
                self.emission[part.skill_type] += total_of(part.values[EMISSION].values)
        for of_round in outcome.round_scores.values():
            self.scores.update(of_round)

    def _notice(self, epoch: int, records: Iterable[RecordColumns], outcome: EpochOutcome) -> None:
        """Count the switches that an epoch exercised."""
        present = set[str]()
        for part in records:
            names = part.hotkey.names
            present |= {names[code] for code in np.unique(part.hotkey.codes).tolist()}
            self._exercised(_of_records(part))
        self._exercised(of_weights(outcome.weighed.allocation))
        tenures = self.calendar.tenures
        away = (h for h, t in tenures.items() if t.first < epoch < t.last and h not in present)
        began = [h for h in present if self.first < tenures[h].first == epoch]
        self.switches[_ABSENT] += sum(1 for _ in away)
        self.switches[_NEWCOMER] += len(began)
        self.switches[_REPLACED] += sum(hotkey in self.replaced for hotkey in began)

    def _exercised(self, counts: Iterable[tuple[str, int]]) -> None:
        for name, count in counts:
            self.switches[name] += count

    def _records(self, parts: Iterable[FactRows]) -> Iterator[RecordColumns]:
        """Yield the records that are accepted, of each type; the first of each counts."""
        for rows in parts:
            if rows.skill_type not in self.scorer.types:
                continue
            own_rows = under(rows, self.variant)
            valid, refused = accepted_by(self.scorer, own_rows)
            columns, scored, failed = isolated(self._scored, valid)
            self.defects += [*defects_of(refused), *failed]
            first = first_of_each(columns)
            self.displaced += np.delete(scored.record, first).tolist()
            yield columns.take(first)

    def _scored(self, rows: FactRows) -> RecordColumns:
        """Return accepted records of one type, scored."""
        bound = self.scorer.types[rows.skill_type]
        if bound.group is not None and rows.group is None:
            raise InputError(
                "found facts alone, expected records: with states the miners of the rule set have "
                f"groups by the field {bound.group}, which no facts file keeps"
            )
        # another candidate may have asked for groups
        group = None if bound.group is None or rows.group is None else coded(rows.group)
        answered = np.flatnonzero(rows.answered)
        scores = self._scores(bound, rows.select(rows.answered))
        return RecordColumns(
            rows.skill_type,
            coded(rows.validator),
            coded(rows.miner_hotkey),
            coded(rows.task_id),
            coded(rows.role),
            self._events(rows, scores, answered),
            rows.round,
            rows.epoch,
            rows.missed,
            rows.answered,
            values_of(scores, answered, len(rows)),
            group,
        )

    def _scores(self, bound: BoundType, answered: FactRows) -> ScoreColumns:
        tracked = self.state.thresholds.get(bound.name, {})
        thresholds = bound.tiers.thresholds(tracked) if bound.tiers is not None else {}
        scores = score_columns(bound, answered.facts.__getitem__, thresholds, len(answered))
        self._exercised(of_scores(bound, scores))
        return scores

    def _events(
        self,
        rows: FactRows,
        scores: ScoreColumns,
        answered: Any,  # noqa: ANN401  # positions
    ) -> Coded[tuple[str, ...]]:
        """Return the events of each record with that of its consensus."""
        reported = coded(pc.binary_join(rows.events.cast(pa.list_(pa.string())), _BETWEEN))
        arisen, names = np.zeros(len(rows), np.int64), tuple[str | None, ...]([None])
        for factor in scores.bound.factors:
            if factor.name == CONSENSUS:
                applies = scores.given.get(factor)
                agreed = consensus_events(self.rules, scores.columns[factor])
                arisen[answered] = agreed.codes if applies is None else agreed.codes * applies
                names = agreed.names

        def events(reported: str, event: str | None) -> tuple[str, ...]:
            return events_of_record(filter(None, reported.split(_BETWEEN)), event)

        return combined(events, reported, Coded(arisen, names))


def _switches_of(rules: BoundRules) -> set[str]:
    """Return the names of the switches of a rule set, and of those that it adopts.

    A change of a part that the history never reaches moves nothing there, and may move everything
    in another history.
    """
    roles = map(role, get_args(Role))
    return {*_ALWAYS, *roles}.union(*(of_rules(own) for _, own in rules.spans()))


def _of_records(records: RecordColumns) -> Iterator[tuple[str, int]]:
    """Yield how often some records are late, of a role, shared by validators, or have an event."""
    yield _LATE, int(np.count_nonzero(records.missed & records.scored))
    yield _MISSED, int(np.count_nonzero(records.missed & ~records.scored))
    roles = np.bincount(records.role.codes, minlength=len(records.role.names)).tolist()
    yield from zip(map(role, records.role.names), roles, strict=True)
    order, starts = alike(records.hotkey.codes, records.task_id.codes, records.round)
    yield _SEVERAL, int(np.count_nonzero(counts_of(order, starts) > 1))
    counts = np.bincount(records.events.codes, minlength=len(records.events.names)).tolist()
    for names, count in zip(records.events.names, counts, strict=True):
        for name in set(names):
            yield event(name), count


def _registered(
    miners: Mapping[str, MinerEntry],
    rules: StateRules,
    calendar: Calendar,
    slots: set[str],
) -> dict[str, MinerEntry]:
    """Register each miner for the types of the rule set that it has records of.

    A type that is new to a miner has the initial reputation. Those with a slot have one of their
    own, whatever its number.
    """
    has_reputation = rules.rule_set.section(REPUTATION) is not None
    initial = rules.initial_reputation if has_reputation else 0
    registered = dict(miners)
    for uid, (hotkey, tenure) in enumerate(sorted(calendar.tenures.items())):
        miner = miners.get(hotkey, MinerEntry(hotkey, None, (), {}))
        new = tenure.types & rules.rule_set.skill_types.keys() - set(miner.types)
        if new:
            start = dict.fromkeys(sorted(new), initial) if has_reputation else {}
            registered[hotkey] = attrs.evolve(
                miner,
                types=tuple(sorted({*miner.types, *new})),
                reputation={**start, **miner.reputation},
            )
        if hotkey in registered:
            slot = uid if hotkey in slots else None
            registered[hotkey] = attrs.evolve(registered[hotkey], uid=slot)
    return dict(sorted(registered.items()))


def _skipped(state: State, epoch: int, rules: StateRules) -> State:
    """Close epochs without records; once one changes nothing, none does."""
    while state.epoch < epoch:
        after = close(state, (), rules, {}).state
        if attrs.evolve(after, epoch=state.epoch) == state:
            return attrs.evolve(state, epoch=epoch)
        state = after
    return state


@attrs.frozen
class Replayed:
    """The replay of one candidate.

    Attributes:
        weights: those of each epoch.
        state: the sums and the state in the end; None of a replay that does not follow.
        epochs: the states as epochs with records begin, and after the last.
    """

    weights: WeightOutcome
    state: StateOutcome | None = None
    epochs: tuple[EpochState, ...] = ()


def replays(
    reader: Reader,
    outcome: Outcome,
    executor: Executor,
    *,
    follows: bool,
    start: Start | None = None,
) -> Generator[Replayed, None, None]:
    """Replay the epochs of a history under each candidate, in their order.

    Args:
        reader: the history, and the candidates.
        outcome: what the history comes to without epochs.
        executor: who replays.
        follows: whether thresholds and reputations follow from epoch to epoch.
        start: what the network is in the beginning; by default a new one.

    Raises:
        InputError: the history cannot be read.
        EngineError: the workers cannot be used.
    """
    calendar = outcome.calendar
    starts = (
        None
        if start is None
        else tuple(start.under(candidate.rules, calendar.first) for candidate in reader.candidates)
    )
    options = ReplayOptions(calendar, starts, follows)

    def here(positions: Sequence[int]) -> list[Replayed]:
        return _replayed(reader.of(positions), positions, options)

    function: Callable[[Sequence[int]], list[Replayed]] = here
    if executor.is_elsewhere:
        function = ReplaySpec(ReaderSpec.of(reader), outcome.history.digest, options)
    # states wait in memory for the end of a replay
    together = 1 if executor.is_elsewhere or follows else _TOGETHER
    many = range(len(reader.candidates))
    tasks = (many[begin : begin + together] for begin in many[::together])
    with closing(executor.map(function, tasks)) as replayed:
        for of_task in replayed:
            yield from of_task


def _replayed(reader: Reader, positions: Sequence[int], options: ReplayOptions) -> list[Replayed]:
    """Return the replay of each candidate of a reader, which are at some positions among all."""
    runs = [
        _EpochReplay(position, candidate, options, reader.groups)
        for position, candidate in zip(positions, reader.candidates, strict=True)
    ]
    for epoch, parts in _by_epoch(reader, options.calendar):
        for run in runs:
            run.close(epoch, parts)
    if not options.follows:
        return [Replayed(run.weights()) for run in runs]
    return [Replayed(run.weights(), run.outcome(), tuple(run.epochs)) for run in runs]


@attrs.frozen(eq=False)
class ReplaySpec(PortableFunction[Sequence[int], list[Replayed]]):
    """The replays of a history as a value that workers can be sent.

    Attributes:
        reader: of the history.
        digest: of the history, by which another one of that name is known.
        options: of the replays.
    """

    reader: ReaderSpec
    digest: str
    options: ReplayOptions

    def make(self) -> Callable[[Sequence[int]], list[Replayed]]:
        """Return the function, which binds a candidate when it is its turn."""
        return self._replayed

    def _replayed(self, positions: Sequence[int]) -> list[Replayed]:
        """Return the replays of the candidates at some positions.

        Raises:
            EngineError: the worker is not like the process that began it.
            InputError: the history cannot be read, or is another one than before.
        """
        reader = self.reader.reader(positions)
        check_unchanged(reader.path, self.digest)
        return _replayed(reader, positions, self.options)


def _without(rows: FactRows, lines: frozenset[int]) -> FactRows:
    return rows.select(~np.isin(rows.record, [*lines])) if lines else rows


def _by_epoch(reader: Reader, calendar: Calendar) -> Iterator[tuple[int, list[FactRows]]]:
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
