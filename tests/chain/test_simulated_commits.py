"""Committed rows: what is asked at the commit, what at the reveal, and what vanishes."""

from typing import Any

import attrs
import pytest
from chain.simulated_subnet import (
    COMMITTED,
    NETUID,
    OTHER,
    ROW,
    VALIDATOR,
    stored,
    submit,
    subnet,
)
from hypothesis import given
from hypothesis import strategies as st

from tallystick_chain.chain import Refusal
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_chain.simulated.rules import beacon_round
from tallystick_chain.simulated.simulation import SimulatedChain


def kinds(chain: SimulatedChain) -> list[tuple[str, int, str]]:
    return [(entry.kind, entry.block, entry.reason) for entry in chain.log]


def advance_to(chain: SimulatedChain, block: int) -> None:
    chain.advance(block - chain.best)


def test_a_committed_row_is_revealed_in_the_first_block_of_the_epoch_that_it_waits_for() -> None:
    chain = subnet(COMMITTED)
    receipt, committed = submit(chain), chain.building
    view, reveal = chain.as_hotkey(VALIDATOR), chain.building + 9
    advance_to(chain, reveal - 1)
    (pending,) = view.pending(NETUID, 0, VALIDATOR, chain.best)
    assert (pending.epoch, pending.block) == (0, committed)
    assert pending.reveal_round == receipt.reveal_round == beacon_round(reveal)
    assert view.row(NETUID, 0, 0, chain.best) == ()
    assert view.subnet(NETUID, 0, chain.best).next_epoch_block == reveal
    chain.advance()
    assert view.row(NETUID, 0, 0, reveal) == ROW
    assert view.pending(NETUID, 0, VALIDATOR, reveal) == ()
    assert view.last_update(NETUID, 0, 0, reveal) == committed
    assert kinds(chain) == [("committed", committed, ""), ("revealed", reveal, "")]


@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_a_row_waits_for_as_many_epochs_as_the_subnet_asks(epochs: int) -> None:
    chain = subnet(attrs.evolve(COMMITTED, reveal_epochs=epochs))
    submit(chain)
    chain.advance(99)
    (reveal,) = (block for kind, block, _ in kinds(chain) if kind == "revealed")
    assert reveal == 1000 + 20 * epochs


def test_a_commit_in_a_block_of_an_epoch_belongs_to_that_epoch() -> None:
    chain = subnet(COMMITTED)
    advance_to(chain, 1019)
    submit(chain)
    advance_to(chain, 1020)
    (pending,) = chain.as_hotkey(VALIDATOR).pending(NETUID, 0, VALIDATOR, chain.best)
    assert (pending.epoch, pending.block) == (1, 1020)
    advance_to(chain, 1041)
    assert kinds(chain)[-1] == ("revealed", 1040, "")


def test_a_commit_asks_for_no_permit_stake_or_key_and_its_row_vanishes_silently() -> None:
    chain = subnet(attrs.evolve(COMMITTED, version_key=5, stake_threshold_rao=10**6))
    assert submit(chain, hotkey=hotkey_of("stranger")).code is Refusal.NOT_REGISTERED
    assert submit(chain, ((99, 1), (99, 1)), hotkey=OTHER, key=0).kind == "committed"
    chain.advance(40)
    assert kinds(chain)[-1] == ("vanished", 1020, "NotEnoughStakeToSetWeights")
    view = chain.as_hotkey(OTHER)
    assert view.row(NETUID, 0, 1, chain.best) == view.pending(NETUID, 0, OTHER, chain.best) == ()


