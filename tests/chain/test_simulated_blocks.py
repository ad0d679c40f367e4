"""Blocks, epochs, forks, finality, registrations and commitments of a simulated chain."""

from collections.abc import Callable, Mapping

import attrs
import pytest
from chain.simulated_subnet import (
    COMMITTED,
    FIRST,
    MINERS,
    NETUID,
    OPEN,
    OTHER,
    OWNER,
    VALIDATOR,
    everything,
    submit,
    subnet,
)
from hypothesis import given
from hypothesis import strategies as st

from tallystick_chain.chain import Chain, ChainError, Refusal
from tallystick_chain.simulated.hotkeys import address_of, hotkey_of, signer_of
from tallystick_chain.simulated.simulation import SimulatedChain
from tallystick_state.trust.policy import key_of_hotkey


def code_of(chain: Chain, query: str, *arguments: object) -> Refusal:
    with pytest.raises(ChainError) as caught:
        getattr(chain, query)(*arguments)
    return caught.value.code


# reads


def test_what_is_not_there_is_refused_and_never_made_up() -> None:
    chain = subnet()
    view, best = chain.as_hotkey(VALIDATOR), chain.best
    assert code_of(view, "subnet", 0, 0, best) is Refusal.NOT_MODELLED
    assert code_of(view, "subnet", 8, 0, best) is Refusal.NO_SUBNET
    assert code_of(view, "subnet", NETUID, 1, best) is Refusal.NO_SUBNET
    assert code_of(view, "subnet", NETUID, True, best) is Refusal.NO_SUBNET
    assert code_of(view, "neurons", NETUID, best + 1) is Refusal.NO_BLOCK
    assert code_of(view, "neurons", NETUID, FIRST) is Refusal.NO_SUBNET
    assert code_of(view, "block_hash", FIRST - 1) is Refusal.NO_BLOCK
    assert code_of(view, "block_hash", -1) is Refusal.NO_BLOCK
    assert code_of(view, "block_time", best + 1) is Refusal.NO_BLOCK
    assert code_of(view, "row", NETUID, 0, 8, best) is Refusal.UNKNOWN_UID
    assert code_of(view, "row", NETUID, 0, -1, best) is Refusal.UNKNOWN_UID
    assert code_of(view, "last_update", NETUID, 0, 8, best) is Refusal.UNKNOWN_UID
    assert view.row(NETUID, 0, 7, best) == view.pending(NETUID, 0, MINERS[0], best) == ()


def test_old_blocks_are_pruned_at_the_limit_but_none_that_a_fork_may_reach() -> None:
    chain = SimulatedChain(keep_blocks=5)
    chain.advance(10)
    assert [chain.block(number).number for number in range(6, 11)] == [*range(6, 11)]
    assert code_of(chain.as_hotkey(VALIDATOR), "block_hash", 5) is Refusal.NO_BLOCK
    chain = SimulatedChain(keep_blocks=5, finality_lag=12)
    chain.advance(20)
    assert chain.block(chain.finalized).number == 8
    chain.fork(12)
    assert chain.best == 8


def test_a_seed_gives_the_same_hashes_whatever_is_in_the_blocks() -> None:
    chains = [SimulatedChain(seed=seed) for seed in (1, 1, 2)]
    chains[0].create_subnet(NETUID)
    for chain in chains:
        chain.advance(3)
    hashes = [[chain.block(number).digest for number in range(4)] for chain in chains]
    assert hashes[0] == hashes[1]
    assert not {*hashes[1]} & {*hashes[2]}
    assert len({*hashes[0]}) == 4
    assert all(len(digest) == 66 and digest.startswith("0x") for digest in hashes[0])


# epochs


def epochs(chain: SimulatedChain, blocks: int, netuid: int = NETUID) -> list[int]:
    """The blocks of the epochs among so many."""
    for _ in range(blocks):
        chain.advance()
    first, view = chain.best - blocks + 1, chain.as_hotkey(VALIDATOR)
    last = [view.subnet(netuid, 0, n).last_epoch_block for n in range(first, chain.best + 1)]
    return [block for block in sorted({*last}) if block >= first]


def test_an_epoch_comes_each_tempo_and_where_one_is_asked_for() -> None:
    chain = subnet()
    assert epochs(chain, 35) == [1020, 1040]
    chain.do("request_epoch", NETUID, block=1050)
    chain.advance()
    assert chain.as_hotkey(VALIDATOR).subnet(NETUID, 0, 1046).next_epoch_block == 1050
    assert epochs(chain, 30) == [1050, 1070]
    chain.do("set_hyperparameters", NETUID, tempo=0)
    chain.advance()
    assert chain.as_hotkey(VALIDATOR).subnet(NETUID, 0, chain.best).next_epoch_block is None
    assert epochs(chain, 50) == []


