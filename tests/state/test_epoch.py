"""Closing an epoch: the trajectories of E26, its laws, its steps and its errors."""

import random
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from state.random_epochs import (
    EPOCH,
    FLOOR,
    NANO,
    TYPES,
    Signals,
    ThresholdSnapshot,
    changed,
    late,
    random_epoch,
    random_state,
)

from tallystick.errors import StateError
from tallystick.numbers.nano import to_text
from tallystick.state.epoch import close_epoch, epoch_of
from tallystick.state.event import StateEvent
from tallystick.state.model import Miner, State
from tallystick.state.reputation import initial_reputation
from tallystick.state.rules import StateRules

SKILLS = ("skills@1.0.0", "skills@1.1.0")


# -------------------------------------------------------------------------------- trajectories


def trajectory(law: StateRules, epochs: int) -> list[str]:
    """The reputation of a miner that passes consensus once an epoch, after each epoch."""
    initial = initial_reputation(law)
    state = State(0, {"a": Miner("a", 0, TYPES, dict.fromkeys(TYPES, initial))}, law.seeds)
    found = []
    for epoch in range(epochs):
        passed = StateEvent("v", "a", TYPES[0], "t", epoch, epoch, ("consensus_pass",))
        state = close_epoch(state, [passed], law, {epoch: state})
        assert state.epoch == epoch + 1
        found.append(to_text(state.miners["a"].reputation[TYPES[0]]))
    assert state.miners["a"].reputation[TYPES[1]] == initial
    return found


def test_as_printed_a_perfect_miner_falls_to_the_floor(laws: dict[str, StateRules]) -> None:
    found = trajectory(laws["skills@1.0.0"], 40)
    assert next(epoch for epoch, text in enumerate(found, 1) if text < "0.200000000") == 10
    assert found[9] == "0.187365652"
    assert found.index("0.050000000") + 1 == 27
    assert set(found[26:]) == {"0.050000000"}


def test_as_corrected_a_perfect_miner_rises_to_one(laws: dict[str, StateRules]) -> None:
    found = trajectory(laws["skills@1.1.0"], 260)
    assert found.index("1.000000000") + 1 == 250
    assert found[0] == "0.502000000"
    assert set(found[249:]) == {"1.000000000"}


# ----------------------------------------------------------------------------------------- laws


SEEDS = st.integers(0, 10**6)


@given(seed=SEEDS, shuffle=st.randoms())
@settings(deadline=None)
def test_the_order_of_signals_does_not_matter(
    laws: dict[str, StateRules], seed: int, shuffle: random.Random
) -> None:
    for name in SKILLS:
        state, signals, pinned = random_epoch(seed, laws[name])
        others = signals.copy()
        shuffle.shuffle(others)
        expected = close_epoch(state, signals, laws[name], pinned)
        assert close_epoch(state, others, laws[name], pinned) == expected


@given(seed=SEEDS, rng=st.randoms())
@settings(deadline=None)
def test_events_may_come_later_one_by_one(
    laws: dict[str, StateRules], seed: int, rng: random.Random
) -> None:
    for name in SKILLS:
        state, signals, pinned = random_epoch(seed, laws[name])
        split = [part for each in signals for part in parts(each, rng)]
        rng.shuffle(split)
        expected = close_epoch(state, signals, laws[name], pinned)
        assert close_epoch(state, split, laws[name], pinned) == expected


def parts(signal: StateEvent, rng: random.Random) -> Signals:
    """A record with some of its events taken out, each of which comes alone."""
    if not signal.is_record:
        return [signal]
    out = [event for event in signal.events if rng.random() < 0.5]
    kept = list(signal.events)
    for event in out:
        kept.remove(event)
    alone = [late(signal, event, number) for number, event in enumerate(out, 1000)]
    return [attrs.evolve(signal, events=tuple(kept)), *alone]


@given(seed=SEEDS)
@settings(deadline=None)
def test_a_reputation_stays_within_floor_and_ceiling(
    laws: dict[str, StateRules], seed: int
) -> None:
    for name in SKILLS:
        state, signals, pinned = random_epoch(seed, laws[name])
        after = close_epoch(state, signals, laws[name], pinned)
        found = [each for miner in after.miners.values() for each in miner.reputation.values()]
        assert FLOOR <= min(found) <= max(found) <= NANO


@given(seed=SEEDS)
def test_an_empty_epoch_changes_nothing_but_its_number(law: StateRules, seed: int) -> None:
    state = random_state(random.Random(seed), law, EPOCH)
    assert close_epoch(state, [], law, {}) == attrs.evolve(state, epoch=EPOCH + 1)


