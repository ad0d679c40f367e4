"""Switches: parts of a rule set that only some records, miners or epochs reach.

A change of a part that nothing reaches moves nothing there, and may move everything elsewhere. So
whoever compares rule sets, by a history or by made-up miners, names those that were not reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs
import numpy as np

from tallystick.formula.columns import Column
from tallystick.numbers.nano import NANO, from_decimal
from tallystick.scoring.bound import BoundType
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.planner import ScoreColumns
from tallystick_allocation.allocate import Allocation
from tallystick_allocation.column import columns_in
from tallystick_allocation.rules import ALLOCATION
from tallystick_allocation.steps.step import AllocationStep, BoundStep
from tallystick_state.epoch_columns import EpochOutcome
from tallystick_state.event import StateEvent
from tallystick_state.groups import Group, is_ejected, is_selectable
from tallystick_state.miners import FLAG
from tallystick_state.model import State
from tallystick_state.rules import StateRules
from tallystick_state.sections.groups import GROUPS
from tallystick_state.sections.reputation import REPUTATION

_NO_CONSENSUS = "group too small for a consensus"
_ROTATED = "rotation of auditors"
_RECOVERED, _EXCLUDED, _EJECTED = "recovery of a miner", "miner below the pool", "ejected miner"
_FLOOR, _CEILING = "reputation at its floor", "reputation at its ceiling"


@attrs.frozen(eq=False)
class Switches:
    """The switches of a rule set, and those that made a difference by now.

    Attributes:
        every: the names of all, in order.
    """

    every: tuple[str, ...]
    _moved: set[str] = attrs.field(factory=set, init=False)

    @classmethod
    def of(cls, rules: BoundRules) -> Switches:
        """Return the switches of a rule set, none of which made a difference yet."""
        return cls(tuple(sorted({*of_rules(rules), *_of_state(rules)})))

    @property
    def not_exercised(self) -> tuple[str, ...]:
        """The switches that made no difference."""
        return tuple(name for name in self.every if name not in self._moved)

    def records(self, events: Iterable[tuple[str, ...]], roles: Column) -> None:
        """Note the events of records and the roles of their miners."""
        self._moved.update(event(name) for own in events for name in own)
        if roles.any():
            self._moved.add(role("auditor"))

    def scores(self, scores: ScoreColumns) -> None:
        """Note the axes, gates, factors and tiers that the records of a type reached."""
        self._moved.update(name for name, count in of_scores(scores.bound, scores) if count)

    def group(
        self,
        state: State,
        rules: StateRules,
        skill_type: str,
        group: Group,
        streaks: Mapping[str, int],
    ) -> None:
        """Note how a group was selected."""
        groups = rules.groups
        if not group.consensus:
            self._moved.add(_NO_CONSENSUS)
        due = groups.rotation.auditor_rounds
        if groups.rotation.enabled and any(streaks.get(h, 0) >= due for h in group.primaries):
            self._moved.add(_ROTATED)
        members = (*group.primaries, *group.auditors)
        if any(not is_selectable(rules, state.miners[h], skill_type) for h in members):
            self._moved.add(_RECOVERED)

    def close(self, rules: StateRules, outcome: EpochOutcome, flags: Sequence[StateEvent]) -> None:
        """Note what the end of an epoch did to reputations, thresholds and weights."""
        reputation = rules.rule_set.section(REPUTATION)
        if reputation is not None:
            floor, ceiling = from_decimal(reputation.floor), from_decimal(reputation.ceiling)
            values = [
                nano
                for miner in outcome.state.miners.values()
                for nano in miner.reputation.values()
            ]
            self._moved.update(
                name for name, bound in ((_FLOOR, floor), (_CEILING, ceiling)) if bound in values
            )
            if flags:
                self._moved.update(event(name) for flag in flags for name in flag.events)
            if rules.rule_set.section(GROUPS) is not None:
                least = from_decimal(rules.groups.minimum_reputation)
                if any(value < least for value in values):
                    self._moved.add(_EXCLUDED)
                if any(is_ejected(rules, miner) for miner in outcome.state.miners.values()):
                    self._moved.add(_EJECTED)
        self._moved.update(name for name, _ in of_weights(outcome.weighed.allocation))


def exercised_by_none(runs: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the switches that no run exercised, in name order.

    Args:
        runs: by run, of which there is at least one, the switches that it did not exercise.
    """
    first, *others = map(frozenset, runs)
    return tuple(sorted(first.intersection(*others)))


