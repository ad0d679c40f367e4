"""Proofs about the weights of a population: what holds whatever miners there are.

Each law follows from the steps alone: from which of them sum to 1, from the range of each, from
which of them tell equal values apart. What does not follow from them is looked for among small
made-up populations, which the engine reads and weighs as any table; what it confirms is a
counterexample, and what it does not find is undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial
from hashlib import sha256
from math import ceil, floor
from typing import Any

import attrs

from tallystick.errors import AllocationError
from tallystick.numbers.nano import NANO, from_decimal, to_text
from tallystick.numbers.text import fraction
from tallystick.scoring.scorer import Scorer
from tallystick_allocation.allocate import allocate
from tallystick_allocation.binding import BoundAllocation
from tallystick_allocation.files import round_of
from tallystick_allocation.input_value import InputValue
from tallystick_allocation.proofs import proved_allocation
from tallystick_allocation.steps.step import BoundStep, Range
from tallystick_allocation.table import read_population
from tallystick_governance.prove.property import Answer, LawQuestion, Laws, Status

SUM, SIGN, ORDER = "weights-sum-to-one", "weights-never-negative", "weights-order-free"
SOMEBODY = "weights-somebody"
"""The names of the laws."""
_MOST = 4
"""Maximum number of miners in a made-up population, unless a step chooses more."""
_MOST_ALIKE = 32
_TRIES = 60
"""Number of populations of a size that are tried."""
MinerRow = Mapping[str, Any]


@attrs.frozen
class _Weighed:
    """A population that was made up, and its weights in nano; or why it is refused."""

    rows: tuple[MinerRow, ...]
    round: Mapping[str, Any]
    weights: Mapping[str, int]
    refused: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """The input of ``tallystick allocate``: the table, and the attributes of the round."""
        table = {"miners": list(self.rows)}
        return {**table, "round": dict(self.round)} if self.round else table


@attrs.frozen
class _Broken:
    """The value in a population that breaks a law, with more about it."""

    value: int
    about: str = ""


@attrs.frozen
class _Law:
    """A law of weights.

    Attributes:
        summary: the law in one sentence.
        obstacle: why the steps do not show it; nothing where they do.
        broken: how a population breaks it; None where it does not.
        sizes: how many miners are made up.
        is_of_equals: whether it is about miners that are alike.
        is_of_best: whether it is about populations whose first miner has the greatest values, and
            about those too that the allocation refuses.
    """

    summary: str
    obstacle: Callable[[BoundAllocation], str]
    broken: Callable[[BoundAllocation, _Weighed], _Broken | None]
    sizes: Callable[[BoundAllocation], Iterable[int]] = lambda _: range(1, _MOST + 1)
    is_of_equals: bool = False
    is_of_best: bool = False


def _questions(scorer: Scorer, only: str | None) -> Iterator[LawQuestion]:
    """Yield the laws, or one of them."""
    bound = proved_allocation(scorer)
    if bound is None:
        return
    for name, law in _LAWS.items():
        if only in (None, name):
            yield LawQuestion(_said(name, "undecided"), partial(_answered, name, law, bound))


def _answered(name: str, law: _Law, bound: BoundAllocation) -> Answer:
    reason = law.obstacle(bound)
    if not reason:
        return _said(name, "proved", method="steps")
    made_up = _MadeUp(bound)
    for miners in law.sizes(bound):
        for number in range(_TRIES):
            population = made_up.weighed(miners, number, law)
            is_asked = law.is_of_best or not population.refused
            breach = law.broken(bound, population) if is_asked else None
            if breach is not None:
                return _said(
                    name,
                    "counterexample",
                    method="scored",
                    record=population.record,
                    value=to_text(breach.value),
                    about=breach.about or None,
                )
    return _said(name, "undecided", reason=f"{reason}, and no small population shows it")


def _said(name: str, status: Status, **more: Any) -> Answer:  # noqa: ANN401  # of Answer
    return Answer(name, "allocation", "weight", status, _LAWS[name].summary, **more)


def _lost(bound: BoundAllocation) -> str:
    """Return the step at which a sum of 1 is lost, as a reason; empty where none is."""
    step = bound.weight
    while not step.sums_to_one:
        lost = [source for source in step.inputs if not source.sums_to_one]
        if not lost or not step.rules.sums_to_one(True):
            return f"{step.name}, a step {step.rules.do}, can give other sums than 1"
        step = lost[0]
    return ""


def _sum_is_broken(bound: BoundAllocation, found: _Weighed) -> _Broken | None:
    """Return a sum that misses 1 by more than half a nano for each rounding of each weight."""
    whole, roundings = sum(found.weights.values()), _roundings(bound)
    apart = abs(whole - NANO) > Fraction(roundings * len(found.weights), 2)
    return _Broken(whole, "of all") if apart and any(found.weights.values()) else None


def _roundings(bound: BoundAllocation) -> int:
    return sum(step.rules.is_rounded for step in bound.steps)


def _negative(bound: BoundAllocation) -> str:
    low, _ = bound.ranges[bound.weight.name]
    return f"{bound.weight.name} can be from {fraction(low)} on by its steps" if low < 0 else ""


def _sign_is_broken(bound: BoundAllocation, found: _Weighed) -> _Broken | None:
    del bound
    hotkey = min(found.weights, key=lambda each: found.weights[each], default=None)
    least = 0 if hotkey is None else found.weights[hotkey]
    return _Broken(least, f"of {hotkey}") if least < 0 else None


def _named(bound: BoundAllocation) -> str:
    """Return the obstacle of a step that prefers hotkeys among equals; empty without one."""
    preferring = (step.name for step in bound.steps if step.rules.prefers_hotkeys(step))
    return next((f"{name} prefers hotkeys among equals" for name in preferring), "")


def _order_is_broken(bound: BoundAllocation, found: _Weighed) -> _Broken | None:
    del bound
    weights = {str(row["hotkey"]): found.weights.get(str(row["hotkey"]), 0) for row in found.rows}
    least, most = (pick(weights, key=lambda each: weights[each]) for pick in (min, max))
    if weights[least] == weights[most]:
        return None
    return _Broken(weights[least], f"of {least}, while {most} has {to_text(weights[most])}")


def _chosen_of(bound: BoundAllocation) -> Iterable[int]:
    """Return the sizes to try: two miners, and one more than a step chooses or has parts for."""
    sizes = {2}.union(*(step.rules.sizes for step in bound.steps))
    return (miners for miners in sorted(sizes) if miners <= _MOST_ALIKE)


def _emptying(bound: BoundAllocation) -> str:
    """Return the step that can leave nobody with a weight, as a reason; empty without one."""
    steps = bound.needed([bound.weight])
    return next((reason for step in steps if (reason := _empties(step, bound.ranges))), "")


def _empties(step: BoundStep, ranges: Mapping[str, Range]) -> str:
    """Return why a step can leave nobody with more than 0 though its input has somebody."""
    below = [read.name for read in step.inputs if ranges[read.name][0] < 0]
    if step.rules.needs_nonnegative and below:
        return f"{step.name} refuses, or adds up, values below 0, which {below[0]} can have"
    can_empty = step.rules.can_empty(ranges)
    return f"{step.name}, a step {step.kind}, can give nobody more than 0" if can_empty else ""


def _nobody_is_paid(bound: BoundAllocation, found: _Weighed) -> _Broken | None:
    del bound
    is_paid = any(weight > 0 for weight in found.weights.values())
    return None if is_paid else _Broken(0, found.refused or "of everybody")


_LAWS: Mapping[str, _Law] = {
    SUM: _Law("Weights sum to 1 but for rounding, or nobody has any", _lost, _sum_is_broken),
    SIGN: _Law("No weight is below 0", _negative, _sign_is_broken),
    ORDER: _Law(
        "Of miners that are alike none is preferred, but by lots that each round draws anew",
        _named,
        _order_is_broken,
        _chosen_of,
        is_of_equals=True,
    ),
    SOMEBODY: _Law(
        "Where a miner has the greatest value of everything, somebody has a weight",
        _emptying,
        _nobody_is_paid,
        is_of_best=True,
    ),
}
LAWS = Laws(
    "allocation",
    {name: law.summary for name, law in _LAWS.items()},
    _questions,
    breaker="a population",
    example="this population",
)
"""The laws of weights."""


@attrs.frozen(slots=False)
class _MadeUp:
    """Populations of an allocation: what each miner has is picked from a few numbers of its range.

    Which is picked follows from the number of the population, the miner and the name of the value.
    """

    bound: BoundAllocation

    def weighed(self, miners: int, number: int, law: _Law) -> _Weighed:
        """Return a population by its number for a law, weighed, or with the reason of a refusal."""
        alike = law.is_of_equals
        picked = {
            # whom a round names is not like the others
            name: _picked(_ROUND[kind][: 1 if alike else None], number, -1, name)
            for name, kind in self.bound.round_attributes.items()
        }
        rows = tuple(
            row
            for miner in range(miners)
            for row in self._rows(
                number, miner, -1 if alike else miner, is_best=law.is_of_best and not miner
            )
        )
        of_round = {"format": 1, "round": picked} if picked else {}
        try:
            round_file = round_of(InputValue({"format": 1, "round": picked}, "round"), self.bound)
            population = read_population(rows, self.bound, round_file, {})
            weights = allocate(self.bound, population).weights
        except AllocationError as error:
            return _Weighed(rows, of_round, {}, str(error))
        return _Weighed(rows, of_round, weights)

    def _rows(self, number: int, miner: int, seed: int, *, is_best: bool) -> Iterator[MinerRow]:
        """Yield the rows of a miner, one for each group; those of one seed have the same values."""
        who = {"hotkey": f"miner-{miner}"}
        who |= {
            name: _picked(_MINER[kind], number, seed, name)
            for name, kind in self.bound.miner_attributes.items()
        }
        for group in self.bound.groups or ("",):
            row = dict(who)
            if group:
                row[self.bound.group] = group
            for name, values in self._values.items():
                # the greatest stands before None
                value = values[-2] if is_best else _picked(values, number, seed, f"{group}/{name}")
                if value is not None:
                    row[name] = value
            yield row

    @cached_property
    def _values(self) -> dict[str, tuple[str | None, ...]]:
        """The values that a miner may have, by value of a collect step or factor of it."""
        choices: dict[str, tuple[str | None, ...]] = dict.fromkeys(self.bound.factors, ("1", "0.5"))
        for name in self.bound.values:
            ends = [
                entry.within
                for entry in self.bound.collected
                if entry.value == name and entry.within
            ]
            low = max((ceil(low * NANO) for low, _ in ends), default=0)
            high = min((floor(high * NANO) for _, high in ends), default=0)
            numbers = {low, low + (high - low) // 4, high, max(low, min(high, 0))}
            numbers |= {entry for entry in self._marks if low <= entry <= high}
            choices[name] = (*map(to_text, sorted(numbers)), None)
        return choices

    @cached_property
    def _marks(self) -> frozenset[int]:
        """The bounds at which steps treat miners in another way, in nano."""
        marks = frozenset[Decimal]().union(*(step.rules.marks for step in self.bound.steps))
        return frozenset(map(from_decimal, marks))


_ROUND: Mapping[str, tuple[str, ...]] = {
    "a text": ("a", "b"),
    "a hotkey": ("nobody", "miner-0"),
    "a number": ("0", "0.25"),
}
_MINER: Mapping[str, tuple[Any, ...]] = {
    "a text": ("a", "b"),
    "a flag": (True, False),
    "a number": ("0", "1"),
}
"""The choices for an attribute, by its kind."""


def _picked(values: tuple[Any, ...], number: int, seed: int, name: str) -> Any:  # noqa: ANN401  # one of them
    digest = sha256(f"{number}:{seed}:{name}".encode()).digest()
    return values[int.from_bytes(digest[:4]) % len(values)]
