"""The file of a simulated chain: what it begins with (``schemas/simulated-1.schema.json``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from tallystick.rules.toml_source import TomlSource
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

    source: TomlSource
    block_time: float

    @classmethod
    def load(cls, path: Path) -> SimulationFile:
        """Return the content of a file.

        Raises:
            InputError: it cannot be read, or is no such file; the message has file, line and path.
        """
        return cls._of(TomlSource.read(path, "the file of a simulated chain"))

    @classmethod
    def parse(cls, text: str, where: str) -> SimulationFile:
        """Return the content of a text.

        Args:
            text: TOML.
            where: the name of the file, for errors.

        Raises:
            InputError: as `load`.
        """
        return cls._of(TomlSource.parse(text, where))

    @classmethod
    def _of(cls, source: TomlSource) -> SimulationFile:
        source.check("simulated-1")
        return cls(source, float(source.tables.get("chain", {}).get("block_time", BLOCK_SECONDS)))

    def begin(self) -> SimulatedChain:
        """Return the chain at the block at which what it begins with is finalized.

        Raises:
            InputError: a neuron or a number is there twice, or a neuron has no hotkey or two.
            TrustError: a neuron has a key, and the library of sr25519 is missing.
        """
        parameters = {**self.source.tables.get("chain", {})}
        parameters.pop("block_time", None)
        seconds = self.block_time or BLOCK_SECONDS
        chain = SimulatedChain(seconds_per_block=seconds, **parameters)
        for index, table in enumerate(self.source.tables.get("subnet", ())):
            _create(chain, table, index, self.source)
        chain.advance(1 + chain.finality_lag)
        return chain


def _create(
    chain: SimulatedChain, table: Mapping[str, Any], index: int, source: TomlSource
) -> None:
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
        neuron_path = (*path, "neuron", number)
        own = {key: neuron[key] for key in ("stake_rao", "permit", "coldkey") if key in neuron}
        for hotkey in _hotkeys(neuron, neuron_path, source):
            try:
                chain.register(netuid, hotkey, **own)
            except ChainError as error:
                raise source.error(neuron_path, error.message) from error


def _hotkeys(
    neuron: Mapping[str, Any], path: tuple[str | int, ...], source: TomlSource
) -> Iterator[str]:
    """Yield the hotkeys of a table: one, or a number of names."""
    if ("hotkey" in neuron) == ("name" in neuron):
        number = "two" if "hotkey" in neuron else "none"
        raise source.error(path, f"found {number} of hotkey and name, expected one")
    if "hotkey" in neuron:
        for key in {"count", "has_key"} & neuron.keys():
            raise source.error((*path, key), "found it beside a hotkey, expected a name")
        yield neuron["hotkey"]
        return
    name, count = neuron["name"], neuron.get("count")
    names = [name] if count is None else [f"{name}-{n}" for n in range(1, count + 1)]
    for own_name in names:
        if neuron.get("has_key", False):
            yield address_of(signer_of(own_name))
        else:
            yield hotkey_of(own_name)
