"""Collusion: who agrees with primaries and not with auditors, over a window of rounds.

The set of rows decides, not their order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from math import lcm
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol

import attrs

from tallystick.numbers.nano import from_decimal, publish
from tallystick_state.event import StateEvent
from tallystick_state.miners import ENGINE, FLAG
from tallystick_state.sections.reputation import REPUTATION

if TYPE_CHECKING:
    from tallystick.rules.model import RuleSet
    from tallystick_state.rules import StateRules
    from tallystick_state.sections.reputation import Collusion


@attrs.frozen(order=True)
class AlignmentRow:
    """The alignment of a miner in a round and a skill type, in nano: the mean over its groups."""

    round: int
    primaries: int
    auditors: int


def flags_of(
    rows: Iterable[AlignmentRow], rules: Collusion, flagged: Iterable[int] = (), since: int = 0
) -> tuple[int, ...]:
    """Return the rounds for which a miner is newly flagged, ascending.

    Args:
        rows: of one miner and one skill type, of each round at most one.
        rules: the window, and what flags.
        flagged: rounds that were flagged before: none is flagged twice, and where a flag starts the
            window anew, nothing up to the last of them counts.
        since: the first round that may be flagged.
    """
    detection, before = rules.detection, frozenset(flagged)
    above, below = map(from_decimal, (detection.primaries_above, detection.auditors_below))
    start = max(before, default=-1) if rules.flag_window_resets else -1
    every = sorted(rows, key=_AGE)
    flagged_now: list[int] = []
    for place, row in enumerate(every):
        if row.round < since or row.round in before:
            continue
        first = max(start, row.round - detection.rounds) + 1
        window = every[bisect_left(every, first, hi=place + 1, key=_ROUND) : place + 1]
        if window and _is_colluding(window, detection.minimum_samples, above, below):
            flagged_now.append(row.round)
            start = row.round if rules.flag_window_resets else start
    return tuple(flagged_now)


_ROUND = attrgetter("round")
_AGE = attrgetter("round", "primaries", "auditors")


def _is_colluding(rows: list[AlignmentRow], minimum: int, above: int, below: int) -> bool:
    count = len(rows)
    return (
        count >= minimum
        and sum(row.primaries for row in rows) > above * count
        and sum(row.auditors for row in rows) < below * count
    )


TASK = "collusion"
"""The task that flags of the engine name, as every event names one."""


def rows_of(events: Iterable[StateEvent]) -> list[AlignmentRow]:
    """Return the rows of one miner and skill type: by round the published mean over its groups."""
    sides: dict[int, list[tuple[Fraction, Fraction]]] = defaultdict(list)
    for event in events:
        if event.alignment is not None:
            primaries, auditors = map(Fraction, event.alignment)
            sides[event.round].append((primaries, auditors))
    return [row_of(number, pairs) for number, pairs in sorted(sides.items())]


def row_of(number: int, pairs: Sequence[tuple[Fraction, Fraction]]) -> AlignmentRow:
    """Return the row of one miner, skill type and round: the published mean over its groups.

    Args:
        number: of the round.
        pairs: of each group the agreement with primaries and with auditors, exact; at least one.
    """
    primaries, auditors = map(_mean, zip(*pairs, strict=True))
    return AlignmentRow(number, primaries, auditors)


def _mean(values: Sequence[Fraction]) -> int:
    # over one denominator: to add fractions one by one takes far longer
    common = lcm(*(value.denominator for value in values))
    total = sum(value.numerator * (common // value.denominator) for value in values)
    return publish(Fraction(total, common * len(values)))


class AlignedRecords(Protocol):
    """The records that have an alignment, and the flags that the engine gave for them."""

    def aligned_events(self, counted_in: int, /) -> Iterable[StateEvent]:
        """Return the records of an epoch."""

    def scored(self, hotkey: str, /) -> Iterable[StateEvent]:
        """Return the records of a miner, newest first."""

    def flagged_rounds(self, hotkey: str, skill_type: str, /) -> Iterable[int]:
        """Return the rounds for which a miner was flagged in a skill type."""


def collusion_flags(
    epoch: int, rules_of: Callable[[str], StateRules | None], records: AlignedRecords
) -> list[StateEvent]:
    """Return the flags that the engine gives as an epoch closes, in the order of their identities.

    For each miner and type with a row of the epoch, every round from the first of these rows on is
    judged by all rows that were recorded by now; the flags of before stay.

    Args:
        epoch: that closes.
        rules_of: returns its rules of a skill type; None where they have no such type.
        records: those of the epoch, and of epochs before.
    """
    first: dict[tuple[str, str], int] = {}
    for event in records.aligned_events(epoch):
        owner = event.hotkey, event.skill_type
        first[owner] = min(event.round, first.get(owner, event.round))
    flags = []
    for (hotkey, skill_type), since in sorted(first.items()):
        rules = rules_of(skill_type)
        collusion = None if rules is None else collusion_of(rules.rule_set)
        if collusion is None:
            continue
        own = _since(records, hotkey, skill_type, since - collusion.detection.rounds)
        before = records.flagged_rounds(hotkey, skill_type)
        flagged = flags_of(rows_of(own), collusion, before, since)
        flags += [flag_of(hotkey, skill_type, number, epoch) for number in flagged]
    return flags


def collusion_of(rule_set: RuleSet) -> Collusion | None:
    """Return the collusion rules of a rule set; None where it has none."""
    reputation = rule_set.section(REPUTATION)
    return None if reputation is None else reputation.collusion


def _since(
    records: AlignedRecords, hotkey: str, skill_type: str, after: int
) -> Iterator[StateEvent]:
    """Yield the records of a miner and a type of the rounds after one."""
    for event in records.scored(hotkey):
        if event.round <= after:
            return
        if event.skill_type == skill_type:
            yield event


def flag_of(hotkey: str, skill_type: str, number: int, epoch: int) -> StateEvent:
    """Return the flag that the engine gives a miner for a round as an epoch closes."""
    return StateEvent(
        validator=ENGINE,
        hotkey=hotkey,
        skill_type=skill_type,
        task_id=TASK,
        round=number,
        epoch=epoch,
        events=(FLAG,),
        id=f"{TASK}:{skill_type}:{hotkey}:{number}",
    )
