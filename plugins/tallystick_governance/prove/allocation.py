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
from functools import cached_property
from hashlib import sha256
from math import ceil, floor
from typing import Any

import attrs

from tallystick.errors import AllocationError
from tallystick.numbers.nano import NANO, from_decimal, to_text
from tallystick.numbers.text import fraction
from tallystick.scoring.scorer import Scorer
from tallystick_allocation.allocate import allocate
from tallystick_allocation.collect import CollectStep
from tallystick_allocation.files import round_of
from tallystick_allocation.proofs import proved_allocation
from tallystick_allocation.rules import Filter
from tallystick_allocation.select import OnePerStep, TopStep
from tallystick_allocation.share import ByRankStep
from tallystick_allocation.step import AllocationStep, BoundAllocation
from tallystick_allocation.table import population_of_rows
from tallystick_governance.prove.property import Answer, Laws, Status

SUM, SIGN, ORDER = "weights-sum-to-one", "weights-never-negative", "weights-order-free"
"""The names of the laws."""
_MOST = 4
"""So many miners are made up, but where a step chooses more than that."""
_MOST_ALIKE = 32
_TRIES = 60
"""How many populations of a size are tried."""
Row = Mapping[str, Any]


@attrs.frozen
class _Weighed:
    """A population that was made up, and its weights in nano."""

    rows: tuple[Row, ...]
    round: Mapping[str, Any]
    weights: Mapping[str, int]

    @property
    def record(self) -> dict[str, Any]:
        """What ``tallystick allocate`` takes: the table, and what is asked of the round."""
        held = {"miners": list(self.rows)}
        return {**held, "round": dict(self.round)} if self.round else held


