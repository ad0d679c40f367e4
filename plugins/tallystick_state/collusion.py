"""Collusion: who agrees with primaries and not with auditors, over a window of rounds.

The set of rows decides, not their order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import attrs

from tallystick.numbers.nano import from_decimal

if TYPE_CHECKING:
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
    """The rounds for which a miner is newly flagged, ascending.

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
    window: list[AlignmentRow] = []
    found: list[int] = []
    for row in sorted(rows):
        first = max(start, row.round - detection.rounds) + 1
        window = [each for each in (*window, row) if each.round >= first]
        if row.round < since or row.round in before or row not in window:
            continue
        if _is_colluding(window, detection.minimum_samples, above, below):
            found.append(row.round)
            start = row.round if rules.flag_window_resets else start
    return tuple(found)


def _is_colluding(rows: list[AlignmentRow], minimum: int, above: int, below: int) -> bool:
    count = len(rows)
    return (
        count >= minimum
        and sum(row.primaries for row in rows) > above * count
        and sum(row.auditors for row in rows) < below * count
    )
