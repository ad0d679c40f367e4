"""The file of a simulated chain: what it begins with (``schemas/simulated-1.schema.json``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from tallystick.rules.toml import Document
from tallystick.rules.toml_source import check_source, read_source
from tallystick_chain.chain import ChainError
from tallystick_chain.simulated.hotkeys import address_of, hotkey_of, signer_of
from tallystick_chain.simulated.model import Hyperparameters
from tallystick_chain.simulated.simulation import SimulatedChain

BLOCK_SECONDS = 12.0
"""Seconds between two blocks by default."""


@attrs.frozen
class SimulationFile:
    """The content of the file of a simulated chain.

    Attributes:
        source: the file.
        block_time: seconds between two blocks; 0: a program makes them.
    """

    source: Document
    block_time: float

    @classmethod
    def load(cls, path: Path) -> SimulationFile:
        """Return the content of a file.

        Raises:
            InputError: it cannot be read, or is no such file; the message has file, line and path.
        """
        return cls.of(read_source(path, "the file of a simulated chain"))

    @classmethod
    def of(cls, source: Document) -> SimulationFile:
        """Return the content of tables.

        Raises:
            InputError: as `load`.
        """
        check_source(source, "simulated-1")
        return cls(source, float(source.data.get("chain", {}).get("block_time", BLOCK_SECONDS)))

    def begin(self) -> SimulatedChain:
        """Return the chain at the block at which what it begins with is finalized.

        Raises:
            InputError: a neuron or a number is there twice, or a neuron has no hotkey or two.
            TrustError: a neuron has a key, and the library of sr25519 is missing.
        """
        parameters = {**self.source.data.get("chain", {})}
        parameters.pop("block_time", None)
        seconds = self.block_time or BLOCK_SECONDS
        chain = SimulatedChain(seconds_per_block=seconds, **parameters)
        for index, table in enumerate(self.source.data.get("subnet", ())):
            _create(chain, table, index, self.source)
        chain.advance(1 + chain.finality_lag)
        return chain


def _create(chain: SimulatedChain, table: Mapping[str, Any], index: int, source: Document) -> None:
    netuid, path = table["netuid"], ("subnet", index)
    try:
        chain.create_subnet(
            netuid,
            Hyperparameters(**table.get("hyperparameters", {})),
            mechanisms=table.get("mechanisms", 1),
            owner=table.get("owner", ""),
        )
    except ChainError as error:
        raise source.error((*path, "netuid"), error.message) from error
    for number, neuron in enumerate(table.get("neuron", ())):
        own = {key: neuron[key] for key in ("stake_rao", "permit", "coldkey") if key in neuron}
        for hotkey in _hotkeys(neuron):
            try:
                chain.register(netuid, hotkey, **own)
            except ChainError as error:
                raise source.error((*path, "neuron", number), error.message) from error


def _hotkeys(neuron: Mapping[str, Any]) -> list[str]:
    """Return the hotkeys of a table: one, or those of a number of names."""
    if "hotkey" in neuron:
        return [neuron["hotkey"]]
    name, count = neuron["name"], neuron.get("count")
    names = [name] if count is None else [f"{name}-{n}" for n in range(1, count + 1)]
    if neuron.get("has_key", False):
        return [address_of(signer_of(name)) for name in names]
    return [hotkey_of(name) for name in names]