def of_rules(rules: BoundRules) -> Iterator[str]:
    """Yield the switches of the sections of a rule set; those of several types more than once."""
    reputation = rules.rule_set.section(REPUTATION)
    if reputation is not None:
        yield from map(event, reputation.events)
        if reputation.collusion is not None:
            yield event(FLAG)
    for bound in rules.types.values():
        yield from (f"gate {gate.axis}" for gate in bound.gates)
        yield from (_axis(axis.name) for axis in bound.axes)
        yield from (_factor(factor.name) for factor in bound.factors)
        if bound.tiers is not None:
            yield from (f"tier {level}" for level in bound.tiers.levels)
    allocation = rules.rule_set.section(ALLOCATION)
    for step in () if allocation is None else allocation.steps:
        if step.can_bind:
            yield _step(step)


def event(name: str) -> str:
    """Return the switch of an event of records."""
    return f"event {name}"


def role(name: str) -> str:
    """Return the switch of a role in groups."""
    return f"role {name}"


def _axis(name: str) -> str:
    return f"axis {name} below 1"


def _factor(name: str) -> str:
    return f"factor {name} other than 1"


def _step(step: AllocationStep) -> str:
    return f"step {step.name} binds"


def of_scores(bound: BoundType, scores: ScoreColumns) -> Iterator[tuple[str, int]]:
    """Yield how often some scores reached each axis, factor, tier and gate."""
    axes = scores.axes
    for name, column in axes.items():
        yield _axis(name), int(np.count_nonzero(column < NANO))
    for gate in bound.gates:
        if gate.axis in axes:
            yield f"gate {gate.axis}", int(np.count_nonzero(axes[gate.axis] < gate.below))
    for factor in bound.factors:
        if factor in scores.columns:
            is_other = scores.columns[factor] != NANO
            applies = scores.given.get(factor)
            yield (
                _factor(factor.name),
                int(np.count_nonzero(is_other if applies is None else is_other & applies)),
            )
    if bound.tiers is not None and scores.level is not None:
        counts = np.bincount(scores.level, minlength=len(bound.tiers.levels)).tolist()
        for level, count in zip(bound.tiers.levels, counts, strict=False):
            yield f"tier {level}", count


def of_weights(allocation: Allocation | None) -> Iterator[tuple[str, int]]:
    """Yield the steps that changed a value on the way to some weights."""
    if allocation is None:
        return
    for step in allocation.bound.steps:
        if step.rules.can_bind and _changes(allocation, step):
            yield _step(step.rules), 1


def _changes(allocation: Allocation, step: BoundStep) -> bool:
    before, after = (allocation.columns.get(name) for name in (step.inputs[0].name, step.name))
    if before is None or after is None:
        return False
    was, now = ([column.published for column in columns_in(each)] for each in (before, after))
    return was != now


def _of_state(rules: BoundRules) -> Iterator[str]:
    rule_set = rules.rule_set
    reputation, groups = rule_set.section(REPUTATION), rule_set.section(GROUPS)
    if reputation is not None:
        yield from (_FLOOR, _CEILING)
        if reputation.collusion is not None:
            yield _EJECTED
    if groups is not None:
        yield from (role("auditor"), _NO_CONSENSUS, _EXCLUDED)
        if groups.rotation.enabled:
            yield _ROTATED
        if groups.recovery.enabled:
            yield _RECOVERED
