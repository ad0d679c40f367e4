"""Visibility: ranks, leaderboards, and the count of dispatched rounds."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rules.documents import with_section
from state.subnet import rules_of, under

from tallystick_state.leaderboard import leaderboard, ranks, rounds_dispatched
from tallystick_state.model import MinerEntry, State
from tallystick_state.rules import StateRules
from tallystick_state.sections.reputation import REPUTATION

TYPE = "mcp_server"
NANO = 10**9
NOW = datetime(2026, 3, 29, 12, tzinfo=UTC)


def with_visibility(**changes: object) -> StateRules:
    here = rules_of("skills@1.0.0")
    visibility = here.reputation.visibility
    assert visibility is not None
    changed = attrs.evolve(visibility, **changes) if changes else None
    reputation = attrs.evolve(here.reputation, visibility=changed)
    return under(here, with_section(here.rule_set, REPUTATION, reputation))


def miner(hotkey: str, uid: int | None, reputation: Fraction, **more: object) -> MinerEntry:
    nano = reputation * NANO
    assert nano.denominator == 1
    return MinerEntry(hotkey, uid, **{"types": (TYPE,), "reputation": {TYPE: int(nano)}} | more)


def state(reputations: dict[str, Fraction]) -> State:
    return State(0, {h: miner(h, n, r) for n, (h, r) in enumerate(reputations.items())}, {})


REPUTATIONS = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3),
    st.sampled_from(["0.05", "0.199999999", "0.2", "0.5", "0.500000001", "1"]).map(Fraction),
    max_size=10,
)


@given(REPUTATIONS)
def test_a_rank_is_one_more_than_the_number_of_those_above(
    reputations: dict[str, Fraction],
) -> None:
    pool = {hotkey: each for hotkey, each in reputations.items() if each >= Fraction("0.20")}
    wanted = {h: 1 + sum(other > mine for other in pool.values()) for h, mine in pool.items()}
    found = state(reputations)
    assert ranks(found, TYPE, rules_of("skills@1.0.0")) == wanted
    board = [
        (each.rank, each.hotkey) for each in leaderboard(found, TYPE, rules_of("skills@1.0.0"))
    ]
    assert board == sorted((rank, hotkey) for hotkey, rank in wanted.items())


# --------------------------------------------------------------------------------------- rounds


DAY = timedelta(hours=24)


@pytest.mark.parametrize("start", ["inclusive", "exclusive"])
@pytest.mark.parametrize("end", ["inclusive", "exclusive"])
def test_the_edges_are_as_the_rule_set_says(start: str, end: str) -> None:
    here = with_visibility(window_start=start, window_end=end, window_hours=2)
    times = {1: NOW - timedelta(hours=2), 2: NOW - timedelta(hours=1), 3: NOW}
    wanted = (start == "inclusive") + 1 + (end == "inclusive")
    assert rounds_dispatched([1, 2, 3], times, NOW, here) == wanted


def test_without_a_window_every_round_counts() -> None:
    times = {1: NOW - 9 * DAY, 2: NOW}
    assert rounds_dispatched([1, 2], times, NOW, with_visibility()) == 2
    assert rounds_dispatched([1, 2], times, NOW, rules_of("workflow@1.0.0")) == 2


@given(
    st.sets(st.integers(0, 9)),
    st.dictionaries(st.integers(0, 9), st.integers(-60, 60)),
    st.none() | st.integers(-60, 60),
)
def test_the_count_is_that_of_the_rounds_in_the_window(
    dispatched: set[int], hours: dict[int, int], at: int | None
) -> None:
    times = {number: NOW + timedelta(hours=each) for number, each in hours.items()}
    end = at if at is not None else max(hours.values(), default=0)
    wanted = 0
    for number in dispatched:
        earlier = [each for each in hours if each <= number]
        wanted += not hours or bool(earlier and end - 24 < hours[max(earlier)] <= end)
    moment = NOW + timedelta(hours=at) if at is not None else None
    assert rounds_dispatched(dispatched, times, moment, rules_of("skills@1.0.0")) == wanted
