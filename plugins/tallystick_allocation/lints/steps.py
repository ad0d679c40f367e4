"""Allocations that forget, pay nobody, or pay the lesser more."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import cached_property, wraps
from itertools import pairwise, product
from math import ceil
from typing import TypeVar

import attrs

from tallystick.errors import AllocationError, FormulaError, UndecidedError
from tallystick.formula.evaluate import evaluate
from tallystick.formula.formula import Formula
from tallystick.numbers.nano import NANO, to_text
from tallystick.rules.findings import Finding
from tallystick.scoring.lint import Find, check, figure, less, more
from tallystick.scoring.scorer import Scorer
from tallystick_allocation.allocate import Allocation, allocate, roster
from tallystick_allocation.binding import BoundAllocation
from tallystick_allocation.column import Column, columns_in
from tallystick_allocation.lints.made_up import made_up_population
from tallystick_allocation.lints.ranges import ranges_of_steps
from tallystick_allocation.population import UNGROUPED, Sample
from tallystick_allocation.proofs import proved_allocation
from tallystick_allocation.recipients import is_bound
from tallystick_allocation.steps.collect import Collect
from tallystick_allocation.steps.formula import FormulaStep
from tallystick_allocation.steps.memory import Average, Hold
from tallystick_allocation.steps.mix import Mix, Rest
from tallystick_allocation.steps.select import Filter
from tallystick_allocation.steps.share import ByRank, CapStep, Share, ZScore
from tallystick_allocation.steps.step import UNIT, AllocationStep, BoundStep, Range
from tallystick_allocation.uint16 import dropped

_SIZES = (1, 2, 3, 7, 17)
"""Numbers of miners that are tried."""
_SUBNET = 256
"""Number of miners of a full subnet."""
_COUNTED = 10**6
"""Maximum number of tasks of a miner that are counted where a step has no limit."""
_PARTS = 1000
"""Number of values of a range that are tried."""
_WANTED = (Fraction(-(10**30)), Fraction(), Fraction(10**30))
"""Values of records, of which the nearest within their range is tried."""
_LONG = 1000
"""Number of tasks beyond which a newcomer waits too long for its full value."""


@attrs.frozen(eq=False, slots=False)
class _Ranged:
    """An allocation, in a rule set that bounds the values of records."""

    bound: BoundAllocation
    scorer: Scorer

    @cached_property
    def ranges(self) -> Mapping[str, Range]:
        """The range of each step, as far as the rule set bounds it, by its name."""
        return ranges_of_steps(self.bound, self.scorer)


@attrs.frozen
class _Probe:
    """An allocation from one column on, which all of it passes through.

    Attributes:
        bound: the allocation.
        column: the step whose values are made up.
        within: the range of these.
    """

    bound: BoundAllocation
    column: BoundStep
    within: Range

    def run(self, miners: int) -> Allocation | None:
        """Return the weights of miners of ascending values; None where a step refuses these."""
        cells = {f"miner-{rank:03}": value for rank, value in enumerate(self.spread(miners))}
        population = made_up_population(self.bound, {name: name for name in cells})
        keys = roster(self.bound, population)
        try:
            return allocate(
                self.bound, population, {self.column.name: Column.of(map(cells.get, keys))}
            )
        except AllocationError:
            return None

    def spread(self, miners: int) -> list[Fraction]:
        """Values of so many miners, ascending, all within the range and above its lower end."""
        low, high = self.within
        return [low + (high - low) * Fraction(index, miners) for index in range(1, miners + 1)]


def _finding(step: BoundStep, key: str, message: str, **evidence: object) -> Finding:
    """Return a finding at a key of a step, or at the step."""
    path = (*step.origin, key) if key else step.origin
    return Finding(path, message, {"step": step.name, **evidence})


_Step = TypeVar("_Step", bound=AllocationStep)
_StepCheck = Callable[[BoundStep, _Step, _Ranged], Iterable[Finding]]
"""A check of one step, as bound and as the rule set has it."""


def _for_each_step_of(kind: type[_Step]) -> Callable[[_StepCheck[_Step]], Find]:
    """Return a decorator that makes a check of one step a check of every step of a class."""

    def decorate(find: _StepCheck[_Step]) -> Find:
        @wraps(find)
        def find_all(scorer: Scorer) -> Iterator[Finding]:
            bound = proved_allocation(scorer)
            if bound is None:
                return
            allocation = _Ranged(bound, scorer)
            for step in bound.steps:
                if isinstance(step.rules, kind):
                    yield from find(step, step.rules, allocation)

        return find_all

    return decorate


_for_each_step = _for_each_step_of(AllocationStep)  # type: ignore[type-abstract]  # none is made


def _probes(scorer: Scorer) -> Iterator[_Probe]:
    """Yield the allocation from the first column that all weights come of, if there is one."""
    bound = proved_allocation(scorer)
    if bound is None:
        return
    ranges = ranges_of_steps(bound, scorer)
    # what is carried is not of one round
    first = max((bound.steps.index(step) for step in bound.carried), default=0)
    for step in bound.steps[first:-1]:
        low, high = ranges[step.name]
        after = bound.needed([bound.weight], {step.name})
        if step.shape == "flat" and high > 0 and all(each.collected is None for each in after):
            yield _Probe(bound, step, (max(low, Fraction()), high))
            return


@check("allocation-unread", "note")
@_for_each_step
def _unread(step: BoundStep, _: AllocationStep, allocation: _Ranged) -> Iterator[Finding]:
    """A step that no weight comes of.

    A step adds a column. One that neither the weight nor another step reads is computed and thrown
    away, and is mostly the trace of a wrong name.

    Remedy: read it where it is meant, or leave it out.
    """
    if step in allocation.bound.unread and step is not allocation.bound.weight:
        yield _finding(step, "", f"no step reads {step.name}")


@check("recipient-unbound", "warning")
@_for_each_step
def _recipient_unbound(step: BoundStep, rules: AllocationStep, _: _Ranged) -> Iterator[Finding]:
    """A share for whoever holds a slot.

    A slot is taken over when its hotkey is deregistered, and moves when a subnet is trimmed: the
    share is then a stranger's, or a miner's. A daemon does not start with such rules.

    Remedy: name a hotkey, "owner", or a slot with its registration, such as "uid:7@4200000".
    """
    for path, key in rules.named():
        if not is_bound(key):
            message = f"{step.name} has a share for {key}, whoever holds that slot"
            yield Finding((*step.origin, *path), message, {"step": step.name, "recipient": key})


@check("share-undefined", "note")
@_for_each_step_of(Share)
def _share_undefined(step: BoundStep, rules: Share, allocation: _Ranged) -> Iterator[Finding]:
    """A share of nothing leaves all without weights.

    The sum of a column can be 0, and the step says that its shares are undefined then: the whole
    allocation is refused, and nobody has a weight. Computed for miners without records, and for
    miners whose records all have the least value, the greatest, or the one that is nearest to 0.

    Remedy: say zero = "zero" or zero = "equal", or silence it with the reason.
    """
    cancels = _keeps_negative(rules, allocation.bound)
    if rules.zero == "refuse" and (cancels or _can_be_zero(allocation.bound, rules.of)):
        when = f"{rules.of} sums to 0" if cancels else f"all of {rules.of} is 0"
        message = f"where {when}, {step.name} has no shares, and nobody a weight"
        yield _finding(step, "zero", message, of=rules.of)


def _can_be_zero(bound: BoundAllocation, name: str) -> bool:
    """Return whether a column sums to 0 for miners without records, or whose records are alike."""
    nobody = made_up_population(bound, {"a": "a", "b": "b"})
    ranges = {entry.value: entry.within or UNIT for entry in bound.collected}
    groups, factors = bound.groups or (UNGROUPED,), dict.fromkeys(bound.factors, NANO)
    populations = [nobody]
    for wanted in _WANTED:
        nano = {v: round(min(max(wanted, low), high) * NANO) for v, (low, high) in ranges.items()}
        of_all = {v: dict.fromkeys("ab", (Sample(n, factors=factors),)) for v, n in nano.items()}
        samples = {value: dict.fromkeys(groups, own) for value, own in of_all.items()}
        populations.append(attrs.evolve(nobody, samples=samples))
    for population in populations:
        with suppress(AllocationError):
            values = allocate(bound, population, columns=[name]).columns.get(name, {})
            if any(column.present and not column.total for column in columns_in(values)):
                return True
    return False


@check("negative-stops-pay", "warning")
@_for_each_step
def _negative_stops(step: BoundStep, rules: AllocationStep, among: _Ranged) -> Iterator[Finding]:
    """One value below 0 leaves all without weights.

    The step refuses values below 0, and the column can have them: one miner below 0 ends the
    allocation, so that nobody has a weight.

    Remedy: filter the values before with at_least = 0 and others = "zero", or lift them.
    """
    if rules.refuses_negative:
        of = step.inputs[0].name
        lowest = among.ranges[of][0]
        if lowest < 0:
            message = f"{of} can be {figure(lowest)}, and {step.name} refuses less than 0"
            yield _finding(step, "of", message, of=of, lowest=figure(lowest))


@check("share-turned", "note")
@_for_each_step_of(Share)
def _share_turned(step: BoundStep, rules: Share, allocation: _Ranged) -> Iterator[Finding]:
    """A sum below 0 turns shares round.

    The step keeps values below 0 of a column that can have them. A share is a value over the sum:
    where that is below 0, who has more of the column has less of the shares; where it is near 0,
    shares are large.

    Remedy: say below = "refuse", lift the column before, or silence it with the reason.
    """
    if _keeps_negative(rules, allocation.bound):
        message = (
            f"where {rules.of} sums to less than 0, who has more of it has less of {step.name}"
        )
        yield _finding(step, "below", message, of=rules.of)


def _keeps_negative(rules: Share, bound: BoundAllocation) -> bool:
    """Return whether a step makes shares of values that can be below 0."""
    return rules.below == "keep" and bound.ranges[rules.of][0] < 0


@check("cap-cannot-hold", "warning", more("miners"))
@_for_each_step_of(CapStep)
def _cap_cannot_hold(step: BoundStep, rules: CapStep, _: _Ranged) -> Iterator[Finding]:
    """A cap that weights exceed, or that leaves nobody with one.

    Weights sum to 1, so that n miners cannot all be below a share of 1/n. With excess = "once" what
    is taken from some can lift others above the cap, and stays; with "water_filling" and without
    lowest_share too few miners have no weights at all.

    Remedy: say excess = "water_filling" and lowest_share = "one_over_miners".
    """
    if rules.lowest_share is None:
        least = ceil(1 / rules.share)
        what = "exceed it" if rules.excess == "once" else "have no weights"
        yield Finding(
            (*step.origin, "share"),
            f"fewer than {least} miners {what}: the cap is {rules.share}",
            {"miners": least, "share": str(rules.share)},
        )


@check("mix-unlike", "warning")
@_for_each_step_of(Mix)
def _mix_unlike(step: BoundStep, _: Mix, __: _Ranged) -> Iterator[Finding]:
    """A mix of shares with values that are none.

    Shares of many miners are small, and values such as a mean of qualities are not: by the same
    parts the column that is no share decides nearly all of the weight.

    Remedy: mix shares with shares: put a step share before.
    """
    shares = {read.name: _is_of_shares(read) for read in step.inputs}
    raw = [name for name, is_share in shares.items() if not is_share]
    if raw and len(raw) < len(shares):
        message = f"{step.name} mixes shares with {raw[0]}, which is not known to sum to 1"
        yield _finding(step, "of", message, of=raw)


def _is_of_shares(step: BoundStep) -> bool:
    """Return whether values are shares of one whole, or some of them."""
    sources = {name for _, name in step.rules.columns()}
    of_shares = (_is_of_shares(read) for read in step.inputs if read.name in sources)
    return step.sums_to_one or (step.rules.keeps_shares and all(of_shares))


@check("z-score-flat", "note")
@_for_each_step_of(ZScore)
def _z_score_flat(step: BoundStep, rules: ZScore, _: _Ranged) -> Iterator[Finding]:
    """Miners that are alike have no deviation.

    The standard deviation of equal values is 0. The step then gives its value of flat to all, and
    with one miner, or where all fail alike, that alone decides.

    Remedy: say by flat what is meant, or silence it with the reason.
    """
    message = f"equal values of {rules.of} all become {rules.flat}"
    yield _finding(step, "", message, flat=str(rules.flat))


@check("allocation-nobody", "error")
def _nobody(scorer: Scorer) -> Iterator[Finding]:
    """Miners with the best values have no weight.

    Computed for 1 to 17 miners whose values are spread over the range that the column can have, up
    to its greatest: nobody gets a weight above 0, or a step refuses them all.

    Remedy: look at the steps from that column on: tallystick allocate --explain shows each.
    """
    for probe in _probes(scorer):
        results = map(probe.run, _SIZES)
        if not any(result and any(result.weights.values()) for result in results):
            message = f"whatever {probe.column.name} is, nobody has a weight"
            yield _finding(probe.column, "", message, miners=list(_SIZES))


@check("allocation-inverts", "warning")
def _inverts(scorer: Scorer) -> Iterator[Finding]:
    """Who has more gets less.

    Computed for 1 to 17 miners whose values are spread over the range that the column can have. The
    greater of two values gets the smaller weight: it pays to do worse.

    Remedy: order parts from the first place down, and spread the excess of a cap by water-filling.
    """
    for probe, miners in product(_probes(scorer), _SIZES):
        result = probe.run(miners)
        if result is None:
            continue
        hotkeys = (miner.hotkey for miner in result.step_input.population.miners)
        weights = (result.weights.get(hotkey, 0) for hotkey in hotkeys)
        pairs = pairwise(zip(probe.spread(miners), weights, strict=True))
        for (low, of_low), (high, of_high) in pairs:
            if of_high < of_low:
                yield _finding(
                    probe.column,
                    "",
                    f"of {miners} miners, who has {figure(high)} of {probe.column.name} gets "
                    f"{to_text(of_high)}, and who has {figure(low)} gets {to_text(of_low)}",
                    miners=miners,
                    values=[figure(low), figure(high)],
                    weights=[to_text(of_low), to_text(of_high)],
                )
                return


@check("weight-vanishes", "warning", more("vanish"))
def _vanishes(scorer: Scorer) -> Iterator[Finding]:
    """Weights that are nothing on the chain.

    The chain has whole numbers up to 65535, of which the greatest weight is the largest: what is at
    most half of 1/65535 of it is 0. Computed for 256 miners whose values are spread over the range
    that the column can have; what burns counts as a weight.

    Remedy: end the ladder earlier, or let it fall less; else say who has nothing by a filter.
    """
    for probe in _probes(scorer):
        result = probe.run(_SUBNET)
        weights = () if result is None else result.weights.values()
        vanished = len(dropped(dict(enumerate(weights))))
        if vanished:
            ladders = (s for s in reversed(probe.bound.steps) if isinstance(s.rules, ByRank))
            step = next(ladders, probe.bound.weight)
            message = f"of {_SUBNET} miners {vanished} have a weight that is 0 on the chain"
            yield _finding(step, "", message, miners=_SUBNET, vanish=vanished)


@check("filter-above-all", "error", more("bound"), less("highest"))
@_for_each_step_of(Filter)
def _filter_above_all(step: BoundStep, rules: Filter, allocation: _Ranged) -> Iterator[Finding]:
    """A filter that no value passes.

    The range of the column is that of the rule set: an emission is at most its proved bound, a
    reputation at most its ceiling, a base weight that of a skill type. A filter that asks for more
    than that keeps nobody.

    Remedy: lower the bound below what the column can be.
    """
    if rules.judged not in allocation.ranges:
        return  # nothing is known of an attribute of miners
    highest = allocation.ranges[rules.judged][1]
    edges = (("above", "more than", rules.above), ("at_least", "at least", rules.least))
    for key, words, edge in edges:
        if edge is not None and (edge > highest or (key == "above" and edge == highest)):
            yield Finding(
                (*step.origin, key),
                f"{rules.judged} is at most {figure(highest)}, and the {rules.do} asks for {words} "
                f"{edge}",
                {"bound": str(edge), "highest": figure(highest)},
            )


@check("warm-up-too-long", "warning", more("tasks"))
@_for_each_step_of(FormulaStep)
def _warm_up_too_long(step: BoundStep, _: FormulaStep, __: _Ranged) -> Iterator[Finding]:
    """A formula of a count that reaches its full value late or never.

    A formula that rises with a number of tasks up to a greatest value is searched for the least
    number at which it has it. Beyond a thousand tasks, or beyond as many as the step counts, a
    newcomer never has what others have.

    Remedy: lower the number of tasks, or count as many as the formula asks for.
    """
    for count in step.inputs:
        counted = count.rules
        if not isinstance(counted, Collect) or counted.statistic != "count":
            continue
        most = counted.last or _COUNTED
        needed = None if step.formula is None else _tasks_to_full(step.formula, count.name)
        if needed is not None and (needed > most or needed > _LONG):
            counts = f", and {count.name} counts {most} at most" if needed > most else ""
            message = f"{step.name} has its full value from {needed} tasks on{counts}"
            yield _finding(step, "", message, tasks=needed, counted=most)


def _tasks_to_full(formula: Formula, count: str) -> int | None:
    """Return the least count at which a formula has its value at very many; None if it falls."""
    others = {name: Fraction(1) for name in formula.published}

    def value(tasks: int) -> Fraction | None:
        try:
            result = evaluate(formula.tree, {}, {**others, count: Fraction(tasks)})
        except (FormulaError, UndecidedError):
            return None
        return result if isinstance(result, Fraction) else None

    full, half = value(_COUNTED), _COUNTED // 2
    if full is None or value(half) != full or value(0) == full:
        return None
    return bisect_left(range(half), True, key=lambda tasks: value(tasks) == full)


@check("one-task-decides", "warning")
@_for_each_step_of(Collect)
def _one_task_decides(step: BoundStep, rules: Collect, allocation: _Ranged) -> Iterator[Finding]:
    """A window of one task.

    Of all tasks of a miner the newest alone counts, so that one lucky answer makes a weight, and
    one unlucky answer ends it. Whatever was done before is forgotten.

    Remedy: let more tasks count.
    """
    bound = allocation.bound
    counts = rules.statistic != "count" and step in bound.needed([bound.weight])
    if counts and rules.last == 1:
        yield Finding((*step.origin, "last"), f"{step.name} is of the newest task alone", {})


@check("average-forgets", "warning")
@_for_each_step_of(Average)
def _average_forgets(step: BoundStep, rules: Average, _: _Ranged) -> Iterator[Finding]:
    """A moving average that is the newest value alone.

    An average carries the values of the rounds before. With a share of 1 for new ones these count
    nothing, and the step only looks like a memory.

    Remedy: lower the share of new values, or leave the step out.
    """
    if rules.new == 1:
        yield _finding(step, "new", f"{step.name} is the newest {rules.of} alone")


@check("average-never-falls", "warning")
@_for_each_step_of(Average)
def _average_never_falls(step: BoundStep, rules: Average, _: _Ranged) -> Iterator[Finding]:
    """A moving average that only rises.

    Of values below the previous one the share is 0: what a miner once had it keeps, whatever it
    does since.

    Remedy: raise the share of lower values, or leave it out.
    """
    if rules.down == 0:
        yield _finding(step, "down", f"{step.name} keeps the best of {rules.of} so far")


@check("margin-unbeatable", "warning", less("held"))
@_for_each_step_of(Hold)
def _margin_unbeatable(step: BoundStep, rules: Hold, allocation: _Ranged) -> Iterator[Finding]:
    """A first place that nobody can take, whatever they do.

    Computed for values over the range that the column can have, after a reign that is as long as
    one likes: from a value on what another has to exceed is the greatest there is, or more.

    Remedy: say ceiling, from which on nothing of the margin is left, or let it shrink to 0.
    """
    low, high = allocation.ranges[rules.of]
    tried = (low + (high - low) * Fraction(part, _PARTS) for part in range(1, _PARTS))
    held = next((h for h in tried if h > 0 and rules.threshold(h, _COUNTED) >= high), None)
    if held is not None:
        yield _finding(
            step,
            "margin" if rules.margin else "lead",
            f"who holds with {figure(held)} of {rules.of} or more cannot be exceeded: it is at "
            f"most {figure(high)}",
            held=figure(held),
            highest=figure(high),
        )


@check("holder-never-leaves", "note")
@_for_each_step_of(Hold)
def _holder_never_leaves(step: BoundStep, rules: Hold, _: _Ranged) -> Iterator[Finding]:
    """A holder of the first place that stays without doing anything.

    A holder without a value stays, its value of long ago is held, and the margin does not shrink to
    0: it is paid until another exceeds it, if it never works again.

    Remedy: say absent = "leaves", value = "own" with a floor, or let the margin shrink to 0.
    """
    shrinks = rules.shrink > 0 and not rules.least
    if rules.absent == "stays" and (rules.margin or rules.lead) and not shrinks:
        yield _finding(step, "absent", f"who holds {step.name} stays without a value of {rules.of}")


@check("rest-is-all", "error")
@_for_each_step_of(Rest)
def _rest_is_all(step: BoundStep, rules: Rest, allocation: _Ranged) -> Iterator[Finding]:
    """A rest that is always everything.

    By the range that the column can have nobody has more than 0, so that all goes to the recipient.

    Remedy: look at the steps before it: tallystick allocate --explain shows each.
    """
    if allocation.ranges[rules.of][1] <= 0:
        message = f"nobody has more than 0 of {rules.of}: all is for {rules.burn}"
        yield _finding(step, "of", message, of=rules.of)
