"""A simulated subnet for tests: a validator with a permit, one without, and miners."""

import attrs

from tallystick_chain.chain import Chain, Pairs, Receipt
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_chain.simulated.model import Hyperparameters
from tallystick_chain.simulated.simulation import SimulatedChain

NETUID = 7
FIRST = 1000
VALIDATOR, OTHER, OWNER = (hotkey_of(name) for name in ("validator", "other", "owner"))
MINERS = tuple(hotkey_of(f"miner {number}") for number in range(5))
ROW: Pairs = ((3, 65535), (4, 7))
OPEN = Hyperparameters(tempo=20, rate_limit_blocks=10, min_allowed=1, commit_reveal=False)
"""Rows in the open, as few entries as one likes."""
COMMITTED = attrs.evolve(OPEN, commit_reveal=True)


def subnet(
    hyperparameters: Hyperparameters = OPEN, *, mechanisms: int = 1, finality_lag: int = 2
) -> SimulatedChain:
    """A chain whose validators may set their first row in the block that is built."""
    chain = SimulatedChain(first_block=FIRST, finality_lag=finality_lag)
    chain.create_subnet(NETUID, hyperparameters, mechanisms=mechanisms, owner=OWNER)
    for hotkey in (VALIDATOR, OTHER, OWNER, *MINERS):
        chain.register(NETUID, hotkey, stake_rao=50, permit=hotkey == VALIDATOR)
    chain.advance(hyperparameters.rate_limit_blocks)
    return chain


def submit(  # noqa: PLR0913  # of the chain
    chain: SimulatedChain,
    pairs: Pairs = ROW,
    *,
    hotkey: str = VALIDATOR,
    netuid: int = NETUID,
    mechanism: int = 0,
    key: int = 0,
) -> Receipt:
    return chain.as_hotkey(hotkey).submit_row(netuid, mechanism, pairs, key, 1.0)


def stored(chain: SimulatedChain, mechanism: int = 0) -> Pairs:
    """The row of the validator, uid 0, after the block that is built."""
    block = chain.advance()
    return chain.as_hotkey(VALIDATOR).row(NETUID, mechanism, 0, block)


def everything(view: Chain, netuid: int, block: int) -> tuple[object, ...]:
    """All that a chain says of a subnet of one mechanism at a block."""
    neurons = view.neurons(netuid, block)
    return (
        view.block_hash(block),
        view.block_time(block),
        view.subnet(netuid, 0, block),
        neurons,
        view.commitments(netuid, block),
        tuple(view.row(netuid, 0, neuron.uid, block) for neuron in neurons),
        tuple(view.last_update(netuid, 0, neuron.uid, block) for neuron in neurons),
        tuple(view.pending(netuid, 0, neuron.hotkey, block) for neuron in neurons),
    )