def test_an_epoch_gives_permits_to_the_largest_stakes() -> None:
    chain = subnet(attrs.evolve(OPEN, max_validators=2))
    chain.do("set_neuron", NETUID, uid=5, stake_rao=90)
    chain.do("set_neuron", NETUID, uid=0, stake_rao=10)
    chain.advance(9)
    view = chain.as_hotkey(VALIDATOR)

    def permitted() -> list[int]:
        return [each.uid for each in view.neurons(NETUID, chain.best) if each.permit]

    assert permitted() == [0]
    chain.advance()
    assert permitted() == [1, 5]


# registrations


def test_a_uid_that_is_taken_over_begins_anew() -> None:
    chain = subnet()
    submit(chain, ((1, 65535), (3, 9)))
    submit(chain, ((3, 65535), (4, 9)), hotkey=OWNER)
    chain.as_hotkey(VALIDATOR).commit(NETUID, b"mine", 1.0)
    chain.advance(3)
    new, block = hotkey_of("new"), chain.building
    assert chain.register(NETUID, new, uid=0, stake_rao=3) == 0
    chain.register(NETUID, hotkey_of("newer"), uid=3)
    chain.advance()
    view = chain.as_hotkey(new)
    first = view.neurons(NETUID, block)[0]
    assert (first.hotkey, first.registered_block, first.stake_rao) == (new, block, 3)
    assert not first.permit
    assert view.last_update(NETUID, 0, 0, block) == block
    assert view.row(NETUID, 0, 0, block) == ()
    assert view.row(NETUID, 0, 2, block) == ((3, 0), (4, 9))
    assert view.commitments(NETUID, block) == ()
    assert view.neurons(NETUID, block - 1)[0].hotkey == VALIDATOR


def test_registrations_that_are_refused() -> None:
    chain = subnet(attrs.evolve(OPEN, max_uids=8))
    view = chain.as_hotkey(VALIDATOR)
    before = [view.neurons(NETUID, chain.best), chain.building]

    def refused(hotkey: str, uid: int | None = None) -> Refusal:
        with pytest.raises(ChainError) as caught:
            chain.register(NETUID, hotkey, uid=uid)
        return caught.value.code

    assert refused(hotkey_of("new")) is Refusal.NOT_MODELLED
    assert refused(hotkey_of("new"), 9) is Refusal.UNKNOWN_UID
    assert refused(VALIDATOR, 3) is Refusal.OTHER
    assert refused(hotkey_of("new"), 2) is Refusal.OTHER  # the owner's
    chain.advance()
    assert [view.neurons(NETUID, chain.best), chain.best] == before


def test_a_subnet_shrinks_and_its_rows_move_with_their_uids() -> None:
    chain = subnet()
    submit(chain, ((1, 65535), (3, 9), (7, 5)))
    submit(chain, ((3, 65535),), hotkey=OWNER)
    chain.advance()
    updated = chain.best
    chain.do("trim", NETUID, uids=[1, 3])
    block = chain.advance()
    view = chain.as_hotkey(VALIDATOR)
    assert [n.hotkey for n in view.neurons(NETUID, block)] == [
        VALIDATOR,
        OWNER,
        *MINERS[1:],
    ]
    assert [n.uid for n in view.neurons(NETUID, block)] == [*range(6)]
    assert view.row(NETUID, 0, 0, block) == ((5, 5),)
    assert view.row(NETUID, 0, 1, block) == ()
    assert view.last_update(NETUID, 0, 1, block) == updated
    assert chain.register(NETUID, hotkey_of("new")) == 6
    for uids, code in (([9], Refusal.UNKNOWN_UID), ([1], Refusal.OTHER)):
        with pytest.raises(ChainError) as caught:
            chain.do("trim", NETUID, uids=uids)
        assert caught.value.code is code


def test_subnets_that_cannot_be_made_or_changed() -> None:
    chain = subnet()
    with pytest.raises(ChainError, match="there already"):
        chain.create_subnet(NETUID)
    with pytest.raises(ChainError, match="SubnetNotExists"):
        chain.do("set_neuron", 9, uid=0, permit=True)
    with pytest.raises(ChainError, match="no uid 8"):
        chain.do("set_neuron", NETUID, uid=8, stake_rao=1)
    with pytest.raises(TypeError, match="burn"):
        chain.do("set_hyperparameters", NETUID, burn=1)
    block = chain.advance()
    assert chain.block(block).subnets[NETUID].hyperparameters == OPEN


# commitments


