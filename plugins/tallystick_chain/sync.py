"""From a chain at a finalized block to a state: its miners, who is immune, seeds of groups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from tallystick_chain.chain import Chain, ChainError, Neuron, Refusal
from tallystick_chain.network import Network
from tallystick_state.miner_list import REGISTERED


def miner_slots(
    network: Network, neurons: Iterable[Neuron], types: Collection[str]
) -> list[Mapping[str, Any]]:
    """Return the miners among neurons, as `Ledger.sync_miners` takes them.

    Each has the block of its registration, by which a hotkey that has registered again begins anew.

    Args:
        network: which says who is a miner, of which types.
        neurons: of the subnet at a block.
        types: the skill types of the rules in force; what the network file names beside them is
            left out, as rules of another epoch may have it.
    """
    every = frozenset(types)
    slots = list[Mapping[str, Any]]()
    for neuron in neurons:
        declared = [name for name in network.miners.types_of(neuron, every) if name in every]
        if declared:
            slots.append(
                {
                    "uid": neuron.uid,
                    "hotkey": neuron.hotkey,
                    "types": declared,
                    REGISTERED: neuron.registered_block,
                }
            )
    return slots


def immune_hotkeys(network: Network, neurons: Iterable[Neuron], block: int) -> frozenset[str]:
    """Return the hotkeys of neurons that are immune at a block, by the network file."""
    blocks = network.miners.immunity_blocks
    return frozenset(
        neuron.hotkey for neuron in neurons if block < neuron.registered_block + blocks
    )


def finalized_block(chain: Chain, block: int | None = None) -> int:
    """Return a block if it is finalized; by default the newest one that is.

    Raises:
        ChainError: it is not finalized yet, or the chain gives no answer.
    """
    newest = chain.head().finalized
    if block is None:
        return newest
    if block > newest:
        raise ChainError(
            f"found the block {block}, expected at most {newest}, the newest finalized one",
            Refusal.NO_BLOCK,
        )
    return block


def seed_of_round(chain: Chain, network: Network, number: int) -> str:
    """Return the seed of the groups of a round: the hash of its block, `0x` and 64 digits.

    Raises:
        ChainError: the block is not finalized yet, or the chain gives no answer.
    """
    return chain.block_hash(finalized_block(chain, network.seed_block(number)))
