"""A snapshot of a subnet: what its chain had at one finalized block, as one file with a digest.

Its lists are by uid. ``backtest --validators`` reads hotkeys, stake and permits of it, and a trust
file names it as a snapshot of stake; so shares and scenarios are of one block, and of the same
numbers for everyone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs

from tallystick.canonical import canonical_bytes, digest
from tallystick.errors import InputError
from tallystick.io.documents import read_json
from tallystick.io.json_schema import first_problem
from tallystick.io.paths import PathLike, path_of
from tallystick_chain.chain import Chain, Neuron, Subnet
from tallystick_chain.network import Network, exact_number
from tallystick_chain.sync import finalized_block

LARGEST = 16 * 1024 * 1024
"""Maximum size of a snapshot, in bytes: as of a snapshot of stake."""
_SCHEMA = "chain-snapshot-1"
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
        network: the name of the network.
        netuid: the number of the subnet.
        mechanism: of the subnet.
        block: the block, which is finalized.
        block_hash: its hash, `0x` and 64 hexadecimal digits.
        subnet: the parameters of the mechanism.
        neurons: by uid.
    """

    network: str
    netuid: int
    mechanism: int
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
            network=network.name,
            netuid=network.netuid,
            mechanism=network.mechanism,
            block=at,
            block_hash=chain.block_hash(at),
            subnet=chain.subnet(network.netuid, network.mechanism, at),
            neurons=chain.neurons(network.netuid, at),
        )

    @classmethod
    def load(cls, path: PathLike) -> ChainSnapshot:
        """Return the snapshot in a file.

        Raises:
            InputError: the file cannot be read, or is no snapshot.
        """
        file = path_of(path, "a snapshot")
        try:
            value = read_json(file, largest=LARGEST, numbers="whole")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"{file}: a snapshot cannot be read ({reason})") from error
        problem = first_problem(_SCHEMA, value)
        if problem is not None:
            raise InputError(f"{file}: {problem.path or 'the file'}: {problem.message}")
        return _snapshot(value, file)

    @cached_property
    def digest(self) -> str:
        """The digest of the content: ``sha256:`` and 64 hexadecimal digits."""
        return digest(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the content as the JSON value that has the digest."""
        subnet = attrs.asdict(self.subnet)
        return {
            "format": 1,
            "network": self.network,
            "netuid": self.netuid,
            "mechanism": self.mechanism,
            "block": self.block,
            "block_hash": self.block_hash,
            **{
                column: [exact_number(getattr(neuron, name)) for neuron in self.neurons]
                for column, name in _COLUMNS.items()
            },
            "subnet": {
                # a snapshot without an owner is as it was before it had one
                name: exact_number(value)
                for name, value in subnet.items()
                if name != "n" and value != ""
            },
        }

    def to_bytes(self) -> bytes:
        """Return the bytes of a file: the canonical JSON, and a line end."""
        return canonical_bytes(self.to_json()) + b"\n"


def _snapshot(value: Mapping[str, Any], file: Path) -> ChainSnapshot:
    hotkeys = value["hotkeys"]
    for name in _COLUMNS:
        if len(value[name]) != len(hotkeys):
            found = f"found {len(value[name])} entries, expected {len(hotkeys)}, one a hotkey"
            raise InputError(f"{file}: {name}: {found}")
    columns = {**value, "stake": map(int, value["stake"])}
    rows = zip(*(columns[name] for name in _COLUMNS), strict=True)
    neurons = [Neuron(uid, *row) for uid, row in enumerate(rows)]
    whole: dict[str, Any] = {
        name: int(number) if name != "owner" and str(number).isdigit() else number
        for name, number in value["subnet"].items()
    }
    return ChainSnapshot(
        network=value["network"],
        netuid=value["netuid"],
        mechanism=value["mechanism"],
        block=value["block"],
        block_hash=value["block_hash"],
        subnet=Subnet(n=len(hotkeys), **whole),
        neurons=tuple(neurons),
    )
