"""A row in the open: what the chain refuses, each at its boundary, in its order."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import attrs
import pytest
from chain.simulated_subnet import (
    COMMITTED,
    MINERS,
    NETUID,
    OPEN,
    OTHER,
    OWNER,
    ROW,
    VALIDATOR,
    everything,
    stored,
    submit,
    subnet,
)
from hypothesis import given
from hypothesis import strategies as st

from tallystick_chain.chain import Pairs, Receipt, Refusal
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_chain.simulated.model import Hyperparameters
from tallystick_chain.simulated.simulation import SimulatedChain

STRANGER = hotkey_of("stranger")


def test_a_row_is_set_and_read_back_from_its_block_on() -> None:
    chain = subnet()
    receipt, block = submit(chain), chain.building
    view = chain.as_hotkey(VALIDATOR)
    assert view.row(NETUID, 0, 0, chain.best) == ()
    chain.advance()
    assert receipt == Receipt("included", block_hash=view.block_hash(block))
    assert view.row(NETUID, 0, 0, block) == ROW
    assert view.row(NETUID, 0, 0, block - 1) == ()
    assert view.last_update(NETUID, 0, 0, block) == block
    assert [(entry.kind, entry.block, entry.hotkey, entry.pairs) for entry in chain.log] == [
        ("row", block, VALIDATOR, ROW)
    ]


def test_each_mechanism_has_rows_of_its_own() -> None:
    chain = subnet(mechanisms=2)
    assert submit(chain, mechanism=1).kind == "included"
    assert (stored(chain, mechanism=1), stored(chain, mechanism=0)) == (ROW, ())
    view = chain.as_hotkey(VALIDATOR)
    assert view.last_update(NETUID, 1, 0, chain.best) > view.last_update(NETUID, 0, 0, chain.best)


def rows_of(count: int) -> Pairs:
    return tuple((uid, 65535) for uid in range(count))


OUTCOMES: tuple[tuple[dict[str, int], dict[str, Any], str], ...] = (
    ({}, {"netuid": 0}, "CanNotSetRootNetworkWeights"),
    ({}, {"netuid": 8}, "SubnetNotExists"),
    ({}, {"mechanism": 1}, "MechanismDoesNotExist"),
    ({}, {"hotkey": STRANGER}, "HotKeyNotRegisteredInSubNet"),
    ({"stake_threshold_rao": 51}, {}, "NotEnoughStakeToSetWeights"),
    ({"stake_threshold_rao": 50}, {}, ""),
    ({"version_key": 5}, {"key": 4}, "IncorrectWeightVersionKey"),
    ({"version_key": 5}, {"key": 5}, ""),
    ({"version_key": 5}, {"key": 6}, ""),
    ({}, {"hotkey": OTHER}, "NeuronNoValidatorPermit"),
    ({}, {"hotkey": OTHER, "pairs": ((1, 1), (2, 1))}, "NeuronNoValidatorPermit"),
    # a self-weight needs neither permit, length nor share
    ({"min_allowed": 8, "max_weight_u16": 1}, {"hotkey": OTHER, "pairs": ((1, 65535),)}, ""),
    ({}, {"hotkey": OWNER}, ""),
    ({}, {"pairs": rows_of(9)}, "UidsLengthExceedUidsInSubNet"),
    ({}, {"pairs": rows_of(8)}, ""),
    ({}, {"pairs": ((3, 65535), (3, 65535))}, "DuplicateUids"),
    ({}, {"pairs": ((8, 65535),)}, "UidVecContainInvalidOne"),
    ({}, {"pairs": ((7, 65535),)}, ""),
    ({"min_allowed": 3}, {"pairs": rows_of(2)}, "WeightVecLengthIsLow"),
    ({"min_allowed": 3}, {"pairs": rows_of(3)}, ""),
    ({"min_allowed": 8}, {"pairs": rows_of(7)}, "WeightVecLengthIsLow"),
    # never more than the subnet has
    ({"min_allowed": 1024}, {"pairs": rows_of(7)}, "WeightVecLengthIsLow"),
    ({"min_allowed": 1024}, {"pairs": rows_of(8)}, ""),
    ({"max_weight_u16": 21844}, {"pairs": rows_of(3)}, "MaxWeightExceeded"),
    ({"max_weight_u16": 21845}, {"pairs": rows_of(3)}, ""),
    ({"max_weight_u16": 32767}, {"pairs": rows_of(2)}, "MaxWeightExceeded"),
    ({"max_weight_u16": 32768}, {"pairs": rows_of(2)}, ""),
)
"""Rules of a subnet, a call, and the chain's name for its refusal."""