@given(seed=SEEDS)
@settings(deadline=None)
def test_who_has_no_signal_is_left_alone(law: StateRules, seed: int) -> None:
    state, signals, pinned = random_epoch(seed, law)
    about = {(each.hotkey, each.skill_type) for each in signals}
    after = close_epoch(state, signals, law, pinned)
    for hotkey, miner in state.miners.items():
        for name in {name for name in TYPES if (hotkey, name) not in about}:
            assert after.miners[hotkey].reputation[name] == miner.reputation[name]


def test_a_closing_leaves_what_it_was_given(law: StateRules) -> None:
    state, signals, pinned = random_epoch(5, law)
    before = state.to_dict(), [each.to_dict() for each in signals]
    close_epoch(state, iter(signals), law, pinned)
    assert (state.to_dict(), [each.to_dict() for each in signals]) == before


def test_nothing_but_reputation_changes_of_a_miner(law: StateRules) -> None:
    miner = Miner("a", None, TYPES[:1], dict.fromkeys(TYPES, NANO), flags=2)
    state = State(EPOCH, {"a": miner}, law.seeds)
    signal = StateEvent("v", "a", TYPES[1], "t", 1, EPOCH, ("collusion_flag",))
    after = close_epoch(state, [signal], law, {EPOCH: state})
    expected = {TYPES[0]: NANO, TYPES[1]: 860_000_000}
    assert after.miners == {"a": attrs.evolve(miner, reputation=expected)}


# ---------------------------------------------------------------------------- records and pins


def one_miner(law: StateRules, nano: int, epoch: int = EPOCH) -> State:
    return State(epoch, {"a": Miner("a", 0, TYPES, dict.fromkeys(TYPES, nano))}, law.seeds)


def after_one(law: StateRules, signals: Signals, pinned: ThresholdSnapshot | None = None) -> str:
    """The reputation that 0.8 becomes."""
    state = one_miner(law, 800_000_000)
    after = close_epoch(state, signals, law, {EPOCH: state, **(pinned or {})})
    return to_text(after.miners["a"].reputation[TYPES[0]])


def said(*events: str, task: str = "t", epoch: int = EPOCH, validator: str = "v") -> StateEvent:
    return StateEvent(validator, "a", TYPES[0], task, 1, epoch, events)


def test_a_delta_is_taken_on_the_reputation_that_the_round_was_pinned_to(
    laws: dict[str, StateRules],
) -> None:
    law, signals = laws["skills@1.1.0"], [said("digest_mismatch", epoch=3)]
    assert after_one(law, signals, {3: one_miner(law, 400_000_000, 3)}) == "0.780000000"
    assert after_one(law, signals, {3: one_miner(law, 200_000_000, 3)}) == "0.790000000"


def test_who_was_not_there_yet_had_the_initial_reputation(laws: dict[str, StateRules]) -> None:
    law, signals = laws["skills@1.1.0"], [said("digest_mismatch", epoch=3)]
    other_type = Miner("a", 0, TYPES[1:], {TYPES[1]: NANO})
    assert after_one(law, signals, {3: State(3, {}, {})}) == "0.775000000"
    assert after_one(law, signals, {3: State(3, {"a": other_type}, {})}) == "0.775000000"


def test_a_late_event_joins_its_record(laws: dict[str, StateRules]) -> None:
    law, record = laws["skills@1.1.0"], said("consensus_pass")
    together = [record, late(record, "rerun_fail", 1)]
    assert after_one(law, together) == after_one(law, [said("consensus_pass", "rerun_fail")])
    assert after_one(law, together) == "0.778000000"


def test_a_late_event_without_a_record_is_a_record(laws: dict[str, StateRules]) -> None:
    law, record = laws["skills@1.1.0"], said("consensus_pass")
    other = [record, late(said(task="u"), "rerun_fail", 1)]
    assert after_one(law, other) == "0.789000000"
    twice = [*other, late(said(task="u"), "rerun_pass", 2)]
    assert after_one(law, twice) == "0.790000000"


def test_the_same_task_in_another_round_or_epoch_is_another_record(
    laws: dict[str, StateRules],
) -> None:
    law, record = laws["skills@1.1.0"], said("consensus_pass")
    pinned = {3: one_miner(law, 800_000_000, 3)}
    for other in ({"round": 2}, {"epoch": 3}):
        event = late(attrs.evolve(record, **other), "rerun_fail", 1)
        assert after_one(law, [record, event], pinned) == "0.789000000"


