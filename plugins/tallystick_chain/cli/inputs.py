"""Options ``--chain``, ``--network`` and ``--block`` of commands of a state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tallystick_chain.chain import Chain
    from tallystick_chain.network import Network

READER = "reader"
"""Hotkey by which commands connect that only read: it is nobody's."""
_CHAIN, _NETWORK, _BLOCK = "--chain", "--network", "--block"
BLOCK = click.IntRange(0, 2**53 - 1)
"""Type of the number of a block."""


def miners_of_chain(
    url: str, options: Mapping[str, Any]
) -> Callable[[Collection[str]], list[Mapping[str, Any]]]:
    """Return the function that reads the miners of a chain, for ``miner sync``.

    Raises:
        UsageError: no network file is named, or the block is none.
        InputError: the network file is none.
    """
    block, network = _block(options), _network(options)

    def miners(types: Collection[str]) -> list[Mapping[str, Any]]:
        from tallystick_chain.sync import finalized_block, miner_slots

        with reading(url) as chain:
            at = finalized_block(chain, block)
            return miner_slots(network, chain.neurons(network.netuid, at), types)

    return miners


def seed_of_chain(url: str, options: Mapping[str, Any]) -> Callable[[int], str]:
    """Return the function that reads the seed of a round, for ``groups select``.

    Raises:
        UsageError: no network file is named.
        InputError: the network file is none.
    """
    network = _network(options)

    def seed(number: int) -> str:
        from tallystick_chain.sync import seed_of_round

        with reading(url) as chain:
            return seed_of_round(chain, network, number)

    return seed


def network_of_state(
    path: str, options: Mapping[str, Any]
) -> Callable[[], tuple[str, Mapping[int, str] | None]]:
    """Return the function that gives the network file's digest, and the slots of a chain, if named.

    Raises:
        InputError: the network file is none.
    """
    from tallystick_chain.network import Network

    network = Network.load(Path(path))

    def read() -> tuple[str, Mapping[int, str] | None]:
        if _CHAIN not in options:
            return network.digest, None
        with reading(options[_CHAIN]) as chain:
            neurons = chain.neurons(network.netuid, chain.head().finalized)
            return network.digest, {neuron.uid: neuron.hotkey for neuron in neurons}

    return read


@contextmanager
def reading(url: str) -> Iterator[Chain]:
    """Connect to a chain that is only read.

    Raises:
        ChainError: the URL is none.
        TallystickError: the SDK is not installed.
    """
    from tallystick_chain.bounded_chain import BoundedChain
    from tallystick_chain.connect import connect

    chain = connect(url, READER)
    with closing(BoundedChain(lambda: chain)) as bounded:
        yield bounded


def _network(options: Mapping[str, Any]) -> Network:
    if _NETWORK not in options:
        raise click.UsageError(f"found {_CHAIN} without {_NETWORK}, expected both")
    from tallystick_chain.network import Network

    return Network.load(Path(options[_NETWORK]))


def _block(options: Mapping[str, Any]) -> int | None:
    block = options.get(_BLOCK)
    try:
        return None if block is None else BLOCK(block)
    except click.BadParameter as error:
        message = f"found {block!r:.40} for {_BLOCK}, expected a whole number"
        raise click.UsageError(message) from error
