"""The allocations of a plugin's rule sets: whom they pay, tried on made-up populations.

The steps are bound and proved as for anyone, then run over nobody, one, two and more miners: all at
0, all alike, each at another place of what the steps may be given. What refuses such a population,
pays nobody of it, or hands out another sum than 1, is told. Then one miner is raised in each column
that a step chooses or shares by: its weight should not fall.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

from tallystick.diagnostics import Diagnostic
from tallystick.errors import AllocationError, RuleSetError
from tallystick.numbers.nano import NANO, to_text
from tallystick_allocation.allocate import Allocation, allocate, roster
from tallystick_allocation.binding import BoundAllocation
from tallystick_allocation.column import Column, Values
from tallystick_allocation.population import UNGROUPED, Attribute, Miner, Population, Sample
from tallystick_allocation.proofs import proved_allocation
from tallystick_allocation.rules import ALLOCATION
from tallystick_allocation.steps.step import BoundStep, Range
from tallystick_conformance.loading import Subject
from tallystick_conformance.report import finding
from tallystick_conformance.rule_sets import invalid

_SIZES = (0, 1, 2, 17)
_RAISED = 5
_LOWEST, _HIGHEST = Fraction(0), Fraction(1000)
"""Ends of the range within which values are tried, so that shares differ visibly."""
_NOTE = "share-undefined"
"""Code of an allocation that a population of zeros may leave undefined."""
Shares = Mapping[str, Fraction]


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield every rule set with steps of its own pays somebody, one whole, and more for more."""
    for scorer in subject.scorers.values():
        if scorer.rule_set.section(ALLOCATION) is None:
            continue
        try:
            bound = proved_allocation(scorer)
        except RuleSetError as error:
            yield from map(invalid, error.problems)
            continue
        if bound is not None:
            yield from _findings(bound)


def _findings(bound: BoundAllocation) -> Iterator[Diagnostic]:
    reported = set[str]()
    for each in (*_of_populations(bound), *_of_raised(bound)):
        if each.code not in reported:
            reported.add(each.code)
            yield each


def _of_populations(bound: BoundAllocation) -> Iterator[Diagnostic]:
    paid = False
    failed = False
    for miners in _SIZES:
        for profile, shares in _profiles(miners).items():
            told = f"{miners} miners, {profile}"
            try:
                found = allocate(bound, _population(bound, shares))
            except AllocationError as error:
                if error.code != _NOTE or profile != "all 0":
                    failed = True
                    message = f"found no weights for {told}: {error}"
                    yield finding("allocation-fails", bound.reference, message)
                continue
            paid = paid or any(found.weights.values())
            yield from _of_sum(found, told)
    if not paid and not failed:
        message = "found no population in which anybody has a weight, expected one"
        yield finding("allocation-pays-nobody", bound.reference, message)


def _of_sum(found: Allocation, told: str) -> Iterator[Diagnostic]:
    whole, held = sum(found.weights.values()), len(found.weights)
    if any(found.weights.values()) and abs(whole - NANO) > Fraction(held, 2):
        message = f"found weights that sum to {to_text(whole)} for {told}, expected 1"
        yield finding("allocation-sum", found.bound.reference, message)


def _of_raised(bound: BoundAllocation) -> Iterator[Diagnostic]:
    """Yield a finding where a miner that is raised in one column gets less."""
    base = _profiles(_RAISED)["each another"]
    population = _population(bound, base)
    keys = roster(bound, population)
    for step in bound.steps:
        if not _is_score(step, bound):
            continue
        within = bound.ranges[step.name]
        before = _weights(bound, population, step, base, within, keys)
        for hotkey in base:
            raised = {**base, hotkey: Fraction(1)}
            after = _weights(bound, population, step, raised, within, keys)
            if before is None or after is None:
                break
            low, high = after.get(hotkey, 0), before.get(hotkey, 0)
            if low < high:
                message = (
                    f"found that a miner with a higher {step.name} gets {to_text(low)} instead of "
                    f"{to_text(high)}, expected no less"
                )
                yield finding("allocation-inverts", bound.reference, message)
                return


def _weights(  # noqa: PLR0913, PLR0917  # what is given, and where
    bound: BoundAllocation,
    population: Population,
    step: BoundStep,
    shares: Shares,
    within: Range,
    keys: tuple[str, ...],
) -> Mapping[str, int] | None:
    low, high = _tried(within)
    cells = {hotkey: low + share * (high - low) for hotkey, share in shares.items()}
    column = Column.of(cells.get(key) for key in keys)
    values: Values = dict.fromkeys(bound.groups, column) if step.shape == "grouped" else column
    try:
        return allocate(bound, population, {step.name: values}).weights
    except AllocationError:
        return None


def _is_score(step: BoundStep, bound: BoundAllocation) -> bool:
    """Return whether later steps choose or share by this step's values of records."""
    readers = [reader for reader in bound.steps if step in reader.inputs]
    is_column = step.rules.is_score and step.shape != "number"
    return is_column and bool(readers) and not any(reader.rules.is_score for reader in readers)


def _tried(within: Range) -> Range:
    low, high = max(within[0], _LOWEST), min(within[1], _HIGHEST)
    return (low, high) if low < high else within


def _profiles(miners: int) -> dict[str, Shares]:
    """Return populations of miners by name: the height of each in its range, from 0 to 1."""
    names = [f"miner-{number:02}" for number in range(miners)]
    return {
        "all 0": dict.fromkeys(names, Fraction(0)),
        "all alike": dict.fromkeys(names, Fraction(3, 4)),
        "each another": {
            name: Fraction(number + 1, miners + 1) for number, name in enumerate(names)
        },
    }


def _population(bound: BoundAllocation, shares: Shares) -> Population:
    """Miners with two tasks in each group; every flag is set for every second one."""
    groups = tuple(bound.groups) or (UNGROUPED,)
    samples: dict[str, dict[str, dict[str, list[Sample]]]] = {}
    for collected in bound.collected:
        low, high = _tried(collected.within or (_LOWEST, Fraction(1)))
        samples[collected.value] = {
            group: {
                hotkey: _samples(low + share * (high - low), bound)
                for hotkey, share in shares.items()
            }
            for group in groups
        }
    miners = [
        Miner(hotkey, number, _attributes(bound.miner_attributes, number))
        for number, hotkey in enumerate(shares)
    ]
    return Population(tuple(miners), samples, round=_attributes(bound.round_attributes, 0))


def _samples(value: Fraction, bound: BoundAllocation) -> list[Sample]:
    factors = dict.fromkeys(bound.factors, NANO)
    nano = int(value * NANO)
    return [Sample(nano, (0, name, "made-up"), factors=factors) for name in ("first", "second")]


def _attributes(asked: Mapping[str, str], number: int) -> dict[str, Attribute]:
    values: Mapping[str, Attribute] = {
        "a text": f"text-{number}",
        "a hotkey": "miner-00",
        "a flag": number % 2 == 0,
        "a number": Decimal("0.125"),
    }
    return {name: values[kind] for name, kind in asked.items()}
