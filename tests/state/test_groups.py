"""Groups: the pool, the primaries, the draw of auditors, rotation and recovery."""

import hashlib
import re
from fractions import Fraction

import attrs
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from oracle import groups as oracle
from oracle.decimals import count
from oracle.groups import Candidate
from rules.documents import with_section
from state.subnet import rules_of, under

from tallystick.errors import StateError
from tallystick_state import groups
from tallystick_state.groups import (
    Group,
    auditor_streak,
    candidate_pool,
    is_ejected,
    select_group,
)
from tallystick_state.model import MinerEntry, State
from tallystick_state.sections.groups import GROUPS
from tallystick_state.sections.reputation import REPUTATION

TYPE, OTHER = "mcp_server", "declarative"
PUBLISHED, CORRECTED = "skills@1.0.0", "skills@1.1.0"
NANO = 10**9


def miner(uid: int, candidate: Candidate) -> MinerEntry:
    reputation = {TYPE: count(candidate.reputation), OTHER: NANO}
    types = (OTHER, TYPE) if candidate.declared else (OTHER,)
    slot = uid if candidate.slot else None
    return MinerEntry(candidate.hotkey, slot, types, reputation, candidate.flags)


def state(candidates: list[Candidate]) -> State:
    miners = {each.hotkey: miner(uid, each) for uid, each in enumerate(candidates)}
    return State(0, miners, {})


def select(
    candidates: list[Candidate], name: str = PUBLISHED, dispatch: tuple[int, str] = (7, "seed")
) -> Group:
    streaks = {each.hotkey: each.streak for each in candidates}
    number, seed = dispatch
    return select_group(
        state(candidates), TYPE, rules_of(name), round=number, seed=seed, auditor_streaks=streaks
    )


REPUTATIONS = st.one_of(
    st.sampled_from([Fraction(text) for text in ("0.05", "0.199999999", "0.2", "0.5", "1")]),
    st.integers(50_000_000, NANO).map(lambda nano: Fraction(nano, NANO)),
)
CANDIDATES = st.lists(
    st.builds(
        Candidate,
        hotkey=st.text(st.sampled_from("abzé漢\U0001f511\uffff"), min_size=1, max_size=4),
        reputation=REPUTATIONS,
        flags=st.sampled_from([0, 0, 0, 2, 3, 4]),
        declared=st.sampled_from([True, True, True, False]),
        slot=st.sampled_from([True, True, True, False]),
        streak=st.integers(0, 4),
    ),
    min_size=5,
    max_size=14,
    unique_by=lambda candidate: candidate.hotkey,
)
DISPATCHES = st.tuples(st.integers(0, 2**31 - 1), st.text(max_size=5))
NAMES = st.sampled_from([PUBLISHED, CORRECTED])


@given(CANDIDATES, NAMES, DISPATCHES)
@examples(300)
def test_a_group_is_the_one_of_the_oracle(
    candidates: list[Candidate], name: str, dispatch: tuple[int, str]
) -> None:
    wanted = oracle.select(candidates, name, TYPE, dispatch)
    group = select(candidates, name, dispatch)
    pool = candidate_pool(state(candidates), TYPE, rules_of(name), dispatch[0])
    assert list(group.primaries) == wanted.primaries
    assert list(group.auditors) == wanted.auditors
    assert [h for h in pool if h not in group.primaries] == wanted.auditor_pool
    assert group.consensus == (len(group.primaries + group.auditors) >= 3)


# ------------------------------------------------------------------------------------ the pool


def test_a_rule_set_without_collusion_ejects_nobody() -> None:
    here = rules_of(PUBLISHED)
    reputation = attrs.evolve(here.reputation, collusion=None)
    may_fail = under(here, with_section(here.rule_set, REPUTATION, reputation))
    flagged = miner(1, Candidate("a", Fraction(1), flags=99))
    assert is_ejected(here, flagged)
    assert not is_ejected(may_fail, flagged)


# ------------------------------------------------------------------------------------ the draw


def test_the_example_of_the_page_is_right_by_hashlib_alone() -> None:
    rows = dict(re.findall(r"``(hk-\w)``  ``([0-9a-f]{24})``", groups.__doc__ or ""))
    drawn = re.findall(r"are ``(hk-\w)`` and ``(hk-\w)``", groups.__doc__ or "")
    prefix = (
        b"tallystick/auditor-draw/1"
        b"\x00\x00\x00\x00\x00\x00\x00\x07"
        b"\x00\x00\x00\x00\x00\x00\x00\x0ablock-4242"
        b"\x00\x00\x00\x00\x00\x00\x00\x0amcp_server"
    )
    found = {h: hashlib.sha256(prefix + h.encode()).hexdigest() for h in ("hk-a", "hk-b", "hk-c")}
    assert rows == {hotkey: ticket[:24] for hotkey, ticket in found.items()}
    assert drawn == [tuple(sorted(found, key=found.__getitem__)[:2])]


def test_the_example_of_the_page_is_what_is_drawn() -> None:
    top = [Candidate(f"top-{n}", Fraction(1)) for n in range(3)]
    rest = [Candidate(f"hk-{letter}", Fraction("0.5")) for letter in "abc"]
    assert select(top + rest, dispatch=(7, "block-4242")).auditors == ("hk-b", "hk-c")


@pytest.mark.parametrize("number", [-1, 2**64])
def test_a_round_that_no_record_can_have_is_refused(number: int) -> None:
    with pytest.raises(StateError, match=rf"found the round {number}, expected a whole number"):
        select([], dispatch=(number, "seed"))


# ---------------------------------------------------------------------------- rotation, recovery


def ladder(many: int, streaks: dict[int, int] | None = None) -> list[Candidate]:
    """Miners of falling reputation, the first the best."""
    found = streaks or {}
    return [
        Candidate(f"hk{n}", Fraction(100 - n, 100), streak=found.get(n, 0)) for n in range(many)
    ]


def test_the_recovery_slot_is_where_the_rule_set_says() -> None:
    here = rules_of(CORRECTED)
    recovery = attrs.evolve(here.groups.recovery, auditor_slot=1)
    section = attrs.evolve(here.groups, recovery=recovery, auditors=3)
    other = under(here, with_section(here.rule_set, GROUPS, section))
    everyone = state([*ladder(8), Candidate("low", Fraction("0.1"))])
    group = select_group(everyone, TYPE, other, round=1, seed="", auditor_streaks={})
    assert group.auditors[0] == "low"
    assert len(group.auditors) == 3


# -------------------------------------------------------------------------------------- streaks


ROLES = st.lists(st.tuples(st.integers(0, 6), st.sampled_from(["primary", "auditor"])), max_size=12)


@given(ROLES)
def test_a_streak_is_the_run_of_latest_rounds(roles: list) -> None:
    streak = 0
    for number in sorted({number for number, _ in roles}, reverse=True):
        if (number, "primary") in roles:
            break
        streak += 1
    assert auditor_streak(roles) == streak
