"""Leaderboards: public ranks of miners, their dispatches, and who may see what of a state.

See "Visibility" of docs/sources.md and E41 of docs/errata.md. Nothing here tells of single tasks or
rounds. Miners are ranked among those that groups are selected from; equal reputations share a rank,
and the ranks that they take up are left out: 1, 2, 2, 4.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import get_args

import attrs

from tallystick.errors import StateError
from tallystick.numbers.nano import to_decimal
from tallystick.records.messages import shown
from tallystick_state.groups import is_selectable
from tallystick_state.model import State
from tallystick_state.rules import StateRules
from tallystick_state.sections.reputation import REPUTATION, OwnValue, PublicPage, Visibility


@attrs.frozen
class Standing:
    """A place on the leaderboard of a skill type.

    Attributes:
        rank: from 1; shared by equal reputations.
        hotkey: the miner.
        uid: its slot.
        reputation: in the type.
    """

    rank: int
    hotkey: str
    uid: int | None
    reputation: Decimal


def ranks(state: State, skill_type: str, rules: StateRules) -> dict[str, int]:
    """Return the ranks by hotkey; who is not selectable has none.

    Raises:
        StateError: the rule set has no groups.
    """
    return {standing.hotkey: standing.rank for standing in leaderboard(state, skill_type, rules)}


def leaderboard(state: State, skill_type: str, rules: StateRules) -> list[Standing]:
    """Return the selectable miners of a type, the best first, by hotkey among equals.

    Raises:
        StateError: the rule set has no groups.
    """
    pool = [
        candidate
        for candidate in state.miners.values()
        if is_selectable(rules, candidate, skill_type)
    ]
    pool.sort(key=lambda miner: (-miner.reputation[skill_type], miner.hotkey))
    first = dict[int, int]()
    standings = []
    for position, miner in enumerate(pool, 1):
        nano = miner.reputation[skill_type]
        rank = first.setdefault(nano, position)
        standings.append(Standing(rank, miner.hotkey, miner.uid, to_decimal(nano)))
    return standings


def window_of(times: Mapping[int, datetime], rules: StateRules) -> Visibility | None:
    """Return the window in which `rounds_dispatched` counts; None where it counts all rounds."""
    reputation = rules.rule_set.section(REPUTATION)
    return reputation.visibility if times and reputation is not None else None


def rounds_dispatched(
    dispatched: Collection[int],
    times: Mapping[int, datetime],
    at: datetime | None,
    rules: StateRules,
) -> int:
    """Return the number of rounds within the last hours in which a miner was dispatched.

    A round without a time counts at the time of the nearest round before it that has one. One that
    has none before it does not count, unless no time is recorded at all: then every round does. So
    it does where the rule set has no window.

    Args:
        dispatched: the miner's rounds; a round that is given more often counts once.
        times: when rounds took place, of all rounds that have a time, not of this miner's alone.
            All have a time zone, or none.
        at: the end of the window; None for the latest recorded time.
        rules: its ``reputation.visibility`` has the length and the edges of the window.
    """
    rounds, window = set(dispatched), window_of(times, rules)
    if window is None:
        return len(rounds)
    end, timed = at or max(times.values()), sorted(times)
    before = (bisect_right(timed, number) for number in rounds)
    counted = (times[timed[count - 1]] for count in before if count)
    return sum(_in_window(end - when, window) for when in counted)


def _in_window(age: timedelta, visibility: Visibility) -> bool:
    """Return whether an age lies in the window, whose edges the rule set includes or not."""
    length, now = timedelta(hours=visibility.window_hours), timedelta()
    return (
        now < age < length
        or (age == now and visibility.window_end == "inclusive")
        or (age == length and visibility.window_start == "inclusive")
    )


WHOLE: Collection[str] = get_args(OwnValue)
"""Values of a miner that its operator sees: all."""


def seen_by(viewer: str, hotkey: str, *rules: StateRules) -> Collection[str]:
    """Return the values of a miner that it may see of itself, by the rule set.

    Args:
        viewer: who asks.
        hotkey: whom it asks for.
        rules: of the state; of several lines, each has to show it.

    Raises:
        StateError: they are two miners; of others there are only public pages.
    """
    if viewer != hotkey:
        raise StateError(
            f"found {shown(viewer)}, who asks for {shown(hotkey)}, expected the hotkey of the same "
            "miner: of others a miner sees what is public alone, such as tallystick state board"
        )
    shown_by = [visibility.own for visibility in map(_visibility, rules) if visibility is not None]
    return [value for value in WHOLE if all(value in own for own in shown_by)]


def check_public(page: PublicPage, rules: StateRules) -> None:
    """Refuse to show everyone a page that the rule set does not make public.

    Raises:
        StateError: it does not.
    """
    visibility = _visibility(rules)
    if visibility is not None and page not in visibility.public:
        public = ", ".join(visibility.public) or "nothing"
        raise StateError(
            f"found that {rules.rule_set.reference} makes {public} public, expected {page}: only "
            "the operator sees them"
        )


def _visibility(rules: StateRules) -> Visibility | None:
    reputation = rules.rule_set.section(REPUTATION)
    return None if reputation is None else reputation.visibility
