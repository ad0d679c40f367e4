"""Rows are set once, whatever the chain answers, and wherever the process is killed."""

from pathlib import Path
from typing import Any

import pytest
from chain.faults import Fault, Faults, FaultyChain
from chain.setting import (
    MORTAL,
    NETUID,
    NETWORK,
    VALIDATOR,
    Process,
    sent,
    subnet,
    weights_of,
)

from tallystick_chain import submission
from tallystick_chain.chain import Refusal
from tallystick_chain.journal import Journal
from tallystick_chain.setter import SetterStatus, WeightSetter
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_chain.simulated.simulation import SimulatedChain
from tallystick_chain.submission import Outcome

END = NETWORK.end_block(2) + 3 * MORTAL
FIRST_END = NETWORK.end_block(0) + 5 * MORTAL
"""Blocks by which the rows of three epochs are settled, and of the first one alone."""
NIGHTLY = pytest.mark.nightly


@pytest.fixture(autouse=True)
def _mortal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission, "MORTAL_BLOCKS", MORTAL)


def _rows(chain: SimulatedChain, epochs: int) -> list[int]:
    """How often the chain has accepted the row of each epoch."""
    view = chain.as_hotkey(VALIDATOR)
    neurons = view.neurons(NETUID, chain.best)
    return [sent(chain)[weights_of(epoch).row(neurons).pairs] for epoch in range(epochs)]


def _attempted(process: Process) -> list[Outcome | None]:
    """The outcome of each attempt in the journal."""
    assert process.journal is not None
    return [attempt.outcome for attempt in process.journal.attempts]


def _told(status: SetterStatus | None) -> tuple[str, object]:
    """The action that a setter tells, and its reason."""
    assert status is not None
    return status.action.kind, status.action.reason


def _outcomes(process: Process) -> list[Outcome | None]:
    assert process.setter is not None
    return [newest and newest.outcome for _, newest in sorted(process.setter.outcomes().items())]


@pytest.mark.parametrize("commit_reveal", [False, True])
def test_each_epoch_has_its_row_once(tmp_path: Path, commit_reveal: bool) -> None:
    process = Process(subnet(commit_reveal=commit_reveal), tmp_path / "journal")
    process.run(END, 3)
    assert _rows(process.chain, 3) == [1, 1, 1]
    assert sum(sent(process.chain).values()) == 3
    assert _outcomes(process) == [Outcome.SET] * 3
    assert {entry.version_key for entry in process.chain.log} == {5}


