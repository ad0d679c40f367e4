"""Allocations that forget, pay nobody, or pay the lesser more."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil

import attrs

from tallystick.errors import AllocationError
from tallystick.numbers.nano import to_text
from tallystick.rules.findings import Finding
from tallystick.scoring.lint import check, checks_in, more
from tallystick.scoring.scorer import Scorer
from tallystick_allocation.allocate import Allocation, allocate, roster
from tallystick_allocation.column import Number, column_of
from tallystick_allocation.population import Attribute, Miner, Population
from tallystick_allocation.proofs import proved_allocation
from tallystick_allocation.rules import (
    Average,
    ByRank,
    CapStep,
    Collect,
    Equal,
    Filter,
    Lift,
    Mix,
    Pools,
    Reserve,
    Share,
    ZScore,
)
from tallystick_allocation.step import AllocationStep, BoundAllocation, Range

tallystick_api = 1

_SIZES = (1, 2, 3, 7, 17)
"""Numbers of miners that are tried."""


@attrs.frozen
class _Probe:
    """An allocation from one column on, which all of it passes through.

    Attributes:
        bound: the allocation.
        column: the step whose values are made up.
        within: the range of these.
    """

    bound: BoundAllocation
    column: AllocationStep
    within: Range

    def run(self, values: Sequence[Fraction]) -> Allocation | None:
        """Return the weights of as many miners; None where a step refuses them."""
        names = [f"miner-{number:03}" for number in range(len(values))]
        miners = tuple(Miner(name, uid, self._of_miner(name)) for uid, name in enumerate(names))
        population = Population(miners, round=_made_up(self.bound.round_attributes, ""))
        keys = roster(self.bound, population)
        cells = dict(zip(names, values, strict=True))
        columns = {self.column.name: column_of(cells.get(key) for key in keys)}
        try:
            return allocate(self.bound, population, columns)
        except AllocationError:
            return None

    def _of_miner(self, name: str) -> Mapping[str, Attribute]:
        return _made_up(self.bound.miner_attributes, name)

    def spread(self, miners: int) -> list[Fraction]:
        """Values of so many miners, ascending, all within the range and above its lower end."""
        low, high = self.within
        return [low + (high - low) * Fraction(index, miners) for index in range(1, miners + 1)]


def _made_up(asked: Mapping[str, str], text: str) -> dict[str, Attribute]:
    """Return an attribute of each name: a text, no flag, or 0."""
    plain: dict[str, Attribute] = {"a text": text, "a hotkey": text, "a flag": False}
    return {name: plain.get(kind, 0) for name, kind in asked.items()}


def _bound(scorer: Scorer) -> BoundAllocation | None:
    return proved_allocation(scorer)


def _probe(scorer: Scorer) -> _Probe | None:
    """Return the allocation from the first column that all weights come of; None without one."""
    bound = _bound(scorer)
    if bound is None:
        return None
    for step in bound.steps[:-1]:
        low, high = bound.ranges[step.name]
        if step.shape == "flat" and high > 0:
            after = bound.needed((bound.weight,), {step.name: Number(None)})
            if not any(isinstance(each.rules, Collect) for each in after):
                return _Probe(bound, step, (max(low, Fraction()), high))
    return None


@check(
    "allocation-unread",
    "note",
    "a step that no weight comes of",
    documentation=(
        "A step adds a column. One that neither the weight nor another step reads is computed and "
        "thrown away, and is mostly the trace of a wrong name."
    ),
    remedy="read it where it is meant, or leave it out",
)
def _unread(scorer: Scorer) -> Iterator[Finding]:
    bound = _bound(scorer)
    for step in () if bound is None else bound.unread:
        if step is not bound.weight:  # type: ignore[union-attr]  # it has steps
            yield Finding(step.origin, f"no step reads {step.name}", {"step": step.name})


@check(
    "share-undefined",
    "note",
    "a share of nothing leaves all without weights",
    documentation=(
        "The sum of a column can be 0, and the step says that its shares are undefined then: the "
        "whole allocation is refused, and nobody has a weight."
    ),
    remedy='say zero = "zero" or zero = "equal", or silence it with the reason',
)
def _share_undefined(scorer: Scorer) -> Iterator[Finding]:
    bound = _bound(scorer)
    for step in () if bound is None else bound.steps:
        rules = step.rules
        if not isinstance(rules, Share) or rules.zero != "refuse":
            continue
        cancels = _keeps_negative(step, bound)  # type: ignore[arg-type]  # it has steps
        if cancels or not _has_some(step.inputs[0]):
            when = f"{rules.of} sums to 0" if cancels else f"all of {rules.of} is 0"
            yield Finding(
                (*step.origin, "zero"),
                f"where {when}, {step.name} has no shares, and nobody a weight",
                {"step": step.name, "of": rules.of},
            )


@check(
    "share-turned",
    "note",
    "a sum below 0 turns shares round",
    documentation=(
        "The step keeps values below 0 of a column that can have them. A share is a value over the "
        "sum: where that is below 0, who has more of the column has less of the shares; where it "
        "is near 0, shares are large."
    ),
    remedy='say below = "refuse", lift the column before, or silence it with the reason',
)
def _share_turned(scorer: Scorer) -> Iterator[Finding]:
    bound = _bound(scorer)
    for step in () if bound is None else bound.steps:
        if _keeps_negative(step, bound):  # type: ignore[arg-type]  # it has steps
            of = step.inputs[0].name
            yield Finding(
                (*step.origin, "below"),
                f"where {of} sums to less than 0, who has more of it has less of {step.name}",
                {"step": step.name, "of": of},
            )


def _keeps_negative(step: AllocationStep, bound: BoundAllocation) -> bool:
    """Return whether a step makes shares of values that can be below 0."""
    rules = step.rules
    return isinstance(rules, Share) and rules.below == "keep" and bound.ranges[rules.of][0] < 0


def _has_some(step: AllocationStep) -> bool:
    """Return whether a column has a value above 0 wherever it has one."""
    rules = step.rules
    match rules:
        case Average() | Equal():
            return True
        case Filter():
            return rules.others == "drop" and rules.above is not None and rules.above >= 0
        case Lift():
            return rules.lowest > 0
        case Share():
            return rules.zero != "zero"
        case ByRank():
            return not rules.parts or rules.parts[0] > 0
        case CapStep() | Pools() | Mix() | Reserve():
            return all(map(_has_some, step.inputs))
    return False


@check(
    "cap-cannot-hold",
    "warning",
    "a cap that weights exceed, or that leaves nobody with one",
    more("miners"),
    documentation=(
        "Weights sum to 1, so that n miners cannot all be below a share of 1/n. With "
        'excess = "once" what is taken from some can lift others above the cap, and stays; with '
        '"water_filling" and without lowest_share too few miners have no weights at all.'
    ),
    remedy='say excess = "water_filling" and lowest_share = "one_over_miners"',
)
def _cap_cannot_hold(scorer: Scorer) -> Iterator[Finding]:
    bound = _bound(scorer)
    for step in () if bound is None else bound.steps:
        rules = step.rules
        if isinstance(rules, CapStep) and rules.lowest_share is None:
            least = ceil(1 / rules.share)
            what = "exceed it" if rules.excess == "once" else "have no weights"
            yield Finding(
                (*step.origin, "share"),
                f"fewer than {least} miners {what}: the cap is {rules.share}",
                {"miners": least, "share": str(rules.share)},
            )


@check(
    "z-score-flat",
    "note",
    "miners that are alike have no deviation",
    documentation=(
        "The standard deviation of equal values is 0. The step then gives its value of flat to "
        "all, and with one miner, or where all fail alike, that alone decides."
    ),
    remedy="say by flat what is meant, or silence it with the reason",
)
def _z_score_flat(scorer: Scorer) -> Iterator[Finding]:
    bound = _bound(scorer)
    for step in () if bound is None else bound.steps:
        rules = step.rules
        if isinstance(rules, ZScore):
            yield Finding(
                step.origin,
                f"equal values of {rules.of} all become {rules.flat}",
                {"step": step.name, "flat": str(rules.flat)},
            )


@check(
    "allocation-nobody",
    "error",
    "miners with the best values have no weight",
    documentation=(
        "Computed for 1 to 17 miners whose values are spread over the range that the column can "
        "have, up to its greatest: nobody gets a weight above 0, or a step refuses them all."
    ),
    remedy="look at the steps from that column on: tallystick allocate --explain shows each",
)
def _nobody(scorer: Scorer) -> Iterator[Finding]:
    probe = _probe(scorer)
    if probe is None:
        return
    empty = []
    for miners in _SIZES:
        result = probe.run(probe.spread(miners))
        if result is None or not any(result.weights.values()):
            empty.append(miners)
    if len(empty) == len(_SIZES):
        yield Finding(
            probe.column.origin,
            f"whatever {probe.column.name} is, nobody has a weight",
            {"step": probe.column.name, "miners": list(_SIZES)},
        )


@check(
    "allocation-inverts",
    "warning",
    "who has more gets less",
    documentation=(
        "Computed for 1 to 17 miners whose values are spread over the range that the column can "
        "have. The greater of two values gets the smaller weight: it pays to do worse."
    ),
    remedy="order parts from the first place down, and spread the excess of a cap by water-filling",
)
def _inverts(scorer: Scorer) -> Iterator[Finding]:
    probe = _probe(scorer)
    if probe is None:
        return
    for miners in _SIZES:
        values = probe.spread(miners)
        result = probe.run(values)
        weights = (
            [] if result is None else [result.weights.get(m.hotkey, 0) for m in _miners(result)]
        )
        for index in range(1, len(weights)):
            if weights[index] < weights[index - 1]:
                less, more = weights[index], weights[index - 1]
                yield Finding(
                    probe.column.origin,
                    f"of {miners} miners, who has {_text(values[index])} of {probe.column.name} "
                    f"gets {to_text(less)}, and who has {_text(values[index - 1])} gets "
                    f"{to_text(more)}",
                    {
                        "step": probe.column.name,
                        "miners": miners,
                        "values": [_text(values[index - 1]), _text(values[index])],
                        "weights": [to_text(more), to_text(less)],
                    },
                )
                return


def _miners(found: Allocation) -> Sequence[Miner]:
    return found.given.population.miners


def _text(value: Fraction) -> str:
    return to_text(round(value * 10**9))


LINTS = checks_in(sys.modules[__name__])
"""The lints, in the order in which they are documented."""