@pytest.mark.parametrize(
    ("call", "changes", "reason"),
    [
        ("set_hyperparameters", {"version_key": 1}, "IncorrectWeightVersionKey"),
        ("set_hyperparameters", {"min_allowed": 3}, "WeightVecLengthIsLow"),
        ("set_hyperparameters", {"max_weight_u16": 9}, "MaxWeightExceeded"),
        ("set_hyperparameters", {"stake_threshold_rao": 51}, "NotEnoughStakeToSetWeights"),
        ("register", {"hotkey": "5Sniper", "uid": 0}, "HotKeyNotRegisteredInSubNet"),
    ],
)
def test_what_changes_between_commit_and_reveal_counts(
    call: str, changes: dict[str, Any], reason: str
) -> None:
    chain = subnet(COMMITTED)
    submit(chain)
    chain.do(call, NETUID, **changes)
    chain.advance(40)
    assert kinds(chain)[-1][::2] == ("vanished", reason)
    assert stored(chain) == ()


def test_ten_rows_may_wait_in_an_epoch_and_not_one_more() -> None:
    chain = subnet(attrs.evolve(COMMITTED, rate_limit_blocks=0))
    assert [submit(chain).kind for _ in range(10)] == ["committed"] * 10
    assert submit(chain).code is Refusal.TOO_MANY_PENDING
    assert submit(chain, hotkey=OTHER).kind == "committed"
    advance_to(chain, 1019)
    assert submit(chain).kind == "committed"
    assert len(chain.as_hotkey(VALIDATOR).pending(NETUID, 0, VALIDATOR, 1019)) == 10


def test_a_row_waits_for_its_round_of_the_beacon_though_its_epoch_came_early() -> None:
    chain = subnet(COMMITTED)
    submit(chain)
    chain.do("request_epoch", NETUID, block=1014)
    advance_to(chain, 1018)
    assert len(chain.as_hotkey(VALIDATOR).pending(NETUID, 0, VALIDATOR, chain.best)) == 1
    assert [kind for kind, _, _ in kinds(chain)] == ["committed"]
    advance_to(chain, 1020)
    assert kinds(chain)[-1] == ("revealed", 1020, "")


def test_a_row_whose_round_comes_behind_its_epoch_vanishes() -> None:
    chain = subnet(COMMITTED)
    submit(chain)
    for block in (1014, 1017):
        chain.do("request_epoch", NETUID, block=block)
        advance_to(chain, block)
    assert kinds(chain)[-1] == ("vanished", 1017, "expired")


def test_a_row_is_revealed_too_where_commits_were_ended_meanwhile() -> None:
    chain = subnet(COMMITTED)
    submit(chain)
    advance_to(chain, 1015)
    chain.do("set_hyperparameters", NETUID, commit_reveal=False, rate_limit_blocks=5)
    chain.advance(10)
    assert kinds(chain)[-1] == ("revealed", 1020, "")
    assert chain.as_hotkey(VALIDATOR).last_update(NETUID, 0, 0, chain.best) == 1020


STEPS = st.lists(st.sampled_from(["validator", "other", "block", "blocks", "epoch"]), max_size=40)


@given(STEPS, st.integers(1, 3), st.integers(1, 6))
def test_each_committed_row_is_revealed_or_vanishes_once(
    steps: list[str], epochs: int, tempo: int
) -> None:
    rules = attrs.evolve(COMMITTED, reveal_epochs=epochs, tempo=tempo, rate_limit_blocks=0)
    chain = subnet(rules)
    for number, step in enumerate(steps):
        match step:
            case "block" | "blocks":
                chain.advance(1 if step == "block" else 3)
            case "epoch":
                chain.do("request_epoch", NETUID, block=chain.building)
            case name:
                row = ((3, 65535), (4, number))
                submit(chain, row, hotkey={"validator": VALIDATOR, "other": OTHER}[name])
    chain.advance(tempo * (epochs + 2))
    committed = [(e.hotkey, e.pairs) for e in chain.log if e.kind == "committed"]
    ended = [(e.hotkey, e.pairs) for e in chain.log if e.kind in {"revealed", "vanished"}]
    assert sorted(committed) == sorted(ended)
    # who has no permit commits, and its rows vanish
    assert not any(entry.kind == "revealed" and entry.hotkey == OTHER for entry in chain.log)
