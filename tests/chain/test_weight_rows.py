"""Rows of weights: the numbers of `tallystick weights`, brought to uids at a block."""

import attrs
import pytest
from cli.command import run
from cli.stores import Subnet
from hypothesis import given
from hypothesis import strategies as st
from state.subnet import record

import tallystick
from tallystick_allocation.uint16 import to_uint16
from tallystick_chain.chain import Neuron
from tallystick_chain.sdk import row_defect
from tallystick_chain.weight_rows import (
    RowError,
    WeightsToSet,
    version_key,
    weights_to_set,
)
from tallystick_state.ledger import Ledger
from tallystick_state.rules import EpochRules, StateRules, state_rules_of

HOTKEYS = tuple(f"5{number}" for number in range(12))


def neurons_of(*hotkeys: str, registered: int = 1) -> tuple[Neuron, ...]:
    """The neurons of a subnet, by uid."""
    return tuple(
        Neuron(uid, hotkey, permit=False, registered_block=registered, stake_rao=0)
        for uid, hotkey in enumerate(hotkeys)
    )


def _weights(weights: dict[str, int], **others: object) -> WeightsToSet:
    return WeightsToSet(epoch=3, weights=weights, version_key=1, **others)  # type: ignore[arg-type]  # by name


amounts = st.dictionaries(
    st.sampled_from(HOTKEYS), st.integers(0, 10**9) | st.integers(0, 3), min_size=1
)


@given(amounts, st.permutations(HOTKEYS), st.integers(0, 12))
def test_a_row_is_the_rounding_of_the_state_whoever_is_left(
    weights: dict[str, int], hotkeys: list[str], many: int
) -> None:
    neurons = neurons_of(*hotkeys[:many])
    by_uid = {neuron.uid: weights.get(neuron.hotkey, 0) for neuron in neurons}
    expected = tuple(zip(*to_uint16(by_uid), strict=True))
    if not expected:
        with pytest.raises(RowError) as caught:
            _weights(weights).row(neurons)
        assert caught.value.code == "no-weights"
        return
    row = _weights(weights).row(neurons)
    assert row.pairs == expected
    assert row_defect(row.pairs) is None
    paid = {hotkeys[uid] for uid, _ in row.pairs}
    weighted = {hotkey for hotkey, weight in weights.items() if weight}
    assert paid | set(row.dropped) == weighted
    assert paid.isdisjoint(row.dropped)


def test_a_uid_that_is_taken_over_is_not_paid_and_others_keep_their_proportions() -> None:
    weights = {"5a": 900, "5b": 100, "5c": 50}
    known = {"5a": 7, "5b": 7, "5c": 7}
    held = neurons_of("5a", "5b", "5c", registered=7)
    assert _weights(weights, registered=known).row(held).pairs == (
        *((0, 65535), (1, 7282), (2, 3641)),
    )
    # another hotkey has the uid; the hotkey has come back to it; it holds another uid
    another = (attrs.evolve(held[0], hotkey="5x", registered_block=9), *held[1:])
    again = (attrs.evolve(held[0], registered_block=9), *held[1:])
    elsewhere = (*another, Neuron(3, "5a", False, 9, 0))
    for neurons in (another, again, elsewhere):
        row = _weights(weights, registered=known).row(neurons)
        # 2 : 1 from the exact weights; rounding the rounded row again would give 32768
        assert row.pairs == ((1, 65535), (2, 32768))
        assert list(row.dropped) == ["5a"]
    assert "holds no uid" in _weights(weights, registered=known).row(another).dropped["5a"]
    reason = _weights(weights, registered=known).row(again).dropped["5a"]
    assert reason == "it registered at block 9, and the state knows its registration at 7"


def test_a_hotkey_that_only_moved_is_paid_in_its_new_uid() -> None:
    weights, known = {"5a": 3, "5b": 1}, {"5a": 7, "5b": 7}
    moved = neurons_of("5b", "5a", registered=7)
    assert _weights(weights, registered=known).row(moved).pairs == ((0, 21845), (1, 65535))


@pytest.mark.parametrize("recipient", ["uid:1@7", "owner", "5owner"])
def test_a_recipient_is_paid_where_it_is_and_nobody_in_its_place(recipient: str) -> None:
    weights = _weights({recipient: 3, "5a": 1}, recipients=[recipient])
    there = neurons_of("5a", "5owner", registered=7)
    assert weights.row(there, "5owner").pairs == ((0, 21845), (1, 65535))
    taken_over = (there[0], attrs.evolve(there[1], hotkey="5stranger", registered_block=9))
    for neurons in (taken_over, there[:1]):
        with pytest.raises(RowError, match="nobody else is given it") as caught:
            weights.row(neurons, "5owner")
        assert caught.value.code == "recipient-lost"