@pytest.mark.parametrize(
    ("fault", "commit_reveal"),
    [
        (None, False),
        ("lost", True),
        ("landed", False),
        ("late", True),
        ("wrong-fork", False),
        pytest.param(None, True, marks=NIGHTLY),
        pytest.param("lost", False, marks=NIGHTLY),
        pytest.param("landed", True, marks=NIGHTLY),
        pytest.param("late", False, marks=NIGHTLY),
        pytest.param("wrong-fork", True, marks=NIGHTLY),
    ],
)
def test_killed_before_any_step_it_sets_each_row_once(
    tmp_path: Path, fault: Fault | None, commit_reveal: bool
) -> None:
    counted = 0
    for place in range(1000):
        chain = subnet(commit_reveal=commit_reveal)
        faults = Faults(fault, late_blocks=MORTAL // 2)
        process = Process(chain, tmp_path / f"{place}", kill=frozenset({place}), faults=faults)
        process.run(FIRST_END, 1)
        if not process.deaths:
            break
        counted += 1
        assert _rows(chain, 1) == [1], (place, process.steps)
        assert sum(sent(chain).values()) == 1
        assert _outcomes(process) == [Outcome.SET]
        process.stop()
    # intent, call, answer, outcome: each before and behind, and twice where a row is sent again
    assert counted >= 8


@pytest.mark.parametrize("commit_reveal", [False, pytest.param(True, marks=NIGHTLY)])
def test_killed_twice_it_sets_each_row_once(tmp_path: Path, commit_reveal: bool) -> None:
    for first in range(10):
        for second in (first + 1, first + 3, first + 6):
            chain = subnet(commit_reveal=commit_reveal)
            kill = frozenset({first, second})
            process = Process(chain, tmp_path / f"{first} {second}", kill=kill)
            process.run(FIRST_END, 1)
            assert _rows(chain, 1) == [1], (kill, process.steps)
            assert _outcomes(process) == [Outcome.SET]
            process.stop()


@pytest.mark.parametrize("commit_reveal", [False, True])
@pytest.mark.parametrize("replay", [False, True])
def test_a_fork_that_takes_the_row_back_is_waited_for(
    tmp_path: Path, replay: bool, commit_reveal: bool
) -> None:
    chain = subnet(commit_reveal=commit_reveal)
    forked = []

    def fork(chain: SimulatedChain) -> None:
        if sent(chain) and not forked:
            forked.append(chain.fork(1))
            for entry in forked[0] if replay else ():
                row = NETUID, entry.mechanism, entry.pairs, entry.version_key
                chain.as_hotkey(entry.hotkey).submit_row(*row, 1.0)
            chain.advance()

    process = Process(chain, tmp_path / "journal")
    process.run(FIRST_END, 1, fork)
    assert forked[0]
    assert _rows(chain, 1) == [1]
    assert _outcomes(process) == [Outcome.SET]


def test_a_call_that_never_came_is_sent_again_only_when_it_cannot_land(tmp_path: Path) -> None:
    chain = subnet()
    process = Process(chain, tmp_path / "journal", faults=Faults("lost"))
    process.run(NETWORK.weights_block(0) + 2, 1)
    status = process.advance(weights_of(0))
    assert status is not None
    action = status.action
    assert (action.kind, action.reason) == ("wait", "unknown")
    assert action.until is not None
    assert not sent(chain)
    # one block before it, the call may still land; nothing is sent
    process.run(action.until - 1 + chain.finality_lag, 1)
    assert not sent(chain)
    process.run(action.until + chain.finality_lag, 1)
    assert _rows(chain, 1) == [1]


def test_a_row_of_an_older_epoch_is_not_sent_when_a_newer_one_is_due(tmp_path: Path) -> None:
    chain = subnet()
    process = Process(chain, tmp_path / "journal")
    chain.advance(NETWORK.weights_block(2) + 2 - chain.best)
    process.advance(weights_of(2))
    chain.advance(5)
    process.advance(weights_of(1))
    process.advance(weights_of(2))
    assert _rows(chain, 3) == [0, 0, 1]


def test_a_row_is_not_sent_before_its_block(tmp_path: Path) -> None:
    chain = subnet()
    process = Process(chain, tmp_path / "journal")
    chain.advance(NETWORK.weights_block(0) - 1 + chain.finality_lag - chain.best)
    assert _told(process.advance(weights_of(0)))[0] == "nothing"
    chain.advance()
    process.advance(weights_of(0))
    assert _rows(chain, 1) == [1]


@pytest.mark.parametrize(
    ("change", "values", "action"),
    [
        ("set_neuron", {"uid": 0, "permit": False}, ("wait", Refusal.NO_PERMIT)),
        ("set_hyperparameters", {"version_key": 6}, ("stop", Refusal.VERSION_KEY)),
    ],
)
def test_what_the_chain_asks_at_the_reveal_lets_the_row_vanish(
    tmp_path: Path, change: str, values: dict[str, int], action: tuple[str, Refusal]
) -> None:
    chain = subnet(commit_reveal=True)
    process = Process(chain, tmp_path / "journal")

    def spoil(chain: SimulatedChain) -> None:
        if sent(chain):
            chain.do(change, NETUID, **values)

    process.run(FIRST_END, 1, spoil)
    assert _outcomes(process) == [Outcome.VANISHED]
    assert [entry.kind for entry in chain.log] == ["committed", "vanished"]
    assert _told(process.advance(weights_of(1))) == action


@pytest.mark.parametrize("commit_reveal", [False, True])
def test_another_process_with_the_key_is_reported(tmp_path: Path, commit_reveal: bool) -> None:
    chain = subnet(commit_reveal=commit_reveal, rate_limit_blocks=0)
    other = chain.as_hotkey(VALIDATOR)
    process = Process(chain, tmp_path / "journal", faults=Faults("lost"))
    at = NETWORK.weights_block(0) + 4

    def interfere(chain: SimulatedChain) -> None:
        if chain.best == at:
            receipt = other.submit_row(NETUID, 0, ((1, 65535),), 5, 1.0)
            assert receipt.kind in {"included", "committed"}

    process.run(FIRST_END, 1, interfere)
    assert _outcomes(process) == [Outcome.REVEALED_OTHER]
    # what was lost is not sent on top of it
    assert _rows(chain, 1) == [0]


def test_a_version_key_above_ours_stops_it_before_any_call(tmp_path: Path) -> None:
    chain = subnet(version_key=6)
    process = Process(chain, tmp_path / "journal")
    status = process.run(NETWORK.weights_block(0) + 20, 1)
    assert _told(status) == ("stop", Refusal.VERSION_KEY)
    assert not sent(chain)
    assert _attempted(process) == []
    # a version that has the key goes on
    process.advance(weights_of(0, version_key=6))
    assert sum(sent(chain).values()) == 1


def test_refusals_that_can_pass_are_tried_again_by_blocks(tmp_path: Path) -> None:
    chain = subnet(stake_threshold_rao=10_000)
    process = Process(chain, tmp_path / "journal")
    start = NETWORK.weights_block(0) + chain.finality_lag
    process.run(start + 20, 1)
    # after 5, then 10 blocks
    assert _attempted(process) == [Outcome.REFUSED] * 3
    chain.do("set_neuron", NETUID, uid=0, stake_rao=10_000)
    process.run(start + 50, 1)
    assert _rows(chain, 1) == [1]
    assert _outcomes(process) == [Outcome.SET]


@pytest.mark.parametrize("commit_reveal", [False, True])
@pytest.mark.parametrize(
    ("limits", "detail"),
    [
        ({"min_allowed": 6}, "too-few: found 5 entries, expected at least 6"),
        ({"min_allowed": 1024}, "too-few: found 5 entries, expected at least 6"),
        ({"max_weight_u16": 9}, "too-large: found an entry above max_weights_limit, 9 of 65535"),
    ],
)
def test_a_row_that_the_chain_would_refuse_is_not_sent(
    tmp_path: Path, commit_reveal: bool, limits: dict[str, int], detail: str
) -> None:
    chain = subnet(commit_reveal=commit_reveal, **limits)
    process = Process(chain, tmp_path / "journal")
    process.run(NETWORK.weights_block(0) + 35, 1)
    assert process.setter is not None
    settled = process.setter.outcomes()[0]
    assert settled is not None
    assert (settled.outcome, settled.detail) == (Outcome.REFUSED, detail)
    assert (_attempted(process), sent(chain)) == ([Outcome.REFUSED], {})


@pytest.mark.parametrize(
    ("change", "values", "code"),
    [
        ("set_neuron", {"uid": 0, "permit": False}, Refusal.NO_PERMIT),
        ("register", {"hotkey": "5Another", "uid": 0}, Refusal.NOT_REGISTERED),
        ("set_hyperparameters", {"rate_limit_blocks": 500}, Refusal.TOO_SOON),
    ],
)
def test_what_the_chain_would_refuse_is_not_sent(
    tmp_path: Path, change: str, values: dict[str, Any], code: Refusal
) -> None:
    chain = subnet()
    chain.do(change, NETUID, **values)
    process = Process(chain, tmp_path / "journal")
    assert _told(process.run(NETWORK.weights_block(0) + 20, 1)) == ("wait", code)
    assert not chain.log
    assert _attempted(process) == []


@pytest.mark.parametrize("commit_reveal", [False, True])
def test_uids_that_move_or_are_taken_over_behind_the_row_change_no_outcome(
    tmp_path: Path, commit_reveal: bool
) -> None:
    chain = subnet(commit_reveal=commit_reveal)
    process = Process(chain, tmp_path / "journal")

    def change(chain: SimulatedChain) -> None:
        if sent(chain) and len(chain.log) == 1 and chain.log[0].block == chain.best:
            chain.register(NETUID, hotkey_of("newcomer"))

    process.run(FIRST_END, 1, change)
    assert _outcomes(process) == [Outcome.SET]


@pytest.mark.parametrize("commit_reveal", [False, True])
def test_a_validator_whose_uid_moves_knows_its_row(tmp_path: Path, commit_reveal: bool) -> None:
    chain = subnet(commit_reveal=commit_reveal)
    chain.register(NETUID, hotkey_of("last"))
    # the validator is behind a uid that goes
    chain.register(NETUID, hotkey_of("late validator"), stake_rao=9, permit=True)
    chain.advance(3)
    process = Process(chain, tmp_path / "journal", hotkey=hotkey_of("late validator"))

    def trim(chain: SimulatedChain) -> None:
        if (
            sent(chain, process.hotkey)
            and len(chain.as_hotkey("x").neurons(NETUID, chain.best)) > 7
        ):
            chain.do("trim", NETUID, uids=[6])

    process.run(NETWORK.weights_block(0) + 40, 1, trim)
    assert _outcomes(process) == [Outcome.SET]
    assert sum(sent(chain, process.hotkey).values()) == 1


def test_a_hotkey_that_registers_again_does_not_take_the_registration_for_a_row(
    tmp_path: Path,
) -> None:
    chain = subnet()
    process = Process(chain, tmp_path / "journal", faults=Faults("lost"))
    process.run(NETWORK.weights_block(0) + 3, 1)
    chain.register(NETUID, hotkey_of("sniper"), uid=0)
    chain.advance()
    chain.register(NETUID, VALIDATOR, stake_rao=5, permit=True)
    process.run(FIRST_END, 1)
    assert _rows(chain, 1) == [1]
    assert _outcomes(process) == [Outcome.SET]
    assert _attempted(process) == [Outcome.LAPSED, Outcome.SET]


def test_blocks_that_are_not_kept_leave_a_reveal_unknown_or_prove_the_row(tmp_path: Path) -> None:
    for other, outcome in ((False, Outcome.SET), (True, Outcome.UNKNOWN)):
        chain = subnet(commit_reveal=True)
        chain.keep_blocks = 20
        process = Process(chain, tmp_path / f"{other}")
        process.run(NETWORK.weights_block(0) + 5, 1)
        process.stop()
        if other:
            chain.do("set_neuron", NETUID, uid=0, permit=False)
        chain.advance(100)
        process.advance(weights_of(0))
        assert _outcomes(process) == [outcome]


def test_a_read_without_an_answer_leaves_everything_as_it_is(tmp_path: Path) -> None:
    for place in range(0, 40, 3):
        chain = subnet()
        process = Process(chain, tmp_path / f"{place}", faults=Faults(reads_until=place))
        chain.advance(NETWORK.weights_block(0) + 3 - chain.best)
        process.run(FIRST_END, 1)
        assert process.faults.reads_until is None
        assert _rows(chain, 1) == [1]
        assert _outcomes(process) == [Outcome.SET]
        process.stop()


def test_a_row_that_is_on_the_chain_holds_the_next_one_up_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submission, "MORTAL_BLOCKS", 1000)
    chain = subnet()
    view = FaultyChain(chain.as_hotkey(VALIDATOR), Faults("landed"))
    with Journal(tmp_path / "journal", NETWORK, VALIDATOR) as journal:
        setter = WeightSetter(view, NETWORK, journal)
        while chain.best < NETWORK.weights_block(1) + 6:
            chain.advance()
            epoch = (NETWORK.epoch_at(chain.finalized) or 0) - 1
            setter.advance(weights_of(epoch) if epoch >= 0 else None)
        outcomes = [newest and newest.outcome for newest in setter.outcomes().values()]
        assert outcomes == [Outcome.SET] * 2


