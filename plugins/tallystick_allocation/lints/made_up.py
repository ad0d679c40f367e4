"""Made-up miners: what an allocation pays to ways of working, round after round.

A miner's records have values between the least and the greatest that its rule set allows, so that
two rule sets can be compared whose values differ. Carried columns move once a round, as in a state,
and the weights are those after the last round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import attrs

from tallystick.errors import AllocationError
from tallystick.numbers.nano import NANO
from tallystick.scoring.scorer import Scorer
from tallystick_allocation.allocate import allocate, carry_on, roster
from tallystick_allocation.binding import BoundAllocation
from tallystick_allocation.lints.ranges import TypeRanges, range_of_value, ranges_of_types
from tallystick_allocation.population import (
    BY_TYPE,
    UNGROUPED,
    Attribute,
    Miner,
    Population,
    Sample,
    Task,
)
from tallystick_allocation.proofs import proved_allocation
from tallystick_allocation.rules import ALLOCATION
from tallystick_allocation.steps import Collect
from tallystick_allocation.steps.step import Range

TASKS = 4
"""Number of tasks of a miner in a round."""


@attrs.frozen(eq=False)
class Work:
    """A record.

    Attributes:
        merit: its value, from 0 for the least that is possible to 1 for the greatest; None for a
            missed deadline.
        validators: so many report it.
    """

    merit: Fraction | None
    validators: int = 1


@attrs.frozen(eq=False)
class Way:
    """A way of working.

    Attributes:
        name: the hotkey of who works in it.
        work: the records of a round, from 0; none where the miner was not drawn.
        standing: each factor of a weighted mean, from 0 for its least to 1 for its greatest.
        skill_type: of all records; None for each type in turn.
        owner: who stands behind the hotkey; by default the hotkey alone.
    """

    name: str
    work: Callable[[int], Sequence[Work]]
    standing: Fraction = Fraction(1)
    skill_type: str | None = None
    owner: str = ""


def steady(merit: Fraction, tasks: int = TASKS) -> Callable[[int], Sequence[Work]]:
    """Return the work of who does as many tasks each round, each as well."""
    records = [Work(merit)] * tasks
    return lambda _: records


@attrs.frozen(eq=False)
class MadeUp:
    """The allocation of a rule set, and the ranges of what it collects.

    Attributes:
        bound: the allocation.
        types: the ranges of what records have; one without a name where nothing is known.
        miners: who is weighed: every miner, or those with a record in the last round.
    """

    bound: BoundAllocation
    types: tuple[TypeRanges, ...]
    miners: str

    @classmethod
    def of(cls, scorer: Scorer) -> MadeUp | None:
        """Return that of a rule set; None without an allocation."""
        bound, rules = proved_allocation(scorer), scorer.rule_set.section(ALLOCATION)
        if bound is None or rules is None:
            return None
        types = ranges_of_types(scorer) or (TypeRanges("", {}, {}),)
        return cls(bound, types, rules.miners)

    @property
    def rounds(self) -> int:
        """The number of rounds that miners work: what is carried is computed in each of them."""
        return 40 if self.bound.carried else 120

    def weights(self, ways: Sequence[Way], rounds: int) -> Mapping[str, int] | None:
        """Return the weights after some rounds, in nano, by hotkey; None where a step refuses."""
        population, columns = Population(()), dict[str, Mapping[str, int]]()
        history = _History(self, ways)
        for number in range(rounds):
            history.add(number)
            if not self.bound.carried and number < rounds - 1:
                continue
            population = history.population(columns)
            try:
                columns = dict(carry_on(self.bound, population))
            except AllocationError:
                continue
        if self.miners == "round":
            present = history.present
            population = attrs.evolve(
                population, miners=tuple(m for m in population.miners if m.hotkey in present)
            )
        keys = roster(self.bound, population)
        population = attrs.evolve(population, carry=columns)
        given = {step.name: step.recalled(columns, keys)[step.name] for step in self.bound.carried}
        try:
            weights = allocate(self.bound, population, given).weights
        except AllocationError:
            return None
        return {way.name: weights.get(way.name, 0) for way in ways}


class _History:
    """The records of some ways of working, as samples."""

    def __init__(self, made_up: MadeUp, ways: Sequence[Way]) -> None:
        self._types, self._bound, self._ways = made_up.types, made_up.bound, ways
        collects = [step.rules for step in made_up.bound.steps if isinstance(step.rules, Collect)]
        self._within = {rules.value: rules.within for rules in collects}
        self._windows = {rules.value for rules in collects if rules.records == "window"}
        self._known = frozenset(value for of_type in made_up.types for value in of_type.values)
        self._window: dict[str, _Held] = {value: _held() for value in self._windows}
        self._round: dict[str, _Held] = {}
        self._factors: dict[tuple[Way, TypeRanges], Mapping[str, int]] = {}
        self._worths: dict[tuple[Work, TypeRanges], Mapping[str, int | None]] = {}
        self.present: frozenset[str] = frozenset()

    def add(self, number: int) -> None:
        """Take the records of a round."""
        self._round = {value: _held() for value in self._within}
        work = {way.name: way.work(number) for way in self._ways}
        self.present = frozenset(name for name, records in work.items() if records)
        for way in self._ways:
            for index, record in enumerate(work[way.name]):
                self._record(way, number, index, record)

    def _record(self, way: Way, number: int, index: int, record: Work) -> None:
        # two tasks that follow each other are of one type, and each round begins with another
        place = index // 2 + number
        of_type = next(
            (each for each in self._types if each.name == way.skill_type),
            self._types[place % len(self._types)],
        )
        names = [*self._bound.groups] or [UNGROUPED]
        group = of_type.name if self._bound.group == BY_TYPE else names[place % len(names)]
        task: Task = (number, f"task-{index:04}", of_type.name)
        factors = self._factors_of(way, of_type)
        for value, worth in self._worths_of(record, of_type).items():
            samples = [Sample(worth, task, worth is None, factors)] * record.validators
            self._round[value][group][way.name] += samples
            if value in self._windows:
                self._window[value][group][way.name] += samples

    def _factors_of(self, way: Way, of_type: TypeRanges) -> Mapping[str, int]:
        key = way, of_type
        if key not in self._factors:
            self._factors[key] = {
                name: _between(of_type.factor(name), way.standing) for name in self._bound.factors
            }
        return self._factors[key]

    def _worths_of(self, record: Work, of_type: TypeRanges) -> Mapping[str, int | None]:
        """Return each value that records of the type have, in nano; None where it was missed."""
        key = record, of_type
        if key not in self._worths:
            self._worths[key] = {
                value: None if record.merit is None else self._worth(value, of_type, record.merit)
                for value in self._within
                if value in of_type.values or value not in self._known
            }
        return self._worths[key]

    def _worth(self, value: str, of_type: TypeRanges, merit: Fraction) -> int:
        within = self._within[value]
        if within is not None:
            return _between((Fraction(within[0]), Fraction(within[1])), merit)
        return _between(of_type.values.get(value) or range_of_value(value, self._types), merit)

    def population(self, carry: Mapping[str, Mapping[str, int]]) -> Population:
        """Return the miners with the records so far."""
        bound = self._bound
        miners = tuple(
            Miner(way.name, uid, made_up_attributes(bound.miner_attributes, way.owner or way.name))
            for uid, way in enumerate(self._ways)
        )
        return Population(
            miners,
            self._window,
            of_round=self._round,
            round=made_up_attributes(bound.round_attributes, ""),
            carry=carry,
        )


_Held = dict[str, dict[str, list[Sample]]]


def _held() -> _Held:
    return defaultdict(lambda: defaultdict(list))


def _between(values: Range, part: Fraction) -> int:
    """Return a part of the way between two numbers, in nano."""
    low, high = values
    return round((low + (high - low) * part) * NANO)


def made_up_attributes(asked: Mapping[str, str], text: str) -> dict[str, Attribute]:
    """Return an attribute of each name: a text, no flag, or 0."""
    plain: dict[str, Attribute] = {"a text": text, "a hotkey": text, "a flag": False}
    return {name: plain.get(kind, 0) for name, kind in asked.items()}
