"""Attributes: what rules ask of miners and rounds beside the records, as a daemon knows it.

The chain has some, at the last block of an epoch; the others are in a file. Both go into the entry
of the epoch, so that whoever replays it reads no chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import attrs

from tallystick.errors import InputError
from tallystick.io.paths import PathLike, path_of
from tallystick.io.text import visible
from tallystick.numbers.nano import to_decimal
from tallystick_allocation.binding import BoundAllocation
from tallystick_allocation.files import read_document
from tallystick_chain.chain import Chain, Neuron
from tallystick_chain.network import Network
from tallystick_chain.sync import immune_hotkeys
from tallystick_service.health import Problem
from tallystick_state.rules import StateRules
from tallystick_validator.health import problem_of

MINER_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "coldkey": "a text",
        "immune": "a flag",
        "permit": "a flag",
        "registered_block": "a number",
        "stake": "a number",
    }
)
"""Attributes of a miner that the chain has, with what each is; a stake is in units, not in rao."""
SALT = "salt"
"""The attribute of a round that is the hash of the block."""


@attrs.frozen
class ChainBlock:
    """The last block of an epoch, as attributes are of it.

    Attributes:
        number: the block.
        digest: its hash.
        neurons: of the subnet, by uid.
        time: its time, which the rounds and the epoch are closed at.
    """

    number: int
    digest: str
    neurons: tuple[Neuron, ...]
    time: datetime

    @classmethod
    def read(cls, chain: Chain, netuid: int, number: int) -> ChainBlock:
        """Return a block as a chain has it.

        Raises:
            ChainError: it gives no answer, or keeps no such block.
        """
        neurons = chain.neurons(netuid, number)
        return cls(number, chain.block_hash(number), neurons, chain.block_time(number))


@attrs.frozen
class AttributeFile:
    """Content of the file of attributes; see docs/allocation.md.

    Attributes:
        round: by name.
        miners: by hotkey and name.
    """

    round: Mapping[str, Any] = attrs.field(factory=dict)
    miners: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)

    @classmethod
    def load(cls, path: PathLike) -> AttributeFile:
        """Return the content of a file.

        Raises:
            InputError: it cannot be read, is of another form, or says what the chain does.
        """
        where = path_of(path, "a file of attributes")
        value = read_document(where).value
        known = {"format", "round", "miners"}
        if not isinstance(value, Mapping) or value.get("format") != 1 or value.keys() - known:
            raise InputError(f"{where}: found no file of a round, expected format 1")
        of_round, miners = value.get("round", {}), value.get("miners", {})
        tables = (of_round, miners, *(miners.values() if isinstance(miners, Mapping) else ()))
        if not all(isinstance(table, Mapping) for table in tables):
            raise InputError(f"{where}: found another value as round or miners, expected objects")
        said = {*of_round} & {SALT} | {name for own in miners.values() for name in own}
        for name in sorted(said & {SALT, *MINER_KINDS}):
            raise InputError(f"{where}: found {name}, expected nothing of it: the chain has it")
        return cls(of_round, miners)

    def unmet(self, rules: StateRules) -> Iterator[Problem]:
        """Yield what rules ask for that neither the chain nor the file has."""
        bound = rules.allocation
        if bound is None:
            return
        in_file = {name for own in self.miners.values() for name in own}
        for name, kind in bound.miner_attributes.items():
            if not _is_of_chain(name, kind) and name not in in_file:
                yield _missing(rules, f"miner.{name}", kind)
        for name, kind in bound.round_attributes.items():
            if not (name == SALT and kind == "a text") and name not in self.round:
                yield _missing(rules, f"round.{name}", kind)

    def of_epoch(
        self, rules: Iterable[StateRules], network: Network, block: ChainBlock
    ) -> dict[str, Any] | None:
        """Return the file of the round with which an epoch is closed; None where rules ask nothing.

        Args:
            rules: of the epoch.
            network: whose file says who is immune.
            block: the last of the epoch.
        """
        asked = [bound for line in rules if (bound := line.allocation) and bound.attributes]
        if not asked:
            return None
        immune = immune_hotkeys(network, block.neurons, block.number)
        names = {name for bound in asked for name in bound.miner_attributes}
        miners = dict[str, dict[str, Any]]()
        for neuron in block.neurons:
            own = {**self.miners.get(neuron.hotkey, {}), **_of_chain(neuron, immune)}
            miners[neuron.hotkey] = {name: own[name] for name in sorted(names & own.keys())}
        of_round = {**self.round, SALT: block.digest}
        return {
            "format": 1,
            "round": {name: of_round[name] for name in _round_names(asked) if name in of_round},
            "miners": miners,
        }


def _of_chain(neuron: Neuron, immune: Iterable[str]) -> dict[str, str | bool | int | Decimal]:
    """Return the attributes of a neuron; of a flag that it has not, nothing."""
    flags = {"immune": neuron.hotkey in immune, "permit": neuron.permit}
    return {
        "coldkey": neuron.coldkey,
        "registered_block": neuron.registered_block,
        "stake": to_decimal(neuron.stake_rao),
        **{name: True for name, is_set in flags.items() if is_set},
    }


def _round_names(asked: Iterable[BoundAllocation]) -> list[str]:
    return sorted({name for bound in asked for name in bound.round_attributes})


def _is_of_chain(name: str, kind: str) -> bool:
    """Return whether the chain has an attribute as rules ask for it; a flag counts 1 or 0."""
    own = MINER_KINDS.get(name)
    return own == kind or (own == "a flag" and kind == "a number")


def _missing(rules: StateRules, name: str, kind: str) -> Problem:
    message = (
        f"{rules.rule_set.reference}: found nothing that says {name}, {kind}, expected the chain "
        "or the file of validator.attributes to have it"
    )
    return problem_of("attribute-missing", visible(message), failing=True)