def _takes_over_after_the_commit(chain: SimulatedChain) -> None:
    if len(chain.log) == 1 and chain.log[0].block + 2 == chain.best:
        chain.register(NETUID, hotkey_of("stranger"), uid=5)


def test_a_slot_that_is_taken_over_before_the_reveal_is_not_paid(tmp_path: Path) -> None:
    chain = subnet(commit_reveal=True, tempo=25)
    process = Process(chain, tmp_path / "journal")
    process.run(FIRST_END, 1, _takes_over_after_the_commit)
    first, second = sent(chain)
    assert 5 in dict(first)
    assert [uid for uid, _ in second] == [1, 2, 3, 4]
    assert _outcomes(process) == [Outcome.SET]
    assert _attempted(process) == [Outcome.SUPERSEDED, Outcome.SET]


def test_a_weight_that_is_inherited_is_told_and_then_taken_away(tmp_path: Path) -> None:
    chain = subnet(commit_reveal=True, rate_limit_blocks=30)
    process = Process(chain, tmp_path / "journal")
    stale = []

    def look(chain: SimulatedChain) -> None:
        _takes_over_after_the_commit(chain)
        status = None if process.setter is None else process.advance(weights_of(0))
        stale.append(status is not None and status.is_stale)

    process.run(FIRST_END, 1, look)
    assert any(stale)
    assert process.journal is not None
    settled = [attempt.settled for attempt in process.journal.attempts]
    assert [item.outcome for item in settled if item] == [Outcome.INHERITED, Outcome.SET]
    assert settled[0] is not None
    assert settled[0].detail == "uid 5"
    row = chain.as_hotkey(VALIDATOR).row(NETUID, 0, 0, chain.best)
    assert [uid for uid, weight in row if weight] == [1, 2, 3, 4]


def test_rows_that_are_revealed_together_are_superseded_by_the_newest(tmp_path: Path) -> None:
    process = Process(subnet(commit_reveal=True, tempo=150), tmp_path / "journal")
    process.run(320, 3)
    assert _rows(process.chain, 3) == [1, 1, 1]
    assert _outcomes(process) == [Outcome.SUPERSEDED, Outcome.SUPERSEDED, Outcome.SET]
