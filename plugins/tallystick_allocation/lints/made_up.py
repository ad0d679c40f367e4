"""Made-up miners: what an allocation pays to ways of working, round after round.

A miner's records have values between the least and the greatest that its rule set allows, so that
two rule sets can be compared whose values differ. Carried columns move once a round, as in a state,
and the weights are those after the last round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache

import attrs

from tallystick.errors import AllocationError
from tallystick.numbers.nano import NANO
from tallystick.scoring.scorer import Scorer
from tallystick_allocation.allocate import allocate, carry_on, roster
from tallystick_allocation.binding import BoundAllocation
from tallystick_allocation.lints.ranges import TypeRanges, ranges_of_types
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
from tallystick_allocation.steps.step import UNIT, Range

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
        population = made_up_population(
            self.bound, {way.name: way.owner or way.name for way in ways}
        )
        window, columns = _held(), dict[str, Mapping[str, int]]()
        for number in range(rounds):
            of_round = _held()
            for way in ways:
                for value, group, samples in self._samples(way, number):
                    window[value][group][way.name] += samples
                    of_round[value][group][way.name] += samples
            population = attrs.evolve(population, samples=window, of_round=of_round, carry=columns)
            with suppress(AllocationError):
                columns = dict(carry_on(self.bound, population))
        if self.miners == "round":
            present = {way.name for way in ways if way.work(rounds - 1)}
            miners = tuple(miner for miner in population.miners if miner.hotkey in present)
            population = attrs.evolve(population, miners=miners)
        keys = roster(self.bound, population)
        population = attrs.evolve(population, carry=columns)
        try:
            weights = allocate(self.bound, population, self.bound.recalled(columns, keys)).weights
        except AllocationError:
            return None
        return {way.name: weights.get(way.name, 0) for way in ways}

    def _samples(self, way: Way, number: int) -> Iterator[tuple[str, str, list[Sample]]]:
        """Yield the samples of a round, each with its value and its group."""
        groups = [*self.bound.groups] or [UNGROUPED]
        for index, record in enumerate(way.work(number)):
            # two tasks that follow each other are of one type, and each round begins with another
            place = index // 2 + number
            of_type = next(
                (each for each in self.types if each.name == way.skill_type),
                self.types[place % len(self.types)],
            )
            group = of_type.name if self.bound.group == BY_TYPE else groups[place % len(groups)]
            task: Task = (number, f"task-{index:04}", of_type.name)
            worths, factors = _content(self, way, record, of_type)
            for value, worth in worths.items():
                yield (
                    value,
                    group,
                    [Sample(worth, task, worth is None, factors)] * record.validators,
                )


@lru_cache(maxsize=1024)
def _content(
    made_up: MadeUp, way: Way, record: Work, of_type: TypeRanges
) -> tuple[Mapping[str, int | None], Mapping[str, int]]:
    """Return each value of a record, None where it was missed, and its factors; all in nano."""
    worths = dict[str, int | None]()
    for collected in made_up.bound.collected:
        value, own = collected.value, of_type.values.get(collected.value)
        # a value that some types have is none of the others
        if own or not any(value in other.values for other in made_up.types):
            within = own or collected.within or UNIT
            worths[value] = None if record.merit is None else _between(within, record.merit)
    return worths, {
        name: _between(of_type.factor(name), way.standing) for name in made_up.bound.factors
    }


_Held = dict[str, dict[str, dict[str, list[Sample]]]]
"""Samples by value, group and hotkey."""


def _held() -> _Held:
    return defaultdict(lambda: defaultdict(lambda: defaultdict(list)))


def _between(values: Range, part: Fraction) -> int:
    """Return a part of the way between two numbers, in nano."""
    low, high = values
    return round((low + (high - low) * part) * NANO)


def made_up_population(bound: BoundAllocation, owners: Mapping[str, str]) -> Population:
    """Return miners without records, each called as its owner by whatever names who it is.

    Args:
        bound: whose attributes they have.
        owners: by hotkey.
    """
    miners = tuple(
        Miner(hotkey, uid, _attributes(bound.miner_attributes, owner))
        for uid, (hotkey, owner) in enumerate(owners.items())
    )
    return Population(miners, round=_attributes(bound.round_attributes, ""))


def _attributes(asked: Mapping[str, str], text: str) -> dict[str, Attribute]:
    """Return an attribute of each name: a text, no flag, or 0."""
    plain: dict[str, Attribute] = {"a text": text, "a hotkey": text, "a flag": False}
    return {name: plain.get(kind, 0) for name, kind in asked.items()}
