"""Collusion: who agrees with primaries and not with auditors, over a window of rounds.

The set of rows decides, not their order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import takewhile
from math import lcm
from operator import attrgetter
from typing import TYPE_CHECKING

import attrs

from tallystick.numbers.nano import from_decimal, publish
from tallystick_state.event import StateEvent
from tallystick_state.miners import ENGINE, FLAG
from tallystick_state.sections.reputation import REPUTATION

if TYPE_CHECKING:
    from tallystick.rules.model import RuleSet
    from tallystick_state.rules import StateRules
    from tallystick_state.sections.reputation import Collusion
    from tallystick_state.store.transaction import Transaction

    RulesOf = Callable[[str], StateRules | None]

Owner = tuple[str, str]
"""A hotkey and a skill type."""


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


Pair = tuple[Fraction, Fraction]
"""Agreement of a member with the primaries and with the auditors of its group."""
TASK = "collusion"
"""The task that flags of the engine name, as every event names one."""


def _row_of(number: int, pairs: Sequence[Pair]) -> AlignmentRow:
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


class Alignments:
    """The rows of miners by skill type, and the rounds for which they were flagged.

    Attributes:
        since: by owner, the first round with a new row: flags are given from there on.
        flagged: by owner, the rounds of flags, of which none is given twice.
    """

    def __init__(self) -> None:
        """Begin without rows."""
        self._pairs = defaultdict[Owner, defaultdict[int, list[Pair]]](lambda: defaultdict(list))
        self.since: dict[Owner, int] = {}
        self.flagged = defaultdict[Owner, list[int]](list)

    def add(self, owner: Owner, number: int, pairs: Iterable[Pair], *, is_new: bool = True) -> None:
        """Take the alignments of a miner in a round, of each of its groups; at least one."""
        self._pairs[owner][number] += pairs
        if is_new:
            self.since[owner] = min(number, self.since.get(owner, number))

    def add_events(self, events: Iterable[StateEvent], *, is_new: bool = True) -> None:
        """Take the alignments of records, of those that have one."""
        for event in events:
            if event.alignment is not None:
                primaries, auditors = map(Fraction, event.alignment)
                owner, pair = (event.hotkey, event.skill_type), (primaries, auditors)
                self.add(owner, event.round, [pair], is_new=is_new)

    def flags(self, epoch: int, rules_of: RulesOf) -> list[StateEvent]:
        """Return the flags that the engine gives as an epoch closes, in the order of identities.

        Every round from the first new row on is judged by all rows; the next epoch begins.

        Args:
            epoch: that closes.
            rules_of: returns its rules of a skill type; None where it has no such type.
        """
        flags = list[StateEvent]()
        for owner, first in sorted(self.since.items()):
            collusion = _collusion_in(rules_of, owner)
            if collusion is None:
                continue
            begin = first - collusion.detection.rounds
            rows = [_row_of(n, pairs) for n, pairs in self._pairs[owner].items() if n > begin]
            rounds = flags_of(rows, collusion, self.flagged[owner], first)
            self.flagged[owner] += rounds
            flags += [_flag_of(owner, number, epoch) for number in rounds]
        self.since.clear()
        return flags


def collusion_flags(epoch: int, rules_of: RulesOf, transaction: Transaction) -> list[StateEvent]:
    """Return the flags that the engine gives as an epoch of a stored state closes.

    Args:
        epoch: that closes.
        rules_of: returns its rules of a skill type; None where it has no such type.
        transaction: with the records of the epoch, and of epochs before.
    """
    alignments = Alignments()
    alignments.add_events(transaction.aligned_events(epoch))
    for owner, first in alignments.since.items():
        collusion = _collusion_in(rules_of, owner)
        if collusion is None:
            continue
        hotkey, skill_type = owner
        alignments.flagged[owner] += transaction.flagged_rounds(hotkey, skill_type)
        begin = first - collusion.detection.rounds
        earlier = _after(begin, transaction.scored(hotkey, epoch - 1))
        of_type = (event for event in earlier if event.skill_type == skill_type)
        alignments.add_events(of_type, is_new=False)
    return alignments.flags(epoch, rules_of)


def _after(begin: int, events: Iterable[StateEvent]) -> Iterator[StateEvent]:
    """Return the events of the rounds after one, of events from the newest on."""
    return takewhile(lambda event: event.round > begin, events)


def _collusion_in(rules_of: RulesOf, owner: Owner) -> Collusion | None:
    rules = rules_of(owner[1])
    return None if rules is None else collusion_of(rules.rule_set)


def collusion_of(rule_set: RuleSet) -> Collusion | None:
    """Return the collusion rules of a rule set; None where it has none."""
    reputation = rule_set.section(REPUTATION)
    return None if reputation is None else reputation.collusion


def _flag_of(owner: Owner, number: int, epoch: int) -> StateEvent:
    """Return the flag that the engine gives a miner for a round as an epoch closes."""
    hotkey, skill_type = owner
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
