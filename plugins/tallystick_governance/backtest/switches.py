"""Switches of a rule set: parts of it that only some records, miners or epochs reach.

A change of a part that the history never reaches moves nothing there, and may move everything in
another history. So a back-test counts how often each part was reached, and says which were not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import get_args

import numpy as np

from tallystick.numbers.nano import NANO
from tallystick.scoring.bound import BoundType
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.planner import ScoreColumns
from tallystick_allocation.allocate import Allocation
from tallystick_allocation.column import published
from tallystick_allocation.rules import ALLOCATION, CapStep, Filter, OnePer, StepRules, Top
from tallystick_state.miners import FLAG
from tallystick_state.record_columns import RecordColumns, alike, counts_of
from tallystick_state.roles import Role
from tallystick_state.sections.reputation import REPUTATION

LATE, MISSED = "late submission", "missed deadline without a submission"
SEVERAL = "several validators of a task"
NEWCOMER, ABSENT, REPLACED = "newcomer", "absent miner", "replaced hotkey"
_ALWAYS = (LATE, MISSED, SEVERAL, NEWCOMER, ABSENT, REPLACED)
_BINDING = (Filter, Top, OnePer, CapStep)
"""Steps that may leave every value as it is."""


def switches_of(rules: BoundRules) -> set[str]:
    """Return the names of the switches of a rule set, and of those that it adopts."""
    roles = map(_role, get_args(Role))
    return {*_ALWAYS, *roles}.union(*(_names(own) for _, own in rules.spans()))


def _names(rules: BoundRules) -> Iterator[str]:
    reputation = rules.rule_set.section(REPUTATION)
    if reputation is not None:
        yield from map(_event, reputation.events)
        if reputation.collusion is not None:
            yield _event(FLAG)
    for bound in rules.types.values():
        yield from (f"gate {gate.axis}" for gate in bound.gates)
        yield from (_axis(axis.name) for axis in bound.axes)
        yield from (_factor(factor.name) for factor in bound.factors)
        if bound.tiers is not None:
            yield from (f"tier {level}" for level in bound.tiers.levels)
    allocation = rules.rule_set.section(ALLOCATION)
    for step in () if allocation is None else allocation.steps:
        if isinstance(step, _BINDING):
            yield _step(step)


def _event(name: str) -> str:
    return f"event {name}"


def _role(name: str) -> str:
    return f"role {name}"


def _axis(name: str) -> str:
    return f"axis {name} below 1"


def _factor(name: str) -> str:
    return f"factor {name} other than 1"


def _step(step: StepRules) -> str:
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


def of_records(records: RecordColumns) -> Iterator[tuple[str, int]]:
    """Yield how often some records are late, of a role, shared by validators, or have an event."""
    yield LATE, int(np.count_nonzero(records.missed & records.scored))
    yield MISSED, int(np.count_nonzero(records.missed & ~records.scored))
    roles = np.bincount(records.role.codes, minlength=len(records.role.names)).tolist()
    yield from zip(map(_role, records.role.names), roles, strict=True)
    order, starts = alike(records.hotkey.codes, records.task_id.codes, records.round)
    yield SEVERAL, int(np.count_nonzero(counts_of(order, starts) > 1))
    counts = np.bincount(records.events.codes, minlength=len(records.events.names)).tolist()
    for names, count in zip(records.events.names, counts, strict=True):
        for name in set(names):
            yield _event(name), count


def of_weights(allocation: Allocation | None) -> Iterator[tuple[str, int]]:
    """Yield the steps that changed a value on the way to some weights."""
    if allocation is None:
        return
    for step in allocation.bound.steps:
        if isinstance(step.rules, _BINDING) and _changes(allocation, step.rules):
            yield _step(step.rules), 1


def _changes(allocation: Allocation, rules: Filter | Top | OnePer | CapStep) -> bool:
    before, after = (allocation.columns.get(name) for name in (rules.of, rules.name))
    if before is None or after is None:
        return False
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return any(published(before[group]) != published(after[group]) for group in before)
    if isinstance(before, Mapping) or isinstance(after, Mapping):
        return True
    return published(before) != published(after)  # type: ignore[arg-type]  # no step of these gives a number


def counted(names: Iterable[str], counts: Counter[str]) -> dict[str, int]:
    """Return the count of each switch of a rule set, in name order."""
    return {name: counts[name] for name in sorted(names)}
