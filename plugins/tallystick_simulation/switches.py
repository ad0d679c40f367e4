"""Switches: what a rule set can do, and whether a run made it do it.

A comparison of two rule sets says nothing of a switch that no record moved; so the switches that
made no difference are named. Names are paths of the rule set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from tallystick.formula.columns import Column
from tallystick.numbers.nano import NANO, from_decimal
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.planner import ScoreColumns
from tallystick_allocation.allocate import Allocation
from tallystick_allocation.rules import ALLOCATION
from tallystick_allocation.step import AllocationStep
from tallystick_state.epoch_columns import EpochOutcome
from tallystick_state.event import StateEvent
from tallystick_state.groups import Group, is_ejected, is_selectable
from tallystick_state.model import State
from tallystick_state.rules import StateRules
from tallystick_state.sections.groups import GROUPS
from tallystick_state.sections.reputation import REPUTATION


@attrs.frozen(eq=False)
class Switches:
    """The switches of a rule set, and those that made a difference by now.

    Attributes:
        every: the names of all.
    """

    every: tuple[str, ...]
    _moved: set[str] = attrs.field(factory=set, init=False)

    @classmethod
    def of(cls, rules: BoundRules) -> Switches:
        """Return the switches of a rule set, none of which made a difference yet."""
        return cls((*_of_types(rules), *_of_state(rules)))

    @property
    def not_exercised(self) -> tuple[str, ...]:
        """The switches that made no difference."""
        return tuple(name for name in self.every if name not in self._moved)

    def records(self, events: Iterable[tuple[str, ...]], roles: Column) -> None:
        """Note the events of records and the roles of their miners."""
        self._moved.update(f"reputation.events.{event}" for own in events for event in own)
        if roles.any():
            self._moved.add("groups.auditors")

    def scores(self, scores: ScoreColumns) -> None:
        """Note tiers, and factors other than 1, of the records of a type."""
        bound = scores.bound
        if scores.level is not None and bound.tiers is not None:
            for level in set(scores.level.tolist()):
                self._moved.add(f"tiers.levels.{bound.tiers.levels[level]}")
        for factor in bound.factors:
            if (scores.columns[factor] != NANO).any():
                self._moved.add(f"emission.factors.{factor.name}")

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
            self._moved.add("groups.consensus.minimum_members")
        due = groups.rotation.auditor_rounds
        if groups.rotation.enabled and any(streaks.get(h, 0) >= due for h in group.primaries):
            self._moved.add("groups.rotation")
        members = (*group.primaries, *group.auditors)
        if any(not is_selectable(rules, state.miners[h], skill_type) for h in members):
            self._moved.add("groups.recovery")

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
                name
                for name, bound in (("reputation.floor", floor), ("reputation.ceiling", ceiling))
                if bound in values
            )
            if flags:
                self._moved.add("reputation.collusion.detection")
                self._moved.update(f"reputation.events.{e}" for f in flags for e in f.events)
            if rules.rule_set.section(GROUPS) is not None:
                least = from_decimal(rules.groups.minimum_reputation)
                if any(value < least for value in values):
                    self._moved.add("groups.minimum_reputation")
                if any(is_ejected(rules, miner) for miner in outcome.state.miners.values()):
                    self._moved.add("reputation.collusion.eject_at")
        allocation = outcome.weighed.allocation
        if allocation is not None:
            for step in allocation.bound.steps:
                name = f"allocation.steps.{step.name}"
                if name not in self._moved and _moves(allocation, step):
                    self._moved.add(name)


def exercised_by_none(runs: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the switches that no run exercised, in the order of the first.

    Args:
        runs: by run, the switches that it did not exercise.
    """
    first, *others = (*runs,) or ((),)
    return tuple(name for name in first if all(name in other for other in others))


def _of_types(rules: BoundRules) -> Iterator[str]:
    levels = dict.fromkeys(
        level
        for bound in rules.types.values()
        if bound.tiers is not None
        for level in bound.tiers.levels
    )
    yield from (f"tiers.levels.{level}" for level in levels)
    factors = dict.fromkeys(f.name for bound in rules.types.values() for f in bound.factors)
    yield from (f"emission.factors.{factor}" for factor in factors)


def _of_state(rules: BoundRules) -> Iterator[str]:
    rule_set = rules.rule_set
    reputation, groups = rule_set.section(REPUTATION), rule_set.section(GROUPS)
    if reputation is not None:
        yield from (f"reputation.events.{name}" for name in reputation.events)
        yield from ("reputation.floor", "reputation.ceiling")
        if reputation.collusion is not None:
            yield from ("reputation.collusion.detection", "reputation.collusion.eject_at")
    if groups is not None:
        yield from ("groups.auditors", "groups.consensus.minimum_members")
        yield "groups.minimum_reputation"
        if groups.rotation.enabled:
            yield "groups.rotation"
        if groups.recovery.enabled:
            yield "groups.recovery"
    allocation = rule_set.section(ALLOCATION)
    if allocation is not None:
        yield from (f"allocation.steps.{step.name}" for step in allocation.steps)


def _moves(allocation: Allocation, step: AllocationStep) -> bool:
    """Return whether a step gave something else than the step that it reads, or anything at all."""
    if step.name not in allocation.columns:
        # what is before a carried column is computed as the epoch closes
        return any(allocation.carry.values())
    values, of = allocation.nano(step.name), getattr(step.rules, "of", None)
    if isinstance(of, str) and of in allocation.columns:
        return values != allocation.nano(of)
    return bool(values)