def test_a_missed_deadline_is_no_record_of_the_mean(laws: dict[str, StateRules]) -> None:
    missed = said("missed_deadline", task="u")
    for name, expected in (("skills@1.0.0", "0.722000000"), ("skills@1.1.0", "0.802000000")):
        law, passed = laws[name], said("consensus_pass")
        assert after_one(law, [passed, missed]) == after_one(law, [passed]) == expected
        assert after_one(law, [missed]) == "0.800000000"


def test_a_validator_of_many_records_outweighs_only_in_the_flat_mean(
    laws: dict[str, StateRules],
) -> None:
    many = [said("consensus_pass", task=str(task)) for task in range(9)]
    one = said("digest_mismatch", validator="w")
    # (9 · 0.02 − 0.4) / 10 and (0.02 − 0.4) / 2
    assert after_one(laws["skills@1.0.0"], [*many, one]) == "0.717800000"
    assert after_one(laws["skills@1.1.0"], [*many, one]) == "0.781000000"


# ---------------------------------------------------------------------------------------- steps


def test_the_steps_of_the_rule_set_are_run_in_its_order(law: StateRules) -> None:
    state = one_miner(law, NANO)
    passed = [attrs.evolve(said(), task_id=str(n), role="primary", quality=NANO) for n in range(3)]
    novel = {}
    for steps in (
        ("recompute_baselines", "recompute_thresholds"),
        ("recompute_thresholds", "recompute_baselines"),
    ):
        other = changed(law, "epochs", steps=steps)
        after = close_epoch(state, passed, other, {})
        assert after.miners == state.miners
        assert after.thresholds[TYPES[0]]["baseline"] == NANO
        novel[steps[0]] = to_text(after.thresholds[TYPES[0]]["novel"])
    assert novel == {"recompute_baselines": "1.500000000", "recompute_thresholds": "0.825000000"}


def test_a_mean_without_its_update_changes_nothing(law: StateRules) -> None:
    alone = changed(law, "epochs", steps=("aggregate_deltas", "persist"))
    assert after_one(alone, [said("collusion_flag")]) == "0.800000000"


@pytest.mark.parametrize("name", ["workflow@1.0.0", "workflow@1.1.0"])
def test_a_rule_set_without_epochs_counts_them(laws: dict[str, StateRules], name: str) -> None:
    law = laws[name]
    state = State(EPOCH, {"a": Miner("a", 0, ("workflow",), {})}, {})
    signal = StateEvent("v", "a", "workflow", "t", 1, EPOCH, ("rerun_fail",), quality=NANO)
    assert close_epoch(state, [signal], law, {}) == attrs.evolve(state, epoch=EPOCH + 1)


def test_a_rule_set_without_reputation_still_tracks_its_thresholds(law: StateRules) -> None:
    without = attrs.evolve(law, rule_set=attrs.evolve(law.rule_set, reputation=None))
    state = State(EPOCH, {"a": Miner("a", 0, TYPES, {})}, law.seeds)
    after = close_epoch(state, [attrs.evolve(said(), role="auditor", quality=1)], without, {})
    assert after.miners == state.miners
    assert after.thresholds[TYPES[0]]["baseline"] == 1


def test_a_state_without_thresholds_begins_with_the_seeds(law: StateRules) -> None:
    state = attrs.evolve(one_miner(law, NANO), thresholds={})
    assert close_epoch(state, [], law, {}).thresholds == law.seeds


@pytest.mark.parametrize(
    ("block", "expected"), [(0, 0), (99, 0), (100, 1), (12_345, 123), (10**12, 10**10)]
)
def test_a_block_belongs_to_an_epoch(law: StateRules, block: int, expected: int) -> None:
    assert epoch_of(block, law) == expected


# --------------------------------------------------------------------------------------- errors


def test_a_negative_block_is_refused(law: StateRules) -> None:
    with pytest.raises(StateError, match="found the block -1, expected at least 0"):
        epoch_of(-1, law)


def test_blocks_need_a_rule_set_with_epochs(laws: dict[str, StateRules]) -> None:
    with pytest.raises(StateError, match=r"found no \[epochs\] in workflow@1.0.0"):
        epoch_of(1, laws["workflow@1.0.0"])


@pytest.mark.parametrize("events", [("missed_deadline",), ("rerun_pass",)])
@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"hotkey": "zoe"}, 'of the hotkey "zoe", expected a registered miner'),
        ({"skill_type": "declarative"}, 'type "declarative", expected one that the miner declared'),
        ({"epoch": 3}, "pinned to epoch 3, expected one whose state is kept"),
    ],
)
def test_a_signal_that_the_state_cannot_hold_is_refused(
    law: StateRules, events: tuple[str, ...], other: dict[str, Any], message: str
) -> None:
    with pytest.raises(StateError, match=message):
        after_one(law, [attrs.evolve(said(*events), **other)])