@pytest.mark.parametrize(("rules", "call", "error"), OUTCOMES)
def test_a_row_is_refused_by_its_name_at_each_boundary(
    rules: dict[str, int], call: dict[str, Any], error: str
) -> None:
    receipt = submit(subnet(attrs.evolve(OPEN, **rules)), **call)
    assert (receipt.kind, receipt.chain_error) == ("refused" if error else "included", error)


@pytest.mark.parametrize(
    ("rules", "kind", "error"),
    [
        (OPEN, "included", "SettingWeightsTooFast"),
        (COMMITTED, "committed", "CommittingWeightsTooFast"),
    ],
)
def test_a_row_follows_a_row_or_a_registration_after_exactly_the_blocks_of_the_limit(
    rules: Hyperparameters, kind: str, error: str
) -> None:
    chain, hotkeys = subnet(rules), (VALIDATOR, STRANGER)
    submit(chain)
    chain.register(NETUID, STRANGER, permit=True)
    chain.advance(9)
    refused = Receipt("refused", Refusal.TOO_SOON, error)
    assert [submit(chain, hotkey=hotkey) for hotkey in hotkeys] == [refused] * 2
    chain.advance()
    assert [submit(chain, hotkey=hotkey).kind for hotkey in hotkeys] == [kind] * 2


Change = Callable[[SimulatedChain], object]
WRONGS: tuple[tuple[Refusal, Change], ...] = (
    (Refusal.NOT_REGISTERED, lambda chain: chain.register(NETUID, STRANGER, uid=0)),
    (
        Refusal.LOW_STAKE,
        lambda chain: chain.do("set_hyperparameters", NETUID, stake_threshold_rao=51),
    ),
    (Refusal.VERSION_KEY, lambda chain: chain.do("set_hyperparameters", NETUID, version_key=9)),
    (Refusal.TOO_SOON, lambda chain: chain.do("set_hyperparameters", NETUID, rate_limit_blocks=99)),
    (Refusal.NO_PERMIT, lambda chain: chain.do("set_neuron", NETUID, uid=0, permit=False)),
)
"""Refusals of a caller, in the order in which the chain looks."""


@pytest.mark.parametrize("index", range(len(WRONGS)))
def test_the_first_rule_in_the_order_of_the_chain_is_named(index: int) -> None:
    """All rules from one on are broken, in the row too: only the first is the reason."""
    chain = subnet(attrs.evolve(OPEN, min_allowed=8, max_weight_u16=1))
    for _, spoil in WRONGS[index:]:
        spoil(chain)
    assert submit(chain, ((99, 1), (99, 65535))).code is WRONGS[index][0]


def wrong_rows() -> Iterator[tuple[Refusal, Pairs]]:
    yield Refusal.DUPLICATE_UID, ((99, 1), (99, 65535))
    yield Refusal.UNKNOWN_UID, ((1, 1), (99, 65535))
    yield Refusal.TOO_FEW, ((1, 1), (2, 65535))
    yield Refusal.TOO_LARGE, tuple((uid, 65535 if uid else 1) for uid in range(8))


def test_the_first_rule_about_a_row_is_named() -> None:
    chain = subnet(attrs.evolve(OPEN, min_allowed=8, max_weight_u16=1))
    assert [submit(chain, row).code for _, row in wrong_rows()] == [c for c, _ in wrong_rows()]


@given(st.lists(st.integers(0, 65535), min_size=1, max_size=8).filter(any), st.booleans())
def test_a_row_is_stored_with_65535_in_its_order_and_as_it_is_where_it_has_that(
    weights: list[int], has_it: bool
) -> None:
    chain, weights = subnet(), [*weights[:-1], 65535] if has_it else weights
    submit(chain, tuple(enumerate(weights)))
    kept = [weight for _, weight in stored(chain)]
    assert max(kept) == 65535
    assert kept == weights or not has_it
    for before, after in pairwise(sorted(zip(weights, kept, strict=True))):
        assert before[1] <= after[1]


ROWS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 65535)), max_size=9).map(tuple)


@given(ROWS, st.sampled_from([VALIDATOR, OTHER, MINERS[0], STRANGER]), st.integers(0, 2))
def test_a_row_that_is_refused_changes_nothing(pairs: Pairs, hotkey: str, key: int) -> None:
    rules = attrs.evolve(OPEN, min_allowed=2, max_weight_u16=40000, version_key=1)
    chain, untouched = subnet(rules), subnet(rules)
    receipt = submit(chain, pairs, hotkey=hotkey, key=key)
    chain.advance()
    untouched.advance()
    views = [each.as_hotkey(VALIDATOR) for each in (chain, untouched)]
    here, there = (everything(view, NETUID, chain.best) for view in views)
    assert (here == there) is (receipt.kind == "refused")
    assert (chain.log == ()) is (receipt.kind == "refused")
