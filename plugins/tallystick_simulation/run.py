"""Runs of networks: the closed loop from strategies to weights.

In every round each skill type has a group, selected by the state as the epoch began, and some tasks
of a pool. Each member answers by its strategy; the group has a consensus; the answers are scored in
columns; they close the epoch, whose state weighs the miners and selects the next groups. Everything
is the engine's own; what is made up are the answers.

The same seed gives the same bytes. Tasks, and who would be caught, do not depend on strategies: two
runs that differ in one participant's strategy differ by nothing else.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import attrs
import numpy as np

from tallystick.errors import InputError
from tallystick.formula.columns import Column, Truths
from tallystick.numbers.nano import NANO
from tallystick.records.messages import shown
from tallystick.records.schema import MISSED
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.planner import ScoreColumns
from tallystick_allocation.population import EMISSION, QUALITY
from tallystick_consensus.group_record import CONSENSUS
from tallystick_simulation.dispatch import NO_PENALTY, Dispatch, Dispatcher
from tallystick_simulation.network import Network, NetworkRun, Participant
from tallystick_simulation.pool import Pool
from tallystick_simulation.switches import Switches
from tallystick_simulation.type_run import ROLES, TypeRun, types_of
from tallystick_state.collusion import Alignments, Owner, Pair
from tallystick_state.epoch_columns import NOTHING_YET, EpochOutcome, Memory, close
from tallystick_state.event import StateEvent
from tallystick_state.miners import register, retire, without_slots
from tallystick_state.model import State
from tallystick_state.record_columns import (
    Coded,
    Numbers,
    RecordColumns,
    alike,
    combined,
    consensus_events,
    values_of,
)
from tallystick_state.reputation import clamped, events_of_record
from tallystick_state.rules import EpochRules, StateRules, state_rules_of

_TABLES = (
    "weights",
    "tasks",
    "answers",
    "work",
    "quality",
    "emission",
    "tiers",
    "reputations",
    "caught",
)
_HOTKEY = 47
"""Digits of a hotkey after its first character."""
_FIRST, _OTHER = "0", "5"
"""First characters of hotkeys that are chosen to come first, and of others."""
_NO_CONSENSUS = -1


def run(network: Network, pool: Pool) -> NetworkRun:
    """Return what becomes of a network.

    Args:
        network: the rules and the participants.
        pool: has the tasks and the answers.

    Raises:
        InputError: the rules read of records what a simulation cannot put in, or a participant
            cannot be.
        StateError: the rules cannot be those of a state.
    """
    return _Loop(network, pool).run()


_rules: WeakKeyDictionary[BoundRules, StateRules] = WeakKeyDictionary()
"""The rules of states, whose formulas are proved once for all runs."""


def _rules_of(rules: BoundRules) -> StateRules:
    if rules not in _rules:
        _rules[rules] = state_rules_of(rules)
    return _rules[rules]


class _Loop:
    """The loop of one network."""

    def __init__(self, network: Network, pool: Pool) -> None:
        self.network, self.people = network, network.participants
        _check(self.people)
        self.rules = _rules_of(network.rules)
        self.types = types_of(network.rules, pool)
        self.closer = _Closer(self.rules)
        self.switches = Switches.of(network.rules)
        self.dispatcher = Dispatcher(network, self.rules, self.switches, {}, set())
        self.hotkeys: list[list[str]] = [[] for _ in self.people]
        self.state = self._begin()
        self.first = self.state.epoch

    def run(self) -> NetworkRun:
        """Return the outcome of all epochs."""
        shape = self.network.epochs, len(self.people)
        tables = {name: np.zeros(shape, np.int64) for name in _TABLES}
        nobody, refused = np.zeros(self.network.epochs, np.int64), dict[int, str]()
        for index in range(self.network.epochs):
            self._register(index)
            row = {name: table[index] for name, table in tables.items()}
            row["tiers"][:] = row["reputations"][:] = -1
            closed = self.closer.close(self.state, *self._epoch(index, row))
            self.switches.close(self.rules, closed.outcome, closed.flags)
            self.state = closed.outcome.state
            owner = self.dispatcher.owner
            for key, weight in closed.outcome.weighed.weights.items():
                if key in owner:
                    row["weights"][owner[key]] += weight
            nobody[index] = max(0, NANO - int(row["weights"].sum()))
            if closed.outcome.weighed.refused:
                refused[index] = closed.outcome.weighed.refused
            self._reputations(row["reputations"])
        return NetworkRun(
            names=tuple(person.name for person in self.people),
            nobody=nobody,
            refused=refused,
            not_exercised=self.switches.not_exercised,
            state=self.state,
            **tables,
        )

    def _begin(self) -> State:
        """Return the state before the first epoch, in which no miner has a slot."""
        return without_slots(self.network.state or State(0, {}, self.rules.seeds))

    def _register(self, index: int) -> None:
        """Register who joins, or takes a new hotkey, and retire who leaves."""
        for place, person in enumerate(self.people):
            if person.leaves == index:
                for hotkey in self.hotkeys[place]:
                    self.state = retire(self.state, hotkey)
                self.hotkeys[place] = []
            renewed = person.strategy.renewed
            since = index - person.joins
            is_due = since == 0 or (renewed is not None and since > 0 and since % renewed == 0)
            if is_due and (person.leaves is None or index < person.leaves):
                self._give_slots(place, since)

    def _give_slots(self, place: int, since: int) -> None:
        """Register the hotkeys of a participant in its slots."""
        person, known = self.people[place], self.types.keys()
        types = known if person.types is None else person.types & known
        hotkeys = []
        for number, uid in enumerate(self._slots[place]):
            hotkey = self._hotkey(person, number, since)
            self.state = register(self.state, EpochRules((self.rules,)), hotkey, uid, types)
            if person.reputation is not None and since == 0:
                self.state = self._reputed(hotkey, person.reputation)
            self.dispatcher.owner[hotkey] = place
            hotkeys.append(hotkey)
        self.hotkeys[place] = hotkeys
        if person.replaces is not None:
            self.hotkeys[self._by_name[person.replaces]] = []

    def _reputed(self, hotkey: str, reputation: int) -> State:
        """Return the state in which a miner has a reputation for all its types, within bounds."""
        miner = self.state.miners[hotkey]
        own = {name: clamped(self.rules, reputation) for name in miner.reputation}
        miners = {**self.state.miners, hotkey: attrs.evolve(miner, reputation=own)}
        return attrs.evolve(self.state, miners=miners)

    @cached_property
    def _by_name(self) -> Mapping[str, int]:
        return {person.name: place for place, person in enumerate(self.people)}

    @cached_property
    def _slots(self) -> Mapping[int, Sequence[int]]:
        """The slots of each participant; who replaces another has the first of those."""
        slots, free = dict[int, Sequence[int]](), 0
        for place, person in enumerate(self.people):
            if person.replaces is None:
                slots[place] = range(free, free + person.strategy.hotkeys)
                free += person.strategy.hotkeys
        for place, person in enumerate(self.people):
            if person.replaces is not None:
                slots[place] = slots[self._by_name[person.replaces]][:1]
        return slots

    def _hotkey(self, person: Participant, number: int, since: int) -> str:
        names = f"{self.network.seed}/{person.name}/{number}/{since}"
        digits = hashlib.sha256(names.encode()).hexdigest()[:_HOTKEY]
        return f"{_FIRST if person.strategy.grinds else _OTHER}{digits}"

    def _epoch(
        self, index: int, row: Mapping[str, Column]
    ) -> tuple[list[RecordColumns], dict[str, list[Dispatch]]]:
        """Return the records of an epoch and the dispatches that they are of, and add up."""
        records, every = list[RecordColumns](), dict[str, list[Dispatch]]()
        for name, of_type in self.types.items():
            dispatches = [
                dispatch
                for number in range(index * self.network.rounds, (index + 1) * self.network.rounds)
                if (dispatch := self.dispatcher.dispatch(self.state, of_type, number)) is not None
            ]
            if dispatches:
                records.append(self._records(of_type, _Answers.of(dispatches), row))
                every[name] = dispatches
        return records, every

    def _records(
        self, of_type: TypeRun, answers: _Answers, row: Mapping[str, Column]
    ) -> RecordColumns:
        """Return the records of a type in an epoch, and add up what participants did."""
        bound, answered = of_type.bound, answers.rows >= 0
        count = len(answers.rows)
        consensus = np.full(count, _NO_CONSENSUS, np.int64)
        values: Mapping[str, Numbers] = {}
        if answered.any():
            scores = self._scores(of_type, answers.take(answered))
            self.switches.scores(scores)
            for factor in bound.factors:
                if factor.name == CONSENSUS:
                    applies = scores.given.get(factor)
                    published = scores.columns[factor]
                    consensus[answered] = (
                        published
                        if applies is None
                        else np.where(applies, published, _NO_CONSENSUS)
                    )
            if scores.level is not None:
                np.maximum.at(row["tiers"], answers.places[answered], scores.level)
            values = values_of(scores, answered, count)
        self._add_up(of_type, answers, row, values)
        return self._columns(of_type, answers, consensus, values)

    def _scores(self, of_type: TypeRun, answers: _Answers) -> ScoreColumns:
        numbers, places = np.unique(answers.numbers, return_inverse=True)
        values = {
            "role": (ROLES, answers.roles),
            CONSENSUS: (of_type.groups.every, answers.consensus),
            "epoch": ((self.state.epoch,), np.zeros(len(answers.rows), np.int64)),
            "round": (numbers.tolist(), places),
        }
        tiers, tracked = of_type.bound.tiers, self.state.thresholds.get(of_type.bound.name, {})
        return of_type.scores(
            answers.rows, values, {} if tiers is None else tiers.thresholds(tracked)
        )

    def _add_up(
        self,
        of_type: TypeRun,
        answers: _Answers,
        row: Mapping[str, Column],
        values: Mapping[str, Numbers],
    ) -> None:
        answered, places = answers.rows >= 0, answers.places
        np.add.at(row["tasks"], places, 1)
        np.add.at(row["answers"], places, answered)
        for name in (QUALITY, EMISSION):
            if name in values:
                np.add.at(row[name], places, values[name].values)
        np.add.at(row["caught"], places, answers.penalties != NO_PENALTY)
        costs = self._costs(of_type, answers)
        # several hotkeys of one participant give an answer that is made once
        order, starts = alike(
            *(column[answered] for column in (places, answers.numbers, answers.tasks))
        )
        first = order[starts]
        np.add.at(row["work"], places[answered][first], costs[answered][first])

    def _costs(self, of_type: TypeRun, answers: _Answers) -> Column:
        """Return the cost of each answer: of one with less accuracy as much less."""
        places = answers.places.tolist()
        strategies = {place: self.dispatcher.strategy(place) for place in {*places}}
        costs = np.array([strategies[place].cost for place in places], np.int64)
        for place, strategy in strategies.items():
            if strategy.chooses == "least_work":
                own = answers.places == place
                accuracies = of_type.pool.accuracies(np.maximum(answers.rows[own], 0))
                costs[own] = strategy.cost * accuracies // max(1, self.people[place].accuracy)
        return costs

    def _columns(
        self,
        of_type: TypeRun,
        answers: _Answers,
        consensus: Column,
        values: Mapping[str, Numbers],
    ) -> RecordColumns:
        """Return the records of answers as each validator has them."""
        bound, count, many = of_type.bound, len(answers.rows), self.network.validators
        events = self._events(of_type, answers, consensus)
        self.switches.records(events.names, answers.roles)
        every = np.tile(np.arange(count), many)
        epochs = np.full(count, self.state.epoch, np.int64)
        tasks = tuple(f"task-{number}" for number in range(self.network.tasks))
        one = RecordColumns(
            bound.name,
            Coded(np.zeros(count, np.int64), ("",)),
            answers.hotkeys,
            Coded(answers.tasks, tasks),
            Coded(answers.roles, ROLES),
            events,
            answers.numbers,
            epochs,
            answers.rows < 0,
            answers.rows >= 0,
            values,
        )
        validators = tuple(f"validator-{number}" for number in range(many))
        return attrs.evolve(
            one.take(every), validator=Coded(np.repeat(np.arange(many), count), validators)
        )

    def _events(
        self, of_type: TypeRun, answers: _Answers, consensus: Column
    ) -> Coded[tuple[str, ...]]:
        """Return the events of each record, with that of its consensus."""
        codes, names = of_type.pool.events(np.maximum(answers.rows, 0))
        arisen = consensus_events(self.rules, consensus)

        def events(
            reported: tuple[str, ...], penalty: tuple[str, ...], event: str | None
        ) -> tuple[str, ...]:
            return events_of_record((*reported, *penalty), event)

        return combined(
            events,
            Coded(np.where(answers.rows >= 0, codes + 1, 0), ((MISSED,), *names)),
            Coded(answers.penalties + 1, ((), *((name,) for name in self.dispatcher.penalties))),
            Coded(np.where(consensus == _NO_CONSENSUS, 0, arisen.codes), arisen.names),
        )

    def _reputations(self, row: Column) -> None:
        """Note the reputations as an epoch ends, and who defects from now on."""
        for place, person in enumerate(self.people):
            miners = (self.state.miners[hotkey] for hotkey in self.hotkeys[place])
            values = [
                nano
                for miner in miners
                for name, nano in miner.reputation.items()
                if name in miner.types
            ]
            if values:
                row[place] = sum(values) // len(values)
            strategy = person.strategy
            if strategy.then is not None:
                since = self.state.epoch - self.first - person.joins
                is_good = strategy.reputation is not None and row[place] >= strategy.reputation
                if since >= strategy.after or is_good:
                    self.dispatcher.defected.add(place)


@attrs.frozen
class _ClosedEpoch:
    """The end of an epoch.

    Attributes:
        outcome: state and weights.
        flags: those that the engine gave for collusion.
    """

    outcome: EpochOutcome
    flags: tuple[StateEvent, ...]


@attrs.define(eq=False)
class _Closer:
    """Closes the epochs of a simulation, one after the other.

    Attributes:
        rules: of all epochs.
    """

    rules: StateRules
    _memory: Memory = attrs.field(default=NOTHING_YET, init=False)
    _alignments: Alignments = attrs.field(factory=Alignments, init=False)

    def close(
        self,
        state: State,
        records: Sequence[RecordColumns],
        dispatches: Mapping[str, Sequence[Dispatch]],
    ) -> _ClosedEpoch:
        """Close the open epoch with the records of its rounds.

        Args:
            state: as the epoch began, whose rounds are pinned to it.
            records: of the rounds, by skill type.
            dispatches: of the rounds, by skill type.
        """
        for alignments in _alignments_of(dispatches):
            self._alignments.add(*alignments)
        flags = tuple(self._alignments.flags(state.epoch, lambda _: self.rules))
        outcome = close(
            state,
            records,
            self.rules,
            {state.epoch: state},
            alone=flags,
            memory=self._memory,
        )
        self._memory = outcome.memory
        return _ClosedEpoch(outcome, flags)


def _alignments_of(
    dispatches: Mapping[str, Sequence[Dispatch]],
) -> Iterator[tuple[Owner, int, list[Pair]]]:
    """Yield the alignments of each member of a group in its round."""
    for name, of_type in dispatches.items():
        for dispatch in of_type:
            for hotkey, alignments in zip(dispatch.hotkeys, dispatch.alignments, strict=True):
                pairs = [alignment for alignment in alignments if alignment is not None]
                if pairs:
                    yield (hotkey, name), dispatch.number, pairs


@attrs.frozen(eq=False)
class _Answers:
    """The answers of dispatches of one type, a row each.

    Attributes:
        hotkeys: by which they were given.
        places: of the participants.
        roles: codes.
        numbers: of the rounds.
        tasks: numbers of the tasks in their rounds.
        rows: of the pool; -1 for no answer.
        consensus: places among those of the type.
        penalties: places among the penalties; -1 for none.
    """

    hotkeys: Coded[str]
    places: Column
    roles: Column
    numbers: Column
    tasks: Column
    rows: Column
    consensus: Column
    penalties: Column

    @classmethod
    def of(cls, dispatches: Sequence[Dispatch]) -> _Answers:
        """Return the answers of some dispatches, one after the other."""
        codes: dict[str, int] = {}
        tasks = dispatches[0].rows.shape[1]
        for dispatch in dispatches:
            for hotkey in dispatch.hotkeys:
                codes.setdefault(hotkey, len(codes))
        members = [np.array([codes[hotkey] for hotkey in d.hotkeys]) for d in dispatches]

        def of_members(columns: Sequence[Column]) -> Column:
            return np.repeat(np.concatenate(columns), tasks)

        def of_answers(tables: Sequence[Any]) -> Column:
            return np.concatenate([table.reshape(-1) for table in tables])

        count = sum(map(len, members))
        return cls(
            Coded(of_members(members), tuple(codes)),
            of_members([dispatch.places for dispatch in dispatches]),
            of_members([dispatch.roles for dispatch in dispatches]),
            of_members([np.full(len(d.hotkeys), d.number, np.int64) for d in dispatches]),
            np.tile(np.arange(tasks), count),
            of_answers([dispatch.rows for dispatch in dispatches]),
            of_answers([dispatch.consensus for dispatch in dispatches]),
            of_answers([dispatch.penalties for dispatch in dispatches]),
        )

    def take(self, rows: Truths) -> _Answers:
        """Return some of the answers."""
        if rows.all():
            return self
        taken = {
            field.name: getattr(self, field.name)[rows]
            for field in attrs.fields(_Answers)
            if field.name != "hotkeys"
        }
        return _Answers(hotkeys=self.hotkeys.take(rows), **taken)


def _check(people: Sequence[Participant]) -> None:
    """Refuse participants that cannot be.

    Raises:
        InputError: two have one name, or one replaces nobody.
    """
    names = Counter(person.name for person in people)
    for name, count in names.items():
        if count > 1:
            raise InputError(f"found {count} participants {shown(name)}, expected different names")
    first = {person.name for person in people if person.replaces is None}
    for person in people:
        if person.replaces is not None and person.replaces not in first:
            raise InputError(
                f"found that {shown(person.name)} replaces {shown(person.replaces)}, expected the "
                "name of a participant that replaces nobody"
            )