@attrs.frozen
class _Broken:
    """A population that breaks a law: what it comes to, and more about it."""

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
    """

    summary: str
    obstacle: Callable[[BoundAllocation], str]
    broken: Callable[[BoundAllocation, _Weighed], _Broken | None]
    sizes: Callable[[BoundAllocation], Iterable[int]] = lambda _: range(1, _MOST + 1)
    is_of_equals: bool = False


def _prove(scorer: Scorer, only: str | None) -> Iterator[Answer]:
    """Yield the answers about the laws, or about one of them."""
    bound = proved_allocation(scorer)
    if bound is None:
        return
    for name, law in _LAWS.items():
        if only in (None, name):
            yield _answered(name, law, bound)


def _outline(scorer: Scorer, only: str | None) -> Iterator[Answer]:
    """Yield what is asked, or one of it, as answers that are undecided."""
    is_asked = proved_allocation(scorer) is not None
    for name in _LAWS if is_asked else ():
        if only in (None, name):
            yield _said(name, "undecided")


def _answered(name: str, law: _Law, bound: BoundAllocation) -> Answer:
    reason = law.obstacle(bound)
    if not reason:
        return _said(name, "proved", method="steps")
    made_up = _MadeUp(bound)
    for miners in law.sizes(bound):
        for number in range(_TRIES):
            found = made_up.weighed(miners, number, alike=law.is_of_equals)
            breach = None if found is None else law.broken(bound, found)
            if found is not None and breach is not None:
                return _said(
                    name,
                    "counterexample",
                    method="scored",
                    record=found.record,
                    value=to_text(breach.value),
                    about=breach.about or None,
                )
    return _said(name, "undecided", reason=f"{reason}, and no small population shows it")


def _said(name: str, status: Status, **more: Any) -> Answer:  # noqa: ANN401  # of Answer
    return Answer(name, "allocation", "weight", status, _LAWS[name].summary, **more)


def _lost(bound: BoundAllocation) -> str:
    """The step at which a sum of 1 gets lost; nothing where none does."""
    whole: dict[str, bool] = {}
    for step in bound.steps:
        whole[step.name] = step.rules.sums_to_one(all(whole[each.name] for each in step.inputs))
    step = bound.weight
    while not whole[step.name]:
        lost = [each for each in step.inputs if not whole[each.name]]
        if not lost or not step.rules.sums_to_one(inputs=True):
            return f"{step.name}, a step {step.rules.do}, can give other sums than 1"
        step = lost[0]
    return ""


def _sum_is_broken(bound: BoundAllocation, found: _Weighed) -> _Broken | None:
    """A sum that misses 1 by more than each rounding of each weight by half a nano."""
    whole, roundings = sum(found.weights.values()), _roundings(bound)
    apart = abs(whole - NANO) > Fraction(roundings * len(found.weights), 2)
    return _Broken(whole, "of all") if apart and any(found.weights.values()) else None


def _roundings(bound: BoundAllocation) -> int:
    return sum(step.rules.publish or step.carries for step in bound.steps)


def _negative(bound: BoundAllocation) -> str:
    low, _ = bound.ranges[bound.weight.name]
    return f"{bound.weight.name} can be from {fraction(low)} on by its steps" if low < 0 else ""


def _sign_is_broken(bound: BoundAllocation, found: _Weighed) -> _Broken | None:
    del bound
    hotkey = min(found.weights, key=lambda each: found.weights[each], default=None)
    least = 0 if hotkey is None else found.weights[hotkey]
    return _Broken(least, f"of {hotkey}") if least < 0 else None


def _named(bound: BoundAllocation) -> str:
    """The step that prefers who is called so among equals."""
    preferring = (step.name for step in bound.steps if _prefers(step))
    return next((f"{name} prefers hotkeys among equals" for name in preferring), "")


def _prefers(step: AllocationStep) -> bool:
    if isinstance(step, ByRankStep) and step.rules.ties == "pooled":
        return False
    return isinstance(step, TopStep | OnePerStep | ByRankStep) and not step.order.is_drawn


def _order_is_broken(bound: BoundAllocation, found: _Weighed) -> _Broken | None:
    del bound
    held = {str(row["hotkey"]): found.weights.get(str(row["hotkey"]), 0) for row in found.rows}
    least, most = (pick(held, key=lambda each: held[each]) for pick in (min, max))
    if held[least] == held[most]:
        return None
    return _Broken(held[least], f"of {least}, while {most} has {to_text(held[most])}")


def _chosen_of(bound: BoundAllocation) -> Iterable[int]:
    """Two miners, and one more than a step chooses or has parts for."""
    sizes = {2}
    for step in bound.steps:
        if isinstance(step, TopStep):
            sizes.add(step.rules.k + 1)
        if isinstance(step, ByRankStep):
            sizes.add(len(step.rules.parts or ()) + 1)
    return (miners for miners in sorted(sizes) if miners <= _MOST_ALIKE)


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
}
LAWS = Laws(
    {name: law.summary for name, law in _LAWS.items()},
    _outline,
    _prove,
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

    def weighed(self, miners: int, number: int, *, alike: bool) -> _Weighed | None:
        """A population by its number, weighed; None where the allocation refuses it."""
        held = {
            # whom a round names is not like the others
            name: _picked(_ROUND[kind][: 1 if alike else None], number, -1, name)
            for name, kind in self.bound.round_attributes.items()
        }
        rows = tuple(
            row
            for miner in range(miners)
            for row in self._rows(number, miner, -1 if alike else miner)
        )
        try:
            given = round_of({"format": 1, "round": held}, self.bound, "round").round
            population = population_of_rows(rows, self.bound, round=given)
            weights = allocate(self.bound, population).weights
        except AllocationError:
            return None
        return _Weighed(rows, {"format": 1, "round": held} if held else {}, weights)

    def _rows(self, number: int, miner: int, seed: int) -> Iterator[Row]:
        """The rows of a miner, one for each group; those of one seed have the same values."""
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
                value = _picked(values, number, seed, f"{group}/{name}")
                if value is not None:
                    row[name] = value
            yield row

    @cached_property
    def _values(self) -> dict[str, tuple[str | None, ...]]:
        """By the value of a collect step, or a factor of it, what a miner may have."""
        found: dict[str, tuple[str | None, ...]] = dict.fromkeys(self.bound.factors, ("1", "0.5"))
        for name in self.bound.values:
            ends = [
                step.within
                for step in self.bound.steps
                if isinstance(step, CollectStep) and step.rules.value == name and step.within
            ]
            low = max((ceil(low * NANO) for low, _ in ends), default=0)
            high = min((floor(high * NANO) for _, high in ends), default=0)
            numbers = {low, low + (high - low) // 4, high, max(low, min(high, 0))}
            numbers |= {each for each in self._marks if low <= each <= high}
            found[name] = (*map(to_text, sorted(numbers)), None)
        return found

    @cached_property
    def _marks(self) -> frozenset[int]:
        """The bounds of filters, in nano."""
        found: set[Decimal] = set()
        for step in self.bound.steps:
            if isinstance(step.rules, Filter):
                above, cut = step.rules.above, step.rules.at_least
                found |= {each for each in (above, cut) if isinstance(each, Decimal)}
                found |= {*cut.values()} if isinstance(cut, Mapping) else set()
        return frozenset(map(from_decimal, found))


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
"""What an attribute is picked from, by what it is."""


def _picked(values: tuple[Any, ...], number: int, seed: int, name: str) -> Any:  # noqa: ANN401  # one of them
    told = sha256(f"{number}:{seed}:{name}".encode()).digest()
    return values[int.from_bytes(told[:4]) % len(values)]