def test_the_newest_commitment_of_a_hotkey_is_there_with_its_block() -> None:
    chain = subnet()
    views = [chain.as_hotkey(hotkey) for hotkey in (VALIDATOR, OTHER)]
    assert views[0].commit(NETUID, b"a", 1.0).kind == "included"
    views[1].commit(NETUID, bytes(128), 1.0)
    first = chain.advance()
    views[0].commit(NETUID, b"b", 1.0)
    second = chain.advance()
    found = {each.hotkey: (each.block, each.data) for each in views[1].commitments(NETUID, second)}
    assert found == {VALIDATOR: (second, b"b"), OTHER: (first, bytes(128))}
    assert [*found] == sorted(found)
    assert {each.data for each in views[1].commitments(NETUID, first)} == {b"a", bytes(128)}


def test_a_commitment_that_is_refused_changes_nothing() -> None:
    chain = subnet()
    view, stranger = chain.as_hotkey(VALIDATOR), chain.as_hotkey(hotkey_of("stranger"))
    assert view.commit(NETUID, bytes(129), 1.0).code is Refusal.OTHER
    assert stranger.commit(NETUID, b"", 1.0).code is Refusal.NOT_REGISTERED
    assert view.commit(8, b"", 1.0).code is Refusal.NO_SUBNET
    assert view.commitments(NETUID, chain.advance()) == ()
    assert chain.log == ()


def test_a_short_commitment_uses_the_least_space_and_an_epoch_gives_it_back() -> None:
    chain = subnet(attrs.evolve(OPEN, commitment_space=328))
    view = chain.as_hotkey(VALIDATOR)
    sizes = (1, 100, 128)
    assert [view.commit(NETUID, bytes(n), 1.0).kind for n in sizes] == ["included"] * 3
    assert view.commit(NETUID, b"", 1.0).code is Refusal.NO_COMMITMENT_SPACE
    assert chain.as_hotkey(OTHER).commit(NETUID, b"", 1.0).kind == "included"
    chain.advance(9)
    assert view.commit(NETUID, b"x", 1.0).kind == "included"


# forks


def test_a_final_block_is_never_taken_back() -> None:
    chain = subnet(finality_lag=2)
    for depth in (3, -1):
        with pytest.raises(ChainError, match="expected 0 to 2"):
            chain.fork(depth)
    chain.fork(2)
    assert (chain.best, chain.finalized) == (1008, 1008)
    chain.advance()
    assert chain.finalized == 1008


def _trim(chain: SimulatedChain, _: int) -> None:
    chain.advance()
    chain.do("trim", NETUID, uids=[len(chain.block(chain.best).subnets[NETUID].neurons) - 1])


CHANGES: Mapping[str, Callable[[SimulatedChain, int], object]] = {
    "row": lambda chain, number: submit(chain, ((1, 65535), (2, number))),
    "commitment": lambda chain, number: chain.as_hotkey(OTHER).commit(NETUID, bytes(number), 1.0),
    "register": lambda chain, number: chain.register(NETUID, hotkey_of(f"{number}")),
    "replace": lambda chain, number: chain.register(NETUID, hotkey_of(f"{number}"), uid=3),
    "trim": _trim,
    "stake": lambda chain, number: chain.do("set_neuron", NETUID, uid=0, stake_rao=number),
    "rules": lambda chain, number: chain.do("set_hyperparameters", NETUID, version_key=number % 2),
}
STEPS = st.lists(
    st.one_of(st.sampled_from(sorted(CHANGES)), st.integers(1, 4), st.integers(-4, 0)),
    max_size=30,
)


@given(STEPS, st.booleans(), st.integers(0, 4))
def test_a_finalized_read_never_changes(
    steps: list[str | int], commit_reveal: bool, lag: int
) -> None:
    rules = attrs.evolve(COMMITTED, commit_reveal=commit_reveal, tempo=5, rate_limit_blocks=1)
    chain = subnet(rules, finality_lag=lag)
    chain.advance(lag)
    view, final = chain.as_hotkey(VALIDATOR), dict[int, object]()
    for number, step in enumerate(steps):
        if isinstance(step, str):
            CHANGES[step](chain, number)
        elif step > 0:
            chain.advance(step)
        else:
            chain.fork(min(-step, chain.best - chain.finalized))
        for block in range(FIRST + 1, chain.finalized + 1):
            now = everything(view, NETUID, block)
            assert final.setdefault(block, now) == now


def test_names_give_hotkeys_that_are_addresses() -> None:
    hotkeys = {hotkey_of(name) for name in ("a", "b", "ä", "")}
    assert len(hotkeys) == 4
    assert all(key_of_hotkey(hotkey) for hotkey in hotkeys)
    assert hotkey_of("a") == hotkey_of("a") != address_of(signer_of("a"))
