"""Switches of a rule set: parts of it that only some records, miners or epochs reach.

A change of a part that the history never reaches moves nothing there, and may move everything in
another history. So a back-test counts how often each part was reached, and says which were not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import get_args

import numpy as np

from tallystick.scoring.bound_rules import BoundRules
from tallystick_simulation.switches import event, of_rules, role
from tallystick_state.record_columns import RecordColumns, alike, counts_of
from tallystick_state.roles import Role

LATE, MISSED = "late submission", "missed deadline without a submission"
SEVERAL = "several validators of a task"
NEWCOMER, ABSENT, REPLACED = "newcomer", "absent miner", "replaced hotkey"
_ALWAYS = (LATE, MISSED, SEVERAL, NEWCOMER, ABSENT, REPLACED)


def switches_of(rules: BoundRules) -> set[str]:
    """Return the names of the switches of a rule set, and of those that it adopts."""
    roles = map(role, get_args(Role))
    return {*_ALWAYS, *roles}.union(*(of_rules(own) for _, own in rules.spans()))


def of_records(records: RecordColumns) -> Iterator[tuple[str, int]]:
    """Yield how often some records are late, of a role, shared by validators, or have an event."""
    yield LATE, int(np.count_nonzero(records.missed & records.scored))
    yield MISSED, int(np.count_nonzero(records.missed & ~records.scored))
    roles = np.bincount(records.role.codes, minlength=len(records.role.names)).tolist()
    yield from zip(map(role, records.role.names), roles, strict=True)
    order, starts = alike(records.hotkey.codes, records.task_id.codes, records.round)
    yield SEVERAL, int(np.count_nonzero(counts_of(order, starts) > 1))
    counts = np.bincount(records.events.codes, minlength=len(records.events.names)).tolist()
    for names, count in zip(records.events.names, counts, strict=True):
        for name in set(names):
            yield event(name), count


def counted(names: Iterable[str], counts: Counter[str]) -> dict[str, int]:
    """Return the count of each switch of a rule set, in name order."""
    return {name: counts[name] for name in sorted(names)}
