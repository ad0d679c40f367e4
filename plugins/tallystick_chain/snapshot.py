"""A snapshot of a subnet: what its chain had at one finalized block, as one file with a digest.

Its lists are by uid (``schemas/chain-snapshot-1.schema.json``). ``backtest --validators`` reads
hotkeys, stake and permits of it, and a trust file names it as a snapshot of stake; so shares and
scenarios are of one block, and of the same numbers for everyone.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import attrs

from tallystick.canonical import canonical_bytes, digest
from tallystick_chain.chain import Chain, Neuron, Subnet
from tallystick_chain.network import Network, exact_number
from tallystick_chain.sync import finalized_block

_COLUMNS = {
    "hotkeys": "hotkey",
    "validator_permit": "permit",
    "registered_block": "registered_block",
    "stake": "stake_rao",
}
"""Attributes of neurons by the lists that have them, in the order of a `Neuron` behind its uid."""


@attrs.frozen(slots=False)
class ChainSnapshot:
    """A subnet at a block.

    Attributes:
        network: whose subnet and mechanism it is.
        block: the block, which is finalized.
        block_hash: its hash, `0x` and 64 hexadecimal digits.
        subnet: the parameters of the mechanism.
        neurons: by uid.
    """

    network: Network
    block: int
    block_hash: str
    subnet: Subnet
    neurons: tuple[Neuron, ...]

    @classmethod
    def of(cls, chain: Chain, network: Network, block: int | None = None) -> ChainSnapshot:
        """Read a subnet at a block.

        Args:
            chain: the chain.
            network: whose subnet.
            block: the block; None: the newest finalized one.

        Raises:
            ChainError: the block is not finalized, or not kept any more, or there is no answer.
        """
        at = finalized_block(chain, block)
        return cls(
            network=network,
            block=at,
            block_hash=chain.block_hash(at),
            subnet=chain.subnet(network.netuid, network.mechanism, at),
            neurons=chain.neurons(network.netuid, at),
        )

    @cached_property
    def digest(self) -> str:
        """The digest of the content: ``sha256:`` and 64 hexadecimal digits."""
        return digest(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the content as the JSON value that has the digest."""
        return {
            "format": 1,
            "network": self.network.name,
            "netuid": self.network.netuid,
            "mechanism": self.network.mechanism,
            "block": self.block,
            "block_hash": self.block_hash,
            **{
                column: [exact_number(getattr(neuron, name)) for neuron in self.neurons]
                for column, name in _COLUMNS.items()
            },
            "subnet": {
                # a snapshot without an owner is as it was before it had one
                name: exact_number(value)
                for name, value in attrs.asdict(self.subnet).items()
                if name != "n" and value != ""
            },
        }

    def to_bytes(self) -> bytes:
        """Return the bytes of a file: the canonical JSON, and a line end."""
        return canonical_bytes(self.to_json()) + b"\n"