def test_a_recipient_that_is_a_miner_is_paid_by_the_registration_that_the_state_knows() -> None:
    weights = _weights({"5a": 3, "5b": 1}, recipients=["5a"], registered={"5a": 7, "5b": 7})
    there = neurons_of("5a", "5b", registered=7)
    assert weights.row(there).pairs == ((0, 65535), (1, 21845))
    with pytest.raises(RowError, match="it registered at block 9") as caught:
        weights.row((attrs.evolve(there[0], registered_block=9), there[1]))
    assert caught.value.code == "recipient-lost"


def test_whoever_holds_a_slot_is_paid_by_no_row() -> None:
    with pytest.raises(RowError, match="whoever holds that slot") as caught:
        _weights({"uid:1": 3, "5a": 1}).row(neurons_of("5a", "5owner"))
    assert caught.value.code == "recipient-unbound"


def test_uids_may_have_holes() -> None:
    neurons = (neurons_of("5a")[0], Neuron(9, "5z", False, 4, 0))
    row = _weights({"5a": 1, "5z": 2, "uid:9@4": 1}).row(neurons)
    assert row.pairs == ((0, 21845), (9, 65535))


def test_without_weights_no_row_is_made_up() -> None:
    for weights in ({}, {"5a": 0}, {"5gone": 5}):
        with pytest.raises(RowError, match="found no weight in epoch 3") as caught:
            _weights(weights).row(neurons_of("5a"))
        assert caught.value.code == "no-weights"
    with pytest.raises(RowError, match="nobody has worked"):
        _weights({}, reason="nobody has worked").row(neurons_of("5a"))


def test_what_is_rounded_to_nothing_is_named() -> None:
    row = _weights({"5a": 10**9, "5b": 1}).row(neurons_of("5a", "5b"))
    assert row.pairs == ((0, 65535),)
    assert "uint16 rounds it to 0" in row.dropped["5b"]


def _rules(version: str) -> StateRules:
    rules = state_rules_of(tallystick.load("skills@1.0.0"))
    identity = attrs.evolve(rules.rule_set.rule_set, version=version)
    changed = attrs.evolve(rules.rule_set, rule_set=identity)
    return attrs.evolve(rules, loaded=attrs.evolve(rules.loaded, rule_set=changed))


def test_the_version_key_grows_with_versions_and_sums_lines() -> None:
    versions = ("0.0.1", "0.0.999", "0.1.0", "0.999.999", "1.0.0", "1.2.0", "1.10.0", "2.0.0-rc.1")
    keys = [version_key(EpochRules((_rules(version),))) for version in versions]
    assert keys == sorted(set(keys))
    assert keys[5] == 1_002_000
    both = EpochRules((_rules("1.2.0"), _rules("1.1.0")))
    assert version_key(both) == 2_003_000
    for version in ("1.1000.0", "1.0.1000", "1000000.0.0"):
        with pytest.raises(RowError) as caught:
            version_key(EpochRules((_rules(version),)))
        assert caught.value.code == "bad-version"


def test_the_row_of_a_state_is_what_the_command_shows(subnet: Subnet) -> None:
    state = str(subnet.where)
    with Ledger.open(state) as ledger, ledger.queries() as queries:
        with pytest.raises(RowError, match="found no closed epoch") as caught:
            weights_to_set(queries)
        assert caught.value.code == "no-epoch"
    lines = subnet.lines(
        record("t3", "hk-1", round=1), record("t4", "hk-2", round=1, latency_ms=50_000)
    )
    assert subnet.do("round", "close", lines).status == 0
    assert subnet.do("epoch", "close", "--epoch", "0").status == 0
    shown = subnet.do("weights", "--json").json()
    with Ledger.open(state) as ledger, ledger.queries() as queries:
        weights = weights_to_set(queries)
        slots = {m.uid: m.hotkey for m in queries.state.miners.values()}
    assert (weights.epoch, weights.version_key) == (0, 1_000_000)
    names = [slots.get(uid, f"other {uid}") for uid in range(4)]
    row = weights.row(neurons_of(*names))
    assert row.pairs == tuple(zip(shown["uids"], shown["uint16"], strict=True))
    assert len(row.pairs) == 2


def test_lines_without_pools_have_no_row(subnet: Subnet) -> None:
    state = str(subnet.folder / "two.db")
    rules = ("--rules", "skills@1.0.0", "--rules", "workflow@1.0.0")
    assert run("state", "init", *rules, "--state", state).status == 0
    assert run("epoch", "close", "--epoch", "0", "--state", state).status == 0
    with Ledger.open(state) as ledger, ledger.queries() as queries:
        with pytest.raises(RowError, match="without pools") as caught:
            weights_to_set(queries)
        assert caught.value.code == "no-pools"
