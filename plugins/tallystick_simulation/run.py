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
from functools import cached_property, lru_cache

import attrs
import numpy as np

from tallystick.errors import InputError
from tallystick.formula.columns import Column
from tallystick.numbers.nano import NANO, round_half_even
from tallystick.records.messages import shown
from tallystick.records.schema import MISSED
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.planner import ScoreColumns
from tallystick_allocation.population import EMISSION, QUALITY
from tallystick_consensus.group_record import CONSENSUS
from tallystick_simulation.dispatch import Answers, Dispatcher
from tallystick_simulation.network import Network, NetworkRun, Participant
from tallystick_simulation.pool import Pool
from tallystick_simulation.switches import Switches
from tallystick_simulation.type_run import ROLES, TypeRun, types_of
from tallystick_state.epoch_columns import NOTHING_YET, EpochOutcome, close
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
    "answers",
    "work",
    "quality",
    "emission",
    "tiers",
)
_HOTKEY = 47
"""Digits of a hotkey after its first character."""
_FIRST, _OTHER = "0", "5"
"""First characters of hotkeys that are chosen to come first, and of others."""
_NO_CONSENSUS = -1
_VALIDATORS = 2
"""Number of validators that record every answer."""


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


@lru_cache(maxsize=4)
def _rules_of(rules: BoundRules) -> StateRules:
    """Return the rules of a state, whose formulas are proved once for all runs."""
    return state_rules_of(rules)


class _Loop:
    """The loop of one network."""

    def __init__(self, network: Network, pool: Pool) -> None:
        self.network, self.people = network, network.participants
        _check(self.people)
        self.rules = _rules_of(network.rules)
        self.types = types_of(network.rules, pool)
        self.switches = Switches.of(network.rules)
        self.dispatcher = Dispatcher(network, self.rules, self.switches)
        self.hotkeys: list[list[str]] = [[] for _ in self.people]
        self.state, self.memory = self._begin(), NOTHING_YET
        self.first = self.state.epoch

    def run(self) -> NetworkRun:
        """Return the outcome of all epochs."""
        shape = self.network.epochs, len(self.people)
        tables = {name: np.zeros(shape, np.int64) for name in _TABLES}
        burnt, nobody = (np.zeros(self.network.epochs, np.int64) for _ in range(2))
        for index in range(self.network.epochs):
            self._register(index)
            row = {name: table[index] for name, table in tables.items()}
            row["tiers"][:] = -1
            weighed = self._closed([*self._epoch(index, row)]).weighed
            row["weights"][:], burnt[index], nobody[index] = self._shares(weighed.weights)
            self._defect()
        return NetworkRun(
            names=tuple(person.name for person in self.people),
            burnt=burnt,
            nobody=nobody,
            not_exercised=self.switches.not_exercised,
            state=self.state,
            **tables,
        )

    def _shares(self, weights: Mapping[str, int]) -> tuple[list[int], int, int]:
        """Return the shares of an epoch: of each participant, of who is none, and of nobody."""
        owner, amounts = self.dispatcher.owner, [0] * (len(self.people) + 1)
        for key, weight in weights.items():
            amounts[owner.get(key, -1)] += weight
        whole = sum(amounts)
        if not whole:
            return amounts[:-1], 0, NANO
        *own, others = (round_half_even(amount * NANO, whole) for amount in amounts)
        return own, others, 0

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

    def _epoch(self, index: int, row: Mapping[str, Column]) -> Iterator[RecordColumns]:
        """Yield the records of an epoch by skill type, and add up."""
        rounds = range(index * self.network.rounds, (index + 1) * self.network.rounds)
        for of_type in self.types.values():
            groups = (self.dispatcher.answers(self.state, of_type, number) for number in rounds)
            answers = [of_group for of_group in groups if of_group is not None]
            if answers:
                yield self._records(of_type, Answers.joined(answers), row)

    def _closed(self, records: Sequence[RecordColumns]) -> EpochOutcome:
        """Close the open epoch, to whose state its rounds are pinned, and return its end."""
        epoch = self.state.epoch
        flags = self.dispatcher.alignments.flags(epoch, lambda _: self.rules)
        outcome = close(
            self.state,
            records,
            self.rules,
            {epoch: self.state},
            alone=flags,
            memory=self.memory,
        )
        self.switches.close(self.rules, outcome, flags)
        self.state, self.memory = outcome.state, outcome.memory
        return outcome

    def _records(
        self, of_type: TypeRun, answers: Answers, row: Mapping[str, Column]
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

    def _scores(self, of_type: TypeRun, answers: Answers) -> ScoreColumns:
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
        answers: Answers,
        row: Mapping[str, Column],
        values: Mapping[str, Numbers],
    ) -> None:
        answered, places = answers.rows >= 0, answers.places
        np.add.at(row["answers"], places, answered)
        for name in (QUALITY, EMISSION):
            if name in values:
                np.add.at(row[name], places, values[name].values)
        costs = self._costs(of_type, answers)
        # several hotkeys of one participant give an answer that is made once
        order, starts = alike(places[answered], answers.numbers[answered])
        first = order[starts]
        np.add.at(row["work"], places[answered][first], costs[answered][first])

    def _costs(self, of_type: TypeRun, answers: Answers) -> Column:
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
        answers: Answers,
        consensus: Column,
        values: Mapping[str, Numbers],
    ) -> RecordColumns:
        """Return the records of answers as each validator has them."""
        bound, count = of_type.bound, len(answers.rows)
        events = self._events(of_type, answers, consensus)
        self.switches.records(events.names, answers.roles)
        every = np.tile(np.arange(count), _VALIDATORS)
        epochs = np.full(count, self.state.epoch, np.int64)
        one = RecordColumns(
            bound.name,
            Coded(np.zeros(count, np.int64), ("",)),
            answers.hotkeys,
            Coded(np.zeros(count, np.int64), ("task",)),
            Coded(answers.roles, ROLES),
            events,
            answers.numbers,
            epochs,
            answers.rows < 0,
            answers.rows >= 0,
            values,
        )
        validators = tuple(f"validator-{number}" for number in range(_VALIDATORS))
        return attrs.evolve(
            one.take(every), validator=Coded(np.repeat(np.arange(_VALIDATORS), count), validators)
        )

    def _events(
        self, of_type: TypeRun, answers: Answers, consensus: Column
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

    def _defect(self) -> None:
        """Note who defects from now on, as an epoch ends."""
        for place, person in enumerate(self.people):
            strategy = person.strategy
            if strategy.then is not None:
                since = self.state.epoch - self.first - person.joins
                least = strategy.reputation
                is_good = least is not None and self._reputation(place) >= least
                if since >= strategy.after or is_good:
                    self.dispatcher.defected.add(place)

    def _reputation(self, place: int) -> int:
        """Return the mean over the hotkeys of a participant and their types; -1 without any."""
        miners = (self.state.miners[hotkey] for hotkey in self.hotkeys[place])
        values = [
            nano
            for miner in miners
            for name, nano in miner.reputation.items()
            if name in miner.types
        ]
        return sum(values) // len(values) if values else -1


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
